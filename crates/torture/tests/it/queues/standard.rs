//! A standard queue: every sent message exists once, in one of the two queues, and deleted ones do not.

use super::{Pair, Worker, call, drain, give_back, receive, under_kills, url};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Mutex;
use trestle_torture::http::Client;

const WORKERS: usize = 5;

/// What the workers know of the messages, by body.
#[derive(Debug, Default)]
struct Messages {
    attempted: BTreeSet<String>,
    /// Messages that must exist, unless their deletion was requested.
    sent: BTreeSet<String>,
    deleting: BTreeSet<String>,
    /// Those that must not be there.
    deleted: BTreeSet<String>,
}

#[test]
fn a_sent_message_is_there_once_and_a_deleted_one_is_not_whenever_the_server_is_killed() {
    let pair = Pair {
        work: "work",
        dead: "dead",
        kind: json!({}),
    };
    let messages = Mutex::new(Messages::default());
    under_kills(
        "QUEUE_ROUNDS",
        &pair,
        WORKERS,
        |worker| step(worker, &pair, &messages),
        |client| {
            let mut messages = messages.lock().unwrap();
            let found = check(client, &pair, &mut messages);
            let (sent, deleted) = (messages.sent.len(), messages.deleted.len());
            format!("{sent} sent, {deleted} deleted, {found} there")
        },
    );
}

/// Sends a message, receives some, and keeps, releases or deletes each.
fn step(worker: &mut Worker, pair: &Pair, messages: &Mutex<Messages>) -> Option<()> {
    let Worker { client, random, .. } = worker;
    let body = format!("{}-{}-{:x}", worker.round, worker.number, random.u64(..));
    messages.lock().unwrap().attempted.insert(body.clone());
    let send = json!({"QueueUrl": url(pair.work), "MessageBody": body});
    call(client, "SendMessage", &send)?;
    messages.lock().unwrap().sent.insert(body);
    for (body, handle) in receive(client, pair.work, random.u32(1..4))? {
        match random.u32(0..4) {
            0 => {}
            1 => give_back(client, pair.work, &handle)?,
            _ => {
                messages.lock().unwrap().deleting.insert(body.clone());
                super::delete(client, pair.work, &handle)?;
                messages.lock().unwrap().deleted.insert(body);
            }
        }
    }
    Some(())
}

/// Removes everything from both queues and compares; returns how many messages there were.
fn check(client: &mut Client, pair: &Pair, messages: &mut Messages) -> usize {
    let mut found = BTreeSet::new();
    for queue in [pair.work, pair.dead] {
        drain(client, queue, |body| {
            assert!(messages.attempted.contains(&body), "{body} was never sent");
            assert!(
                !messages.deleted.contains(&body),
                "{body} was deleted and came back"
            );
            assert!(found.insert(body.clone()), "{body} is there twice");
        });
    }
    for body in messages.sent.difference(&messages.deleting) {
        assert!(found.contains(body), "{body} is lost");
    }
    messages.deleting.extend(found.iter().cloned());
    messages.deleted.extend(found.iter().cloned());
    found.len()
}
