//! A program's database at an endpoint without models: rows, queues and routes from one handle.

use std::sync::Arc;
use std::time::Duration;

use crate::manhunt::{self, ARIAN, contact};
use crate::models::manhunt::*;
use crate::remote::beside_an_endpoint;
use tokio::sync::mpsc::unbounded_channel;
use trestle::events::{Changed, Events, Route};
use trestle::migrate::StartOptions;
use trestle::queue::{self, NewMessage, QueueAttributes, Receive};
use trestle::remote::Settings;
use trestle::{
    AnyDatabase, Clock as _, DatabaseExt as _, Embedded, MemoryStore, Options, SystemClock, VirtualClock,
    WithModels as _, api,
};

/// Runs a test beside an endpoint without models, in a runtime of one thread, as a program may have.
fn at_an_endpoint(test: impl AsyncFnOnce(String)) {
    let options = Options {
        behind_gateways: true,
        ..Options::default()
    };
    let embedded = Embedded::on(
        Arc::new(MemoryStore::new()),
        Arc::new(SystemClock::new()),
        options,
    )
    .unwrap();
    beside_an_endpoint(embedded, |url| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(test(url));
    });
}

fn open(program: &str, url: &str) -> AnyDatabase {
    AnyDatabase::at_endpoint(program, Settings::new(url)).unwrap()
}

#[test]
fn what_is_done_in_this_process_is_done_there() {
    let options = Options {
        behind_gateways: true,
        ..Options::default()
    };
    beside_an_endpoint(Embedded::in_memory(options).unwrap(), |url| {
        manhunt::story(&Manhunt::apply_to(&open("hunt", &url)).unwrap());
    });
}

#[test]
fn a_message_is_sent_with_the_transaction_or_not_at_all_and_is_there_for_the_next_process() {
    at_an_endpoint(async |url| {
        let stored = open("hunt", &url);
        let db = Manhunt::apply_to(&stored).unwrap();
        let queues = stored.queues();
        let (plain, tags) = (QueueAttributes::new(), Default::default());
        queues.create("mail", &plain, &tags).await.unwrap();
        let new = contact(ARIAN, "6f7ad1b", "Arian Mellor");
        for (round, is_new) in [(1, true), (2, false)] {
            let message = NewMessage::job(&round).unwrap();
            let enlisted = queues.enlist("mail", vec![message]).await.unwrap();
            let put = db.transaction().with(db.put(&new).if_not_exists());
            let made = queue::commit(put, enlisted).await;
            assert_eq!(made.is_ok(), is_new, "{made:?}");
            assert!(made.err().is_none_or(|error| error.is_condition()));
        }
        drop((db, stored));
        let next = open("hunt", &url);
        let sent = next.queues().receive("mail", Receive::default()).await.unwrap();
        let bodies: Vec<&str> = sent.iter().map(|message| message.body.as_str()).collect();
        assert_eq!(bodies, ["1"]);
    });
}

#[test]
fn the_queues_of_a_program_are_for_one_process_and_those_of_another_program_are_others() {
    at_an_endpoint(async |url| {
        let (first, second, other) = (open("hunt", &url), open("hunt", &url), open("shop", &url));
        let (plain, tags) = (QueueAttributes::new(), Default::default());
        first.queues().create("mail", &plain, &tags).await.unwrap();
        let refused = second.queues().exists("mail").await.unwrap_err();
        assert!(
            refused
                .message()
                .contains("another process runs hunt at this endpoint"),
            "{refused}"
        );
        assert!(!other.queues().exists("mail").await.unwrap());
        // All programs share the rows.
        let (one, two) = (
            Manhunt::apply_to(&first).unwrap(),
            Manhunt::apply_to(&second).unwrap(),
        );
        let new = contact(ARIAN, "6f7ad1b", "Arian Mellor");
        one.put(&new).await.unwrap();
        assert_eq!(
            two.contacts_of_domain("6f7ad1b").collect().await.unwrap().len(),
            1
        );
        // When it ends, the next one gets them immediately.
        drop((one, first));
        assert!(second.queues().exists("mail").await.unwrap());
    });
}

#[test]
fn a_process_whose_place_was_taken_writes_nothing_more_and_says_why() {
    at_an_endpoint(async |url| {
        let stored = open("hunt", &url);
        let (plain, tags) = (QueueAttributes::new(), Default::default());
        stored.queues().create("mail", &plain, &tags).await.unwrap();
        // Like a process that has not read this one's state for a while.
        let take = api::UpdateItem {
            table_name: "hunt.trestle-lease".into(),
            key: trestle::Item::from([("id", "owner")]),
            update_expression: Some("SET holder = :other ADD epoch :one".into()),
            expression_attribute_values: Some(trestle::Item::from([
                (":other", trestle::AttributeValue::from("other")),
                (":one", trestle::AttributeValue::from(1_i64)),
            ])),
            ..api::UpdateItem::default()
        };
        stored.update_item(take).await.unwrap();
        let message = NewMessage::job(&1).unwrap();
        let refused = stored.queues().send("mail", message).await.unwrap_err();
        assert!(
            refused
                .message()
                .contains("another process has taken over the queues and routes of hunt"),
            "{refused}"
        );
    });
}

#[test]
fn changes_come_to_handlers_and_queues_once_and_a_restart_goes_on_where_it_was() {
    at_an_endpoint(async |url| {
        let (seen, mut told) = unbounded_channel();
        let watch = async |stored: &AnyDatabase| {
            let seen = seen.clone();
            Events::of(stored)
                .on(
                    "note",
                    |all: Route| all,
                    move |change: Changed<Contact>| {
                        std::future::ready(seen.send(change.new.map(|contact| contact.name)))
                    },
                )
                .to_queue::<Contact>("copy", |all| all, "mail")
                .start()
                .await
                .unwrap()
        };
        let stored = open("hunt", &url);
        let db = Manhunt::apply_to(&stored).unwrap();
        let (plain, tags) = (QueueAttributes::new(), Default::default());
        stored.queues().create("mail", &plain, &tags).await.unwrap();
        let router = watch(&stored).await;
        db.put(&contact(ARIAN, "6f7ad1b", "Arian Mellor")).await.unwrap();
        assert_eq!(next(&mut told).await.as_deref(), Some("Arian Mellor"));
        router.stop().await;
        db.put(&contact("b1", "6f7ad1b", "Bo Diaz")).await.unwrap();
        drop((router, db, stored));

        let stored = open("hunt", &url);
        let router = watch(&stored).await;
        assert_eq!(next(&mut told).await.as_deref(), Some("Bo Diaz"));
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while stored.queues().counts("mail").await.unwrap().visible < 2 {
            assert!(std::time::Instant::now() < until, "two messages");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        router.stop().await;
        assert_eq!(stored.queues().counts("mail").await.unwrap().visible, 2);
    });
}

#[test]
fn changes_come_to_a_program_whose_clock_is_not_that_of_the_endpoint() {
    at_an_endpoint(async |url| {
        for (program, id) in [("behind", "b1"), ("ahead", "a1")] {
            let clock = Arc::new(VirtualClock::new());
            match program {
                "ahead" => drop(clock.advance(Duration::from_secs(100 * 86_400))),
                _ => clock.set(clock.now().minus(Duration::from_secs(100 * 86_400))),
            }
            let stored = AnyDatabase::at_endpoint_with_clock(program, Settings::new(&url), clock).unwrap();
            let db = Manhunt::apply_to(&stored).unwrap();
            let (seen, mut told) = unbounded_channel();
            let note = move |change: Changed<Contact>| {
                std::future::ready(seen.send(change.new.map(|contact| contact.name)))
            };
            let events = Events::of(&stored).on("note", |all: Route| all, note);
            let router = events.start().await.unwrap();
            db.put(&contact(id, "6f7ad1b", program)).await.unwrap();
            assert_eq!(next(&mut told).await.as_deref(), Some(program));
            router.stop().await;
        }
    });
}

#[test]
fn a_task_may_ask_for_migrations_where_the_runtime_has_one_thread() {
    at_an_endpoint(async |url| {
        let stored = open("hunt", &url);
        Manhunt::apply_to(&stored).unwrap();
        assert_eq!(stored.migrations().len(), 0);
        let (_, migration) = Manhunt::migrate_to(&stored, StartOptions::default()).unwrap();
        assert!(migration.status().is_none());
    });
}

async fn next<T>(of: &mut tokio::sync::mpsc::UnboundedReceiver<T>) -> T {
    let soon = tokio::time::timeout(Duration::from_secs(30), of.recv());
    soon.await.unwrap().unwrap()
}

#[test]
fn a_model_is_stored_there_without_the_routes_that_the_program_runs() {
    at_an_endpoint(async |url| {
        let stored = open("hunt", &url);
        Manhunt::apply_to(&stored).unwrap();
        let text = stored.with_models(|models| models.text("manhunt").unwrap());
        let text = text.unwrap();
        assert!(
            text.contains("[entity.search]") && !text.contains("[route."),
            "{text}"
        );
    });
}
