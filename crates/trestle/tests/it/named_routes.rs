//! Routes that a file declares, connected by name.

use std::time::Duration;

use crate::models::tickets::*;
use crate::support::embedded;
use tokio::sync::mpsc::unbounded_channel;
use trestle::Embedded;
use trestle::events::{Changed, Events};
use trestle::queue::{QueueAttributes, Receive};

/// Accepts tickets and does nothing.
fn idle(_: Changed<Ticket>) -> std::future::Ready<Result<(), String>> {
    std::future::ready(Ok(()))
}

async fn refused(events: Events) -> String {
    events.start().await.unwrap_err().to_string()
}

fn tickets() -> (Embedded, Tickets<Embedded>) {
    let embedded = embedded();
    let db = Tickets::apply_to(&embedded).unwrap();
    (embedded, db)
}

#[tokio::test]
async fn routes_of_a_model_file_reach_the_handler_and_the_queue_that_they_name() {
    let (embedded, db) = tickets();
    let queues = embedded.queues().clone();
    let (plain, tags) = (QueueAttributes::new(), Default::default());
    queues.create("archive", &plain, &tags).await.unwrap();
    let (to, mut of) = unbounded_channel();
    let router = Events::of(&embedded)
        .routes_of(&db)
        .handler("announce", move |change: Changed<Ticket>| {
            let told = to.send(change.new.map(|ticket| ticket.number));
            std::future::ready(told.map_err(|_| "nobody listens"))
        })
        .start()
        .await
        .unwrap();
    db.put(&NewPerson { name: "ada".into() }).await.unwrap();
    db.put(&NewTicket { number: 7 }).await.unwrap();
    db.update_ticket(TicketKey::new(7))
        .set_state(TicketState::Closed)
        .await
        .unwrap();

    let announced = tokio::time::timeout(Duration::from_secs(30), of.recv());
    assert_eq!(announced.await.unwrap(), Some(Some(7)));
    let ask = Receive {
        max: 10,
        wait: Some(Duration::from_secs(20)),
        ..Receive::default()
    };
    let archived = queues.receive("archive", ask).await.unwrap();
    let bodies: Vec<&str> = archived.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(bodies, [r#"{"number":7}"#]);
    router.stop().await;
    assert!(of.try_recv().is_err(), "closing a ticket announces nothing");
}

#[tokio::test]
async fn a_file_beside_the_model_knows_the_entities_of_its_handlers() {
    let (embedded, db) = tickets();
    let (to, mut of) = unbounded_channel();
    let file = "[route.all]\nentity = \"ticket\"\ntarget = { handler = \"count\" }";
    let router = Events::of(&embedded)
        .routes_in(file)
        .handler("count", move |change: Changed<Ticket>| {
            std::future::ready(to.send(change.event).map_err(|_| "nobody listens"))
        })
        .start()
        .await
        .unwrap();
    assert_eq!(router.routes().len(), 1, "those of the model were not asked for");
    db.put(&NewTicket { number: 1 }).await.unwrap();
    let counted = tokio::time::timeout(Duration::from_secs(30), of.recv());
    assert!(counted.await.unwrap().is_some());
}

#[tokio::test]
async fn names_that_do_not_meet_are_all_said_at_once() {
    let (embedded, db) = tickets();
    let said = refused(
        Events::of(&embedded)
            .routes_of(&db)
            .handler("anounce", idle)
            .handler("count", idle),
    )
    .await;
    for part in [
        "model `tickets`: 24:10: error: route `opened`: target: no handler `announce` is connected; connected are: \
         `anounce`, `count`",
        "no route goes to these handlers: `anounce`, `count`; the routes name: `announce`",
    ] {
        assert!(said.contains(part), "{part}\n\n{said}");
    }
}

#[tokio::test]
async fn a_handler_of_another_entity_is_refused() {
    let (embedded, _) = tickets();
    for entity in ["entity = \"person\"", "table = \"tickets\""] {
        let file = format!("[route.people]\n{entity}\ntarget = {{ handler = \"greet\" }}");
        let said = refused(Events::of(&embedded).routes_in(&file).handler("greet", idle)).await;
        assert_eq!(
            said,
            "route `people`: its handler takes rows of `ticket`; write `entity = \"ticket\"`"
        );
    }
}

#[tokio::test]
async fn what_only_a_server_has_is_said_to_be_so() {
    let (embedded, _) = tickets();
    let file = "[route.out]\ntable = \"tickets\"\ntarget = { webhook = \"http://127.0.0.1:1/\" }";
    let said = refused(Events::of(&embedded).routes_in(file)).await;
    assert!(
        said.contains("route file: 3:10: error: route `out`: target: webhook is a target of `trestle serve`"),
        "{said}"
    );
    let twice = Events::of(&embedded)
        .handler("greet", idle)
        .handler("greet", idle);
    assert!(
        refused(twice)
            .await
            .contains("handler `greet` is connected twice")
    );
}
