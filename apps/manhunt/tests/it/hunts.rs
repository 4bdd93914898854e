//! Searches from beginning to end.

use std::time::Duration;

use manhunt::model::*;
use manhunt::{AttemptId, Error, MethodDraft, STEPS, SearchFilter, trail};
use trestle::api::Query;
use trestle::events::Events;
use trestle::queue::NewMessage;
use trestle::typed::Timestamp;
use trestle::{DatabaseExt as _, Item};

use crate::support::{DOMAIN, World, draft, host, text};

fn first(search: &str) -> AttemptId {
    AttemptId {
        search: search.to_owned(),
        number: 0,
    }
}

async fn with_status(world: &World, contact: &str, status: &str) -> Vec<String> {
    let filter = SearchFilter {
        contact: contact.to_owned(),
        status: Some(status.parse().unwrap()),
        ..SearchFilter::default()
    };
    let page = world.service().searches(DOMAIN, filter).await.unwrap();
    page.rows.into_iter().map(|search| search.search_id).collect()
}

/// The number of rows in a partition of the index of statuses, as any client would see it.
async fn in_partition(world: &World, status: &str, contact: &str) -> u64 {
    let query = Query {
        table_name: "manhunt".into(),
        index_name: Some("GSI2".into()),
        key_condition_expression: Some("GSI2PK = :partition".into()),
        expression_attribute_values: Some(Item::from([(":partition", format!("{status}#{contact}"))])),
        ..Query::default()
    };
    world.stored.query(query).await.unwrap().count.into()
}

/// Sends a step again, as a queue may.
async fn repeat(world: &World, search: &str, number: u32) {
    let step = AttemptId {
        search: search.to_owned(),
        number,
    };
    let message = NewMessage::job(&step).unwrap();
    world.service().queues.send(STEPS, message).await.unwrap();
    world.settle(0).await;
}

#[tokio::test]
async fn searches_that_were_begun_two_days_before_the_next_start_go_on_then() {
    let world = World::new().await;
    let contact = world.contact(&[60]).await;
    // The process dies before the first of them becomes a step.
    world.running.router.stop().await;
    let mut searches = Vec::new();
    for _ in 0..16 {
        searches.push(world.begin(&contact).await);
    }
    world.clock.advance(Duration::from_secs(2 * 24 * 3600));
    world
        .until("the records to be older than the stream shows", async || {
            world.stored.embedded().unwrap().held_changes().bytes() > 0
        })
        .await;
    let world = world.restart().await;
    world.settle(16).await;
    for search in searches {
        assert_eq!(world.look(&search).await.1.len(), 1, "{search} has its attempt");
    }
}

#[tokio::test]
async fn point_04_only_the_insert_of_a_search_starts_a_chain() {
    let world = World::new().await;
    let contact = world.contact(&[60, 60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    // The search was inserted; its attempt, the methods and every later change are not announced.
    world.service().cancel(DOMAIN, &search, "").await.unwrap();
    world.advance(600).await;
    let other = world.begin(&contact).await;
    world.settle(2).await;
    let status = world.running.router.status();
    assert_eq!((status.len(), status[0].delivered, status[0].waiting), (1, 2, 0));
    assert_eq!(status[0].last_error, None);
    assert_eq!(world.look(&search).await.1.len(), 1);
    assert_eq!(world.look(&other).await.1.len(), 1);
}

#[tokio::test]
async fn point_05_steps_that_come_again_make_no_second_attempt() {
    let world = World::new().await;
    let contact = world.contact(&[60, 60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    for _ in 0..3 {
        repeat(&world, &search, 0).await;
    }
    assert_eq!(world.recorder.destinations(), ["+4930100"]);
    world.advance(60).await;
    repeat(&world, &search, 0).await;
    repeat(&world, &search, 1).await;
    assert_eq!(world.recorder.destinations(), ["+4930100", "+4930101"]);
    let (_, attempts) = world.look(&search).await;
    assert_eq!(attempts.len(), 2);
    // They also leave no more steps behind than the one that ends the search.
    assert_eq!(world.counts().await.delayed, 1);
}

#[tokio::test]
async fn point_05_a_stream_that_is_delivered_again_from_its_beginning_makes_no_second_attempt() {
    let mut world = World::new().await;
    let contact = world.contact(&[60, 60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let again = r#"
        [route.again]
        entity = "search"
        event = "insert"
        starting_position = "trim-horizon"
        input = '{"search": <new.searchId>, "number": 0}'
        target = { queue = "manhunt-steps" }
    "#;
    world.running.router.stop().await;
    let events = Events::of(&world.stored).routes_in(again);
    let router = events.routes_of(&world.service().db).start().await.unwrap();
    world.running.router = router.clone();
    let is_delivered = async || {
        let again = router.status().into_iter().find(|route| route.route == "again");
        again.is_some_and(|route| route.delivered == 1)
    };
    world.until("the insert to come again", is_delivered).await;
    world.settle(1).await;
    router.stop().await;
    assert_eq!(world.recorder.destinations(), ["+4930100"]);
    assert_eq!(world.look(&search).await.1.len(), 1);
    assert_eq!(world.counts().await.delayed, 1, "one step, not two");
}

#[tokio::test]
async fn point_06_methods_are_tried_in_order_disabled_ones_are_skipped_and_waits_are_kept() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    // Added in another order than they are tried in; one waits for longer than SQS allows.
    world.method(&contact, text("third", 30, 3)).await;
    world.method(&contact, text("first", 7200, 1)).await;
    let mut disabled = text("disabled", 10, 2);
    disabled.enabled = Some(false);
    world.method(&contact, disabled).await;
    world.method(&contact, text("second", 0, 2)).await;
    world.begin(&contact).await;
    world.settle(1).await;
    assert_eq!(world.recorder.destinations(), ["first"]);
    world.advance(7199).await;
    assert_eq!(world.recorder.destinations(), ["first"]);
    world.advance(1).await;
    // The second does not wait, so the third is tried with it.
    assert_eq!(world.recorder.destinations(), ["first", "second", "third"]);
    assert_eq!(world.now(), 7200);
}

#[tokio::test]
async fn point_06_methods_that_say_nothing_of_their_order_are_tried_as_they_were_added() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    let unordered = |destination: &str| MethodDraft {
        order: None,
        ..text(destination, 0, 0)
    };
    world.method(&contact, text("first", 0, -7)).await;
    for destination in ["second", "third", "fourth", "fifth"] {
        world.method(&contact, unordered(destination)).await;
    }
    world.begin(&contact).await;
    world.settle(1).await;
    assert_eq!(
        world.recorder.destinations(),
        ["first", "second", "third", "fourth", "fifth"]
    );
}

#[tokio::test]
async fn point_07_a_response_stops_further_attempts_and_moves_the_row_of_the_index() {
    let world = World::new().await;
    let contact = world.contact(&[60, 60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    assert_eq!(with_status(&world, &contact, "active").await, [search.as_str()]);
    // The next step is already in the queue.
    assert_eq!(world.counts().await.delayed, 1);
    assert_eq!(in_partition(&world, "active", &contact).await, 1);
    let service = world.service();
    let answered = service.respond(DOMAIN, &first(&search), "1").await.unwrap();
    assert_eq!(in_partition(&world, "active", &contact).await, 0);
    assert_eq!(in_partition(&world, "successful", &contact).await, 1);
    assert_eq!(answered.status, SearchStatus::Successful);
    assert_eq!(with_status(&world, &contact, "active").await, [""; 0]);
    assert_eq!(
        with_status(&world, &contact, "successful").await,
        [search.as_str()]
    );
    world.advance(3600).await;
    assert_eq!(world.recorder.destinations(), ["+4930100"]);
    let (ended, attempts) = world.look(&search).await;
    assert_eq!(ended, answered);
    assert_eq!(
        (attempts[0].responded, attempts[0].response.as_deref()),
        (true, Some("1"))
    );
    // The same answer again changes nothing; it is too late to call the search off.
    assert_eq!(
        service.respond(DOMAIN, &first(&search), "2").await.unwrap(),
        answered
    );
    let late = service.cancel(DOMAIN, &search, "").await.unwrap_err();
    assert!(matches!(late, Error::Conflict(_)), "{late}");
    assert_eq!(world.look(&search).await, (ended, attempts));
}

#[tokio::test]
async fn point_08_exhaustion_fails_a_search_and_a_canceled_one_stays_so() {
    let world = World::new().await;
    let contact = world.contact(&[60, 90]).await;
    let failing = world.begin(&contact).await;
    let canceled = world.begin(&contact).await;
    world.settle(2).await;
    let service = world.service();
    service
        .cancel(DOMAIN, &canceled, "found otherwise")
        .await
        .unwrap();
    assert_eq!(world.counts().await.delayed, 2, "a step of each is on its way");
    world.advance(60).await;
    // The last method's answer is waited for, too.
    world.advance(89).await;
    assert_eq!(world.status(&failing).await, SearchStatus::Active);
    world.advance(1).await;
    assert_eq!(world.status(&failing).await, SearchStatus::Failed);
    assert_eq!(with_status(&world, &contact, "failed").await, [failing.as_str()]);
    assert_eq!(
        with_status(&world, &contact, "canceled").await,
        [canceled.as_str()]
    );
    assert_eq!(world.look(&canceled).await.1.len(), 1);
    assert_eq!(world.recorder.sent().len(), 3);
    let again = service.cancel(DOMAIN, &canceled, "again").await.unwrap();
    let reason = again.cancellation.unwrap();
    assert_eq!(reason.get("reason").unwrap().as_s(), Some("found otherwise"));
    let late = service.respond(DOMAIN, &first(&failing), "1").await.unwrap_err();
    assert!(matches!(late, Error::Conflict(_)), "{late}");
    assert!(!world.look(&failing).await.1[0].responded);
}

#[tokio::test]
async fn point_08_without_a_method_a_search_fails_at_once() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    assert_eq!(world.status(&search).await, SearchStatus::Failed);
}

#[tokio::test]
async fn point_09_an_attempt_keeps_the_destination_it_was_made_with() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    let method_id = world.method(&contact, text("before", 60, 0)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let change = MethodDraft {
        destination: Some(host("after")),
        wait_seconds: Some(5),
        ..MethodDraft::default()
    };
    let key = ContactMethodKey {
        contact_id: contact,
        method_id,
    };
    let changed = world.service().change_method(DOMAIN, key, change).await.unwrap();
    assert_eq!((changed.destination, changed.wait_seconds), (host("after"), 5));
    let (_, attempts) = world.look(&search).await;
    assert_eq!(attempts[0].destination, Some(host("before")));
    assert_eq!(attempts[0].wait_seconds, Some(60));
}

#[tokio::test]
async fn point_12_a_search_without_a_contact_ends_in_the_dead_letters_and_holds_nobody_up() {
    let world = World::new().await;
    let contact = world.contact(&[60]).await;
    let lost = NewSearch {
        search_id: "dead".into(),
        contact_id: "00".into(),
        domain_id: DOMAIN.into(),
        started_datetime: Timestamp::parse("2027-01-15T08:00:00Z").unwrap(),
    };
    world.service().db.put(&lost).await.unwrap();
    let search = world.begin(&contact).await;
    world
        .until("the other search's attempt", async || {
            world.recorder.destinations() == ["+4930100"]
        })
        .await;
    assert_eq!(world.look(&search).await.1.len(), 1);
    // It is repeated, each time later, and finally no more.
    let dead = format!("{STEPS}-dead");
    world
        .until("the dead letter", async || {
            world.tick().await;
            let counts = world.service().queues.counts(&dead).await;
            counts.unwrap().visible == 1
        })
        .await;
    world.settle(0).await;
    assert!(
        world.now() >= 1 + 2 + 4 + 8,
        "five tries, each twice as long after the last"
    );
    let letters = world.dead().await;
    assert!(letters[0].body.contains("\"dead\""), "{}", letters[0].body);
    assert_eq!(
        (letters.len(), letters[0].receives),
        (1, 5 + 1),
        "five times as a step, and once here"
    );
    assert_eq!(
        letters[0].dead_letter_reason.as_deref(),
        Some("there is no such contact")
    );
}

/// Searches are sorted by their start in whole seconds; the fraction is not a delay.
#[tokio::test]
async fn an_attempt_at_once_is_not_late_whenever_in_a_second_the_search_began() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, draft("email", "a@b.example", 60, 0)).await;
    world.clock.advance(Duration::from_millis(900));
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (search, attempts) = world.look(&search).await;
    assert_eq!(trail(&search, &attempts).latency_ms_max, 0);
}

#[tokio::test]
async fn point_13_the_story_of_a_search_and_its_delays_are_told_by_its_rows() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, draft("email", "a@b.example", 60, 0)).await;
    world
        .method(&contact, draft("webhook", "http://unreachable", 60, 1))
        .await;
    world.method(&contact, draft("call", "+4930101", 60, 2)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    // Seven seconds late.
    world.advance(67).await;
    let answer = AttemptId {
        search: search.clone(),
        number: 2,
    };
    world.advance(3).await;
    world.service().respond(DOMAIN, &answer, "5").await.unwrap();
    // Read from the rows alone.
    let db = Manhunt::apply_to(&world.stored).unwrap();
    let rows = db.search_with_attempts(&search).gather().await.unwrap();
    let story = trail(&rows.search.unwrap(), &rows.search_attempt);
    let told: Vec<(&str, &str, Option<u64>)> = story
        .entries
        .iter()
        .map(|entry| (&entry.at[11..19], entry.what.as_str(), entry.latency_ms))
        .collect();
    assert_eq!(
        told,
        [
            ("08:00:00", "the search began", None),
            ("08:00:00", "email to a@b.example", Some(0)),
            ("08:01:07", "webhook to http://unreachable", Some(7000)),
            (
                "08:01:07",
                "webhook to http://unreachable failed: no such host",
                None
            ),
            ("08:01:07", "call to +4930101", Some(0)),
            ("08:01:10", "the contact answered: 5", None),
            ("08:01:10", "the search was successful", None),
        ]
    );
    assert_eq!((story.latency_ms_max, story.took_ms), (7000, Some(70_000)));
}

#[tokio::test]
async fn point_13_the_tenth_attempt_comes_after_the_ninth_although_its_id_sorts_before() {
    let world = World::new().await;
    let contact = world.contact(&[0; 12]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (search, attempts) = world.look(&search).await;
    let told = trail(&search, &attempts).entries.into_iter();
    let tried: Vec<String> = told
        .filter(|entry| entry.latency_ms.is_some())
        .map(|entry| entry.what)
        .collect();
    let expected: Vec<String> = (0..12).map(|number| format!("text to +493010{number}")).collect();
    assert_eq!(tried, expected);
}

#[tokio::test]
async fn point_05_after_a_restart_a_search_goes_on_where_it_was() {
    let world = World::new().await;
    let contact = world.contact(&[60, 60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let world = world.restart().await;
    assert_eq!(world.counts().await.delayed, 1);
    world.advance(60).await;
    world.advance(60).await;
    assert_eq!(world.recorder.destinations(), ["+4930100", "+4930101"]);
    assert_eq!(world.status(&search).await, SearchStatus::Failed);
    assert_eq!(
        world.running.router.status()[0].delivered,
        0,
        "the insert is not routed again"
    );
}

#[tokio::test]
async fn an_attempt_that_broke_off_before_it_was_sent_is_sent_by_the_same_message_and_by_no_other() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, text("breaks off once", 86_400, 0)).await;
    let search = world.begin(&contact).await;
    let is_noted = async || world.look(&search).await.1.len() == 1;
    world.until("the attempt", is_noted).await;
    // Another message for the same attempt leaves it to the first, which is received again after a second.
    let queues = &world.service().queues;
    let again = NewMessage::job(&first(&search)).unwrap();
    queues.send(STEPS, again).await.unwrap();
    let is_alone = async || {
        let counts = world.counts().await;
        (counts.visible, counts.in_flight) == (0, 1)
    };
    world.until("the other message to be done", is_alone).await;
    assert_eq!(world.look(&search).await.1[0].outcome, None);
    let is_sent = async || {
        world.tick().await;
        world.look(&search).await.1[0].outcome.is_some()
    };
    world.until("the first to come again", is_sent).await;
    world.settle(0).await;
    let (_, attempts) = world.look(&search).await;
    assert_eq!(
        (attempts.len(), attempts[0].outcome),
        (1, Some(SearchAttemptOutcome::Sent))
    );
    assert_eq!(world.recorder.sent().len(), 1);
}

#[tokio::test]
async fn point_08_an_attempt_that_broke_off_is_not_sent_when_its_search_was_canceled_meanwhile() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, text("breaks off once", 86_400, 0)).await;
    let search = world.begin(&contact).await;
    let is_noted = async || world.look(&search).await.1.len() == 1;
    world.until("the attempt", is_noted).await;
    world.service().cancel(DOMAIN, &search, "").await.unwrap();
    let is_done = async || {
        world.tick().await;
        let counts = world.counts().await;
        (counts.visible, counts.in_flight) == (0, 0)
    };
    world.until("the message to come again", is_done).await;
    assert_eq!(world.look(&search).await.1[0].outcome, None);
    assert_eq!(world.recorder.sent(), []);
}
