//! Temporary failures are retried before the next method; stages; quiet hours.

use manhunt::model::{SearchAttempt, SearchAttemptOutcome, SearchStatus};
use manhunt::{AttemptId, ContactDraft, MethodDraft, STEPS, SearchDraft, Step, trail};
use trestle::queue::NewMessage;

use crate::support::{DOMAIN, Said, World, draft, searching, text};

/// The history, with the seconds since the search began.
async fn told(world: &World, search: &str) -> Vec<String> {
    let (search, attempts) = world.look(search).await;
    let entries = trail(&search, &attempts).entries.into_iter();
    entries
        .map(|entry| format!("{} {}", &entry.at[11..19], entry.what))
        .collect()
}

fn outcomes(attempts: &[SearchAttempt]) -> Vec<Option<SearchAttemptOutcome>> {
    attempts.iter().map(|attempt| attempt.outcome).collect()
}

#[tokio::test]
async fn what_fails_is_tried_again_with_pauses_and_its_wait_begins_when_it_is_sent() {
    let (said, _log) = Said::listen();
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, text("fails 2", 60, 0)).await;
    world.method(&contact, text("next", 60, 1)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (_, attempts) = world.look(&search).await;
    assert_eq!(attempts[0].error.as_deref(), Some("not at try 1"));
    assert_eq!(outcomes(&attempts), [None], "it is not over yet");
    world.advance(9).await;
    assert_eq!(world.recorder.tried(), 1);
    world.advance(1).await;
    assert_eq!(world.recorder.tried(), 2);
    world.advance(19).await;
    assert_eq!(world.recorder.tried(), 2, "the second pause is twice as long");
    world.advance(1).await;
    assert_eq!(world.recorder.destinations(), ["fails 2"]);
    // The wait of 60 seconds would have been over at 60; it began at 30.
    world.advance(30).await;
    world.advance(29).await;
    assert_eq!(world.recorder.destinations(), ["fails 2"]);
    world.advance(1).await;
    assert_eq!(world.recorder.destinations(), ["fails 2", "next"]);
    assert_eq!(
        told(&world, &search).await,
        [
            "08:00:00 the search began",
            "08:00:00 webhook to http://fails-2.test/",
            "08:00:00 webhook to http://fails-2.test/ failed: not at try 1; it is tried again",
            "08:00:10 webhook to http://fails-2.test/ failed: not at try 2; it is tried again",
            "08:00:30 webhook to http://fails-2.test/ was sent at try 3",
            "08:01:30 webhook to http://next.test/",
        ]
    );
    let said = said.text();
    for part in ["a notice failed; it is tried again", "not at try 2", "pause=20s"] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    assert!(said.contains(&format!("{search}-0")), "{said}");
}

#[tokio::test]
async fn after_the_last_try_the_next_method_comes_at_once() {
    let (said, _log) = Said::listen();
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    let twice = MethodDraft {
        retries: Some(1),
        retry_seconds: Some(5),
        ..text("fails 9", 3600, 0)
    };
    world.method(&contact, twice).await;
    world.method(&contact, text("next", 60, 1)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    world.advance(5).await;
    assert_eq!(world.recorder.tried(), 3, "twice the first, once the next");
    let (_, attempts) = world.look(&search).await;
    use SearchAttemptOutcome::{Failed, Sent};
    assert_eq!(outcomes(&attempts), [Some(Failed), Some(Sent)]);
    let told = told(&world, &search).await;
    assert!(
        told[3].ends_with("failed: not at try 2"),
        "nothing is tried again after the last failure: {told:?}"
    );
    assert!(said.text().contains("a notice failed; the next method is tried"));
    // The step that was to follow the wait of the first has nothing to do.
    world.advance(60).await;
    assert_eq!(world.status(&search).await, SearchStatus::Failed);
    world.advance(3600).await;
    assert_eq!(world.recorder.tried(), 3);
}

#[tokio::test]
async fn a_search_does_not_fail_before_its_last_method_was_tried_again() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, text("fails 1", 5, 0)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    // The wait is over before the pause is.
    world.advance(5).await;
    assert_eq!(world.status(&search).await, SearchStatus::Active);
    world.advance(5).await;
    assert_eq!(world.recorder.destinations(), ["fails 1"]);
    assert_eq!(world.status(&search).await, SearchStatus::Active);
    world.advance(5).await;
    assert_eq!(world.status(&search).await, SearchStatus::Failed);
}

#[tokio::test]
async fn tries_go_on_after_a_restart_and_end_with_the_search() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, text("fails 9", 3600, 0)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let world = world.restart().await;
    world.advance(10).await;
    assert_eq!(world.recorder.tried(), 2);
    world.service().cancel(DOMAIN, &search, "").await.unwrap();
    world.advance(3600).await;
    assert_eq!(world.recorder.tried(), 2);
    assert_eq!(world.dead().await, []);
}

#[tokio::test]
async fn methods_of_one_order_are_tried_at_once_and_the_longest_wait_counts() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    for (name, wait, order) in [("a", 30, 1), ("b", 60, 1), ("c", 60, 2)] {
        world.method(&contact, text(name, wait, order)).await;
    }
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let sent = || {
        let mut sent = world.recorder.destinations();
        sent.sort();
        sent.join(" ")
    };
    assert_eq!(sent(), "a b");
    world.advance(59).await;
    assert_eq!(sent(), "a b");
    world.advance(1).await;
    assert_eq!(sent(), "a b c");
    let (found, attempts) = world.look(&search).await;
    let stages: Vec<_> = attempts.iter().map(|attempt| attempt.stage).collect();
    assert_eq!(stages, [Some(0), Some(0), Some(2)]);
    assert_eq!(trail(&found, &attempts).latency_ms_max, 0);
    // Any of them can be answered.
    let second = AttemptId {
        search: search.clone(),
        number: 1,
    };
    let answered = world.service().respond(DOMAIN, &second, "1").await.unwrap();
    assert_eq!(answered.status, SearchStatus::Successful);
}

#[tokio::test]
async fn a_stage_goes_on_at_once_only_if_all_of_it_failed() {
    let world = World::new().await;
    for (names, next) in [
        (["unreachable a", "unreachable b"], "at once"),
        (["unreachable c", "d"], "later"),
    ] {
        let contact = world.contact(&[]).await;
        for name in names {
            world.method(&contact, text(name, 60, 1)).await;
        }
        world.method(&contact, text(next, 60, 2)).await;
        world.begin(&contact).await;
    }
    world.settle(2).await;
    let has_sent = |name: &str| world.recorder.destinations().contains(&name.to_owned());
    assert!(has_sent("at once") && has_sent("d"));
    assert!(!has_sent("later"));
    world.advance(60).await;
    assert!(has_sent("later"));
}

/// A contact with quiet hours from 07:00 to 09:00 in this time zone. Tests begin at 08:00 UTC.
async fn quiet(world: &World, time_zone: &str) -> String {
    let draft = ContactDraft {
        name: Some("Zavier Curtis".into()),
        time_zone: Some(time_zone.into()),
        quiet_from: Some("07:00".into()),
        quiet_until: Some("09:00".into()),
    };
    let contact = world.service().add_contact(DOMAIN, draft).await;
    contact.unwrap().contact_id
}

#[tokio::test]
async fn calls_and_texts_wait_for_the_end_of_quiet_hours_and_mail_does_not() {
    let world = World::new().await;
    let contact = quiet(&world, "UTC").await;
    world.method(&contact, draft("email", "a@b.example", 60, 0)).await;
    world.method(&contact, draft("text", "+4930101", 60, 1)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    assert_eq!(world.recorder.destinations(), ["a@b.example"]);
    world.advance(60).await;
    world.advance(3600 - 60 - 1).await;
    assert_eq!(world.recorder.destinations(), ["a@b.example"]);
    let world = world.restart().await;
    world.advance(1).await;
    assert_eq!(world.recorder.destinations(), ["a@b.example", "+4930101"]);
    assert_eq!(
        told(&world, &search).await,
        [
            "08:00:00 the search began",
            "08:00:00 email to a@b.example",
            "08:01:00 quiet hours hold the search back until 2027-01-15T09:00:00.000Z",
            "09:00:00 text to +4930101",
        ]
    );
    let (found, attempts) = world.look(&search).await;
    assert_eq!(trail(&found, &attempts).latency_ms_max, 0, "that is not late");
}

#[tokio::test]
async fn in_quiet_hours_the_mail_of_a_stage_is_sent_and_its_texts_wait() {
    let world = World::new().await;
    let contact = quiet(&world, "UTC").await;
    world.method(&contact, draft("text", "+4930101", 60, 1)).await;
    world.method(&contact, draft("email", "a@b.example", 60, 1)).await;
    world
        .method(&contact, draft("email", "later@b.example", 60, 2))
        .await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    world.advance(60).await;
    assert_eq!(
        world.recorder.destinations(),
        ["a@b.example"],
        "what is next waits for the text"
    );
    world.advance(3600 - 60).await;
    world.advance(60).await;
    assert_eq!(
        told(&world, &search).await,
        [
            "08:00:00 the search began",
            "08:00:00 email to a@b.example",
            "08:01:00 quiet hours hold the search back until 2027-01-15T09:00:00.000Z",
            "09:00:00 text to +4930101",
            "09:01:00 email to later@b.example",
        ]
    );
}

#[tokio::test]
async fn quiet_hours_are_those_of_the_contacts_clock_and_urgent_searches_do_not_wait() {
    let world = World::new().await;
    let berlin = quiet(&world, "Europe/Berlin").await;
    world.method(&berlin, draft("call", "+4930101", 60, 0)).await;
    world.begin(&berlin).await;
    world.settle(1).await;
    assert_eq!(
        world.recorder.destinations(),
        ["+4930101"],
        "it is nine in Berlin"
    );
    let utc = quiet(&world, "").await;
    world.method(&utc, draft("call", "+4930102", 60, 0)).await;
    let urgent = SearchDraft {
        urgent: true,
        ..searching(&utc)
    };
    world.begin(&utc).await;
    world.settle(2).await;
    assert_eq!(world.recorder.destinations(), ["+4930101"], "it is eight in UTC");
    world.service().begin(DOMAIN, urgent).await.unwrap();
    world.settle(3).await;
    assert_eq!(world.recorder.destinations(), ["+4930101", "+4930102"]);
}

#[tokio::test]
async fn a_text_that_failed_before_quiet_hours_is_tried_again_after_them_and_once() {
    let world = World::new().await;
    let contact = quiet(&world, "UTC").await;
    let later = ContactDraft {
        quiet_from: Some("08:01".into()),
        ..ContactDraft::default()
    };
    let changed = world.service().change_contact(DOMAIN, &contact, later).await;
    changed.unwrap();
    let busy = MethodDraft {
        retry_seconds: Some(90),
        ..draft("text", "+4930888", 60, 0)
    };
    world.method(&contact, busy).await;
    world.method(&contact, draft("email", "a@b.example", 60, 1)).await;
    let attempt = world.attempted(&contact).await;
    world.advance(90).await;
    let again = Step {
        attempt: attempt.clone(),
        failures: Some(1),
        due_ms: None,
    };
    let again = NewMessage::job(&again).unwrap();
    world.service().queues.send(STEPS, again).await.unwrap();
    world.settle(0).await;
    world.advance(3600 - 90 - 1).await;
    assert_eq!(world.recorder.tried(), 1, "what is next waits for the text");
    let world = world.restart().await;
    world.advance(1).await;
    world.advance(60).await;
    assert_eq!(world.recorder.tried(), 3);
    assert_eq!(
        told(&world, &attempt.search).await,
        [
            "08:00:00 the search began",
            "08:00:00 text to +4930888",
            "08:00:00 text to +4930888 failed: not at try 1; it is tried again",
            "08:01:30 quiet hours hold the search back until 2027-01-15T09:00:00.000Z",
            "09:00:00 text to +4930888 was sent at try 2",
            "09:01:00 email to a@b.example",
        ]
    );
}
