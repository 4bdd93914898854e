//! SIGKILL at random moments while clients work on a queue and its dead-letter queue.

mod fifo;
mod standard;

use crate::{rounds, seed};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};

/// How long a message is invisible. The clock stands still, so no other client receives it unless it is
/// released.
const VISIBILITY_S: u64 = 30;
/// A message that was received so often moves to the dead-letter queue.
const RECEIVES_MAX: u32 = 3;

/// The longest that clients wait for their first answers.
const BEGIN_MAX: Duration = Duration::from_secs(30);

/// A queue and its dead-letter queue.
struct Pair {
    work: &'static str,
    dead: &'static str,
    /// `{"FifoQueue": "true"}` or nothing.
    kind: Value,
}

/// One client of a round.
struct Worker {
    client: Client,
    round: u64,
    number: usize,
    random: fastrand::Rng,
}

/// Starts the server, lets clients work until it is killed, starts it again and checks it; as many rounds as
/// the variable says. `work` is one operation, and returns `None` when the server is gone. `check` finds
/// every message where it should be, removes it, and returns what it found.
fn under_kills(
    variable: &str,
    pair: &Pair,
    workers: usize,
    work: impl Fn(&mut Worker) -> Option<()> + Sync,
    mut check: impl FnMut(&mut Client) -> String,
) {
    let (rounds, mut random) = (rounds(variable, 3), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    create(&mut start(dir.path()).connect(), pair);
    for round in 1..=rounds {
        let server = start(dir.path());
        let address = server.address.clone();
        let pause = Duration::from_millis(random.u64(0..500));
        let (worked, begun) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // On a busy machine the first answer may take longer than the pause, and a round without
                // operations shows nothing.
                begun.recv_timeout(BEGIN_MAX).unwrap();
                std::thread::sleep(pause);
                server.kill();
            });
            for number in 0..workers {
                let (address, work, worked) = (&address, &work, worked.clone());
                let random = fastrand::Rng::with_seed(random.u64(..));
                scope.spawn(move || {
                    let Ok(client) = Client::connect(address) else {
                        return;
                    };
                    let mut worker = Worker {
                        client,
                        round,
                        number,
                        random,
                    };
                    while work(&mut worker).is_some() {
                        // Only the first one is waited for.
                        let _ = worked.send(());
                    }
                });
            }
        });
        let server = start(dir.path());
        let mut client = server.connect();
        // What was in flight can be received by then.
        client.advance_clock(2 * VISIBILITY_S).unwrap();
        println!("killed: round {round}, {}", check(&mut client));
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

fn create(client: &mut Client, pair: &Pair) {
    let target = format!("arn:aws:sqs:us-east-1:000000000000:{}", pair.dead);
    let policy = json!({"deadLetterTargetArn": target, "maxReceiveCount": RECEIVES_MAX});
    let mut attributes = pair.kind.clone();
    let dead = json!({"QueueName": pair.dead, "Attributes": attributes});
    attributes["VisibilityTimeout"] = VISIBILITY_S.to_string().into();
    attributes["RedrivePolicy"] = policy.to_string().into();
    let work = json!({"QueueName": pair.work, "Attributes": attributes});
    for request in [dead, work] {
        call(client, "CreateQueue", &request).unwrap();
    }
}

/// The answer; `None` when the server is gone.
fn call(client: &mut Client, operation: &str, body: &Value) -> Option<Value> {
    let answer = client.call_queue(operation, body).ok()?;
    assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
    Some(answer.body)
}

/// Body and receipt handle of each message received.
fn receive(client: &mut Client, queue: &str, max: u32) -> Option<Vec<(String, Value)>> {
    let receive = json!({"QueueUrl": url(queue), "MaxNumberOfMessages": max});
    let answer = call(client, "ReceiveMessage", &receive)?;
    let messages = answer["Messages"].as_array().into_iter().flatten();
    let told = |message: &Value| {
        let body = message["Body"].as_str().unwrap().to_owned();
        (body, message["ReceiptHandle"].clone())
    };
    Some(messages.map(told).collect())
}

fn give_back(client: &mut Client, queue: &str, handle: &Value) -> Option<()> {
    let back = json!({"QueueUrl": url(queue), "ReceiptHandle": handle, "VisibilityTimeout": 0});
    call(client, "ChangeMessageVisibility", &back).map(drop)
}

fn delete(client: &mut Client, queue: &str, handle: &Value) -> Option<()> {
    let delete = json!({"QueueUrl": url(queue), "ReceiptHandle": handle});
    call(client, "DeleteMessage", &delete).map(drop)
}

/// Takes every message out of a queue, in the order in which they come.
fn drain(client: &mut Client, queue: &str, mut see: impl FnMut(String)) {
    loop {
        let got = receive(client, queue, 10).unwrap();
        if got.is_empty() {
            return;
        }
        for (body, handle) in got {
            see(body);
            delete(client, queue, &handle).unwrap();
        }
    }
}
