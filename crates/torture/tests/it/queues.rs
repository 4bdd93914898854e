//! SIGKILL at random moments while messages are sent, received, given back, moved to a dead-letter queue and deleted:
//! what was sent is there once, in one of the two queues, and what was deleted is not.

mod fifo;

use crate::{rounds, seed};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};

const WORKERS: usize = 5;
/// So long is a message invisible. The clock stands still, so nobody else receives it unless it is given back.
const VISIBILITY_S: u64 = 30;

/// What the workers know of the messages, by body.
#[derive(Debug, Default)]
struct Messages {
    attempted: BTreeSet<String>,
    /// Those that must be there, unless somebody tried to delete them.
    sent: BTreeSet<String>,
    deleting: BTreeSet<String>,
    /// Those that must not be there.
    deleted: BTreeSet<String>,
}

#[test]
fn a_sent_message_is_there_once_and_a_deleted_one_is_not_whenever_the_server_is_killed() {
    let (rounds, mut random) = (rounds("QUEUE_ROUNDS", 3), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let messages = Mutex::new(Messages::default());
    create(&mut start(dir.path()).connect());
    for round in 1..=rounds {
        let server = start(dir.path());
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(30..500));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
            });
            for worker in 0..WORKERS {
                let (address, messages) = (&address, &messages);
                let random = fastrand::Rng::with_seed(random.u64(..));
                scope.spawn(move || work(address, &format!("{round}-{worker}"), messages, random));
            }
        });
        let server = start(dir.path());
        let mut messages = messages.lock().unwrap();
        let found = check(&mut server.connect(), &mut messages);
        let (sent, deleted) = (messages.sent.len(), messages.deleted.len());
        println!("killed: round {round}, {sent} sent, {deleted} deleted, {found} there");
        server.kill();
        audit::verify(dir.path()).unwrap();
    }
}

fn start(directory: &Path) -> Server {
    Server::start(serve(directory).arg("--virtual-clock"))
}

fn url(queue: &str) -> String {
    format!("http://localhost/000000000000/{queue}")
}

fn create(client: &mut Client) {
    let policy =
        json!({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 3});
    for request in [
        json!({"QueueName": "dead"}),
        json!({"QueueName": "work", "Attributes": {
            "VisibilityTimeout": VISIBILITY_S.to_string(), "RedrivePolicy": policy.to_string()
        }}),
    ] {
        assert_eq!(client.call_queue("CreateQueue", &request).unwrap().status, 200);
    }
}

/// Sends, receives, gives back and deletes until the server is gone.
fn work(address: &str, name: &str, messages: &Mutex<Messages>, mut random: fastrand::Rng) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    for number in 0.. {
        let body = format!("{name}-{number}");
        messages.lock().unwrap().attempted.insert(body.clone());
        let send = json!({"QueueUrl": url("work"), "MessageBody": body});
        if call(&mut client, "SendMessage", &send).is_none() {
            return;
        }
        messages.lock().unwrap().sent.insert(body);
        let receive = json!({"QueueUrl": url("work"), "MaxNumberOfMessages": random.u32(1..4)});
        let Some(got) = call(&mut client, "ReceiveMessage", &receive) else {
            return;
        };
        for message in got["Messages"].as_array().into_iter().flatten() {
            let body = message["Body"].as_str().unwrap().to_owned();
            let handle = &message["ReceiptHandle"];
            let done = match random.u32(0..4) {
                0 => true,
                1 => {
                    let back =
                        json!({"QueueUrl": url("work"), "ReceiptHandle": handle, "VisibilityTimeout": 0});
                    call(&mut client, "ChangeMessageVisibility", &back).is_some()
                }
                _ => delete(&mut client, "work", handle, body, messages),
            };
            if !done {
                return;
            }
        }
    }
}

/// Whether the server is still there.
fn delete(
    client: &mut Client,
    queue: &str,
    handle: &Value,
    body: String,
    messages: &Mutex<Messages>,
) -> bool {
    messages.lock().unwrap().deleting.insert(body.clone());
    let delete = json!({"QueueUrl": url(queue), "ReceiptHandle": handle});
    let done = call(client, "DeleteMessage", &delete).is_some();
    if done {
        messages.lock().unwrap().deleted.insert(body);
    }
    done
}

/// The answer; `None` when the server is gone.
fn call(client: &mut Client, operation: &str, body: &Value) -> Option<Value> {
    let answer = client.call_queue(operation, body).ok()?;
    assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
    Some(answer.body)
}

/// Takes everything out of both queues and compares; how many messages there were.
fn check(client: &mut Client, messages: &mut Messages) -> usize {
    // Whatever was in flight has landed by then.
    client.advance_clock(2 * VISIBILITY_S).unwrap();
    let mut found = BTreeSet::new();
    for queue in ["work", "dead"] {
        loop {
            let receive = json!({"QueueUrl": url(queue), "MaxNumberOfMessages": 10});
            let got = call(client, "ReceiveMessage", &receive).unwrap();
            let Some(got) = got["Messages"].as_array() else {
                break;
            };
            for message in got {
                let body = message["Body"].as_str().unwrap().to_owned();
                assert!(messages.attempted.contains(&body), "{body} was never sent");
                assert!(
                    !messages.deleted.contains(&body),
                    "{body} was deleted and came back"
                );
                let delete = json!({"QueueUrl": url(queue), "ReceiptHandle": message["ReceiptHandle"]});
                call(client, "DeleteMessage", &delete).unwrap();
                assert!(found.insert(body.clone()), "{body} is there twice");
            }
        }
    }
    for body in messages.sent.difference(&messages.deleting) {
        assert!(found.contains(body), "{body} is lost");
    }
    messages.deleting.extend(found.iter().cloned());
    messages.deleted.extend(found.iter().cloned());
    found.len()
}
