//! Contacts and methods: any domain, their order, edits and removals; dead letters.

use std::collections::BTreeSet;
use std::sync::Arc;

use manhunt::model::{NewContact, NewSearch, SearchStatus};
use manhunt::{AttemptId, ContactDraft, Error, MethodDraft, STEPS, Step};
use trestle::queue::NewMessage;
use trestle::typed::Timestamp;

use crate::support::{DOMAIN, World, draft, searching, text};

fn unordered(destination: &str) -> MethodDraft {
    MethodDraft {
        order: None,
        ..text(destination, 60, 0)
    }
}

#[tokio::test]
async fn a_domain_has_any_name_that_a_tenant_would_choose() {
    let world = World::new().await;
    let service = world.service();
    let names = [
        "Acme Ltd",
        "Zoë & Söhne/Köln",
        "a#b%c?d",
        "9d657f8",
        "contact",
        "事務所",
        "…",
    ];
    for name in names {
        let contact = service.add_contact(name, "Ada").await.unwrap().contact_id;
        service
            .add_method(name, &contact, text("+4930101", 60, 0))
            .await
            .unwrap();
        let page = service.db.contacts_of_domain(name).page().await.unwrap();
        assert_eq!(page.rows.len(), 1, "{name}");
        assert_eq!(page.rows[0].domain_id, name);
        let search = service.begin(name, searching(&contact)).await;
        world.settle(1).await;
        assert!(service.search(name, &search.unwrap().search_id).await.is_ok());
    }
    for wrong in [".", "..", &"x".repeat(257)] {
        let refused = service.add_contact(wrong, "Ada").await.unwrap_err();
        assert!(matches!(refused, Error::Invalid(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_domain_that_is_called_as_a_contact_sees_nothing_of_it() {
    let world = World::new().await;
    let contact = world.contact(&[60]).await;
    world.begin(&contact).await;
    let page = world
        .service()
        .db
        .contacts_of_domain(&contact)
        .page()
        .await
        .unwrap();
    assert_eq!(page.rows, []);
    assert!(world.service().contact(&contact, &contact).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_methods_that_are_added_at_once_get_a_hundred_orders() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    // The count continues after a given order.
    world.method(&contact, text("given", 60, 500)).await;
    let mut calls = Vec::new();
    for at in 0..100 {
        let (service, contact) = (Arc::clone(&world.running.service), contact.clone());
        let add = async move {
            service
                .add_method(DOMAIN, &contact, unordered(&format!("nr {at}")))
                .await
        };
        calls.push(tokio::spawn(add));
    }
    let mut orders = BTreeSet::new();
    for call in calls {
        orders.insert(call.await.unwrap().unwrap().order.unwrap());
    }
    assert_eq!(orders.len(), 100);
    assert_eq!((orders.first(), orders.last()), (Some(&501), Some(&600)));
    let last = world.method(&contact, unordered("last")).await;
    let (_, methods) = world.service().contact(DOMAIN, &contact).await.unwrap();
    assert_eq!(methods.last().unwrap().method_id, last);
}

#[tokio::test]
async fn methods_from_before_the_count_keep_their_orders_and_the_next_comes_after_them() {
    let world = World::new().await;
    let contact = world.contact(&[60, 60, 60]).await;
    let added = world
        .service()
        .add_method(DOMAIN, &contact, unordered("next"))
        .await;
    assert_eq!(added.unwrap().order, Some(3));
    let added = world
        .service()
        .add_method(DOMAIN, &contact, unordered("next but one"))
        .await;
    assert_eq!(added.unwrap().order, Some(4));
}

#[tokio::test]
async fn a_contact_can_be_edited_and_an_empty_text_removes() {
    let world = World::new().await;
    let service = world.service();
    let contact = world.contact(&[60]).await;
    let change = |zone: &str, from: &str, until: &str| ContactDraft {
        name: None,
        time_zone: Some(zone.into()),
        quiet_from: Some(from.into()),
        quiet_until: Some(until.into()),
    };
    let berlin = change("Europe/Berlin", "22:00", "07:00");
    let changed = service.change_contact(DOMAIN, &contact, berlin).await.unwrap();
    assert_eq!(changed.name, "Zavier Curtis");
    assert_eq!(changed.quiet_from.as_deref(), Some("22:00"));
    let renamed = service
        .change_contact(DOMAIN, &contact, "Ada".into())
        .await
        .unwrap();
    assert_eq!(
        (renamed.name.as_str(), renamed.time_zone),
        ("Ada", changed.time_zone)
    );
    let page = service.db.contacts_of_domain(DOMAIN).page().await.unwrap();
    assert_eq!(page.rows[0].name, "Ada");
    for wrong in [
        change("Mars/Base", "", ""),
        change("", "24:00", "07:00"),
        change("", "22:00", ""),
        "".into(),
    ] {
        let refused = service.change_contact(DOMAIN, &contact, wrong).await.unwrap_err();
        assert!(matches!(refused, Error::Invalid(_)), "{refused}");
    }
    let cleared = service
        .change_contact(DOMAIN, &contact, change("", "", ""))
        .await
        .unwrap();
    assert_eq!(
        (cleared.time_zone, cleared.quiet_from, cleared.quiet_until),
        (None, None, None)
    );
    let stranger = service.change_contact("6f7ad1b", &contact, "Eve".into()).await;
    assert!(matches!(stranger.unwrap_err(), Error::NotFound(_)));
}

#[tokio::test]
async fn with_a_contact_go_its_methods_and_its_searches_are_called_off() {
    let world = World::new().await;
    let service = world.service();
    let contact = world.contact(&[60, 60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let stranger = service.remove_contact("6f7ad1b", &contact).await;
    assert!(matches!(stranger.unwrap_err(), Error::NotFound(_)));
    service.remove_contact(DOMAIN, &contact).await.unwrap();
    assert!(service.contact(DOMAIN, &contact).await.is_err());
    let left = service.db.contact_with_methods(&contact).collect().await.unwrap();
    assert_eq!(left.len(), 0);
    let (found, attempts) = world.look(&search).await;
    assert_eq!((found.status, attempts.len()), (SearchStatus::Canceled, 1));
    world.advance(3600).await;
    assert_eq!(world.recorder.sent().len(), 1);
    assert_eq!(world.dead().await, []);
}

#[tokio::test]
async fn destinations_and_numbers_out_of_bounds_are_refused_with_the_way_out() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    let add = async |draft: MethodDraft| world.service().add_method(DOMAIN, &contact, draft).await;
    for (wrong, why) in [
        (draft("text", "030 901820", 60, 0), "+49 30 901820"),
        (draft("email", "ada", 60, 0), "ada@example.org"),
        (draft("webhook", "example.org", 60, 0), "https://example.org/hook"),
        (
            draft("call", "+4930101", 2_592_001, 0),
            "waitSeconds lies between 0 and 2592000",
        ),
        (
            draft("call", "+4930101", 60, i64::MIN),
            "order lies between -1000000000",
        ),
        (
            MethodDraft {
                retries: Some(21),
                ..draft("call", "+4930101", 60, 0)
            },
            "retries lies between 0 and 20",
        ),
    ] {
        let refused = add(wrong).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Invalid(said) if said.contains(why)),
            "{refused}"
        );
    }
    let method = add(draft("text", "+49 (30) 101", 60, 0)).await.unwrap();
    assert_eq!(method.destination, "+4930101");
    let change = MethodDraft {
        destination: Some("ada@example.org".into()),
        ..Default::default()
    };
    let refused = world.service().change_method(DOMAIN, method.key(), change).await;
    assert!(
        matches!(refused.unwrap_err(), Error::Invalid(_)),
        "it is a text still"
    );
}

#[tokio::test]
async fn dead_letters_are_seen_by_their_domain_and_can_be_replayed_when_the_cause_is_mended() {
    let world = World::new().await;
    let service = world.service();
    let lost = NewSearch {
        search_id: "dead".into(),
        contact_id: "00".into(),
        domain_id: DOMAIN.into(),
        started_datetime: Timestamp::parse("2027-01-15T08:00:00Z").unwrap(),
    };
    service.db.put(&lost).await.unwrap();
    let is_dead = async || {
        world.tick().await;
        let counts = service.queues.counts(&format!("{STEPS}-dead")).await;
        counts.unwrap().visible == 1
    };
    world.until("the dead letter", is_dead).await;
    assert_eq!(service.dead_letters("another").await.unwrap().len(), 0);
    for _ in 0..2 {
        let letters = service.dead_letters(DOMAIN).await.unwrap();
        assert_eq!(letters.len(), 1, "looking takes nothing away");
        assert_eq!(letters[0]["searchId"], "dead");
        assert_eq!(letters[0]["what"], "make attempt 0");
        assert_eq!(letters[0]["reason"], "there is no such contact");
    }
    let contact = NewContact {
        contact_id: "00".into(),
        domain_id: DOMAIN.into(),
        name: "Found".into(),
    };
    service.db.put(&contact).await.unwrap();
    world.method("00", text("+4930101", 60, 0)).await;
    assert_eq!(service.replay("another", None).await.unwrap(), 0);
    assert_eq!(
        service.replay(DOMAIN, Some(&["other".to_owned()])).await.unwrap(),
        0
    );
    assert_eq!(service.replay(DOMAIN, None).await.unwrap(), 1);
    world.settle(0).await;
    assert_eq!(world.recorder.destinations(), ["+4930101"]);
    assert_eq!(service.dead_letters(DOMAIN).await.unwrap().len(), 0);
}

#[tokio::test]
async fn letters_that_are_looked_at_while_they_are_replayed_are_replayed_once() {
    let world = World::new().await;
    let contact = world.contact(&[60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (service, dead) = (world.service(), format!("{STEPS}-dead"));
    service.cancel(DOMAIN, &search, "").await.unwrap();
    for number in 0..50 {
        let search = search.clone();
        let letter = Step {
            attempt: AttemptId { search, number },
            failures: None,
            due_ms: None,
        };
        let letter = NewMessage::job(&letter).unwrap();
        service.queues.send(&dead, letter).await.unwrap();
    }
    let look = async || {
        for _ in 0..50 {
            service.dead_letters(DOMAIN).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let (replayed, ()) = tokio::join!(service.replay(DOMAIN, None), look());
    assert_eq!(replayed.unwrap(), 50);
    assert_eq!(service.dead_letters(DOMAIN).await.unwrap().len(), 0);
}
