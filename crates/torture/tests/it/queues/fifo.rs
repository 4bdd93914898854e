//! SIGKILL at random moments while 16 clients work on a FIFO queue: each group stays in order, nothing that was sent is lost, nothing
//! that was deleted comes back, and a message that is sent again within five minutes is there once.

use super::{VISIBILITY_S, call, start, url};
use crate::{rounds, seed};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;

const CLIENTS: usize = 16;
const QUEUE: &str = "work.fifo";

/// What the clients know of one group. Its messages are numbered from 0, and one client sends them.
#[derive(Debug, Default)]
struct Group {
    /// The number of the next message that is sent for the first time. The one before it is sent again until it is acknowledged.
    next: u64,
    /// Message id and sequence number of each that was acknowledged.
    sent: BTreeMap<u64, (String, u128)>,
    /// Those whose deletion was asked for.
    deleting: BTreeSet<u64>,
    /// Those that must not be there.
    deleted: BTreeSet<u64>,
}

type Groups = Mutex<Vec<Group>>;

#[test]
fn a_group_stays_in_order_and_each_message_is_there_once_whenever_the_server_is_killed() {
    let (rounds, mut random) = (rounds("FIFO_ROUNDS", 3), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let groups: Groups = Mutex::new((0..CLIENTS).map(|_| Group::default()).collect());
    let create = json!({"QueueName": QUEUE, "Attributes": {
        "FifoQueue": "true", "VisibilityTimeout": VISIBILITY_S.to_string()
    }});
    call(&mut start(dir.path()).connect(), "CreateQueue", &create).unwrap();
    for round in 1..=rounds {
        let server = start(dir.path());
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(30..500));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
            });
            for group in 0..CLIENTS {
                let (address, groups) = (&address, &groups);
                let random = fastrand::Rng::with_seed(random.u64(..));
                scope.spawn(move || work(address, group, groups, random));
            }
        });
        let server = start(dir.path());
        let found = drain(&mut server.connect(), &groups);
        let groups = groups.lock().unwrap();
        let sent: usize = groups.iter().map(|group| group.sent.len()).sum();
        let deleted: usize = groups.iter().map(|group| group.deleted.len()).sum();
        println!("killed: round {round}, {sent} sent, {deleted} deleted, {found} there");
        server.kill();
        audit::verify(dir.path()).unwrap();
    }
}

/// Sends to one group, receives from all, gives back and deletes until the server is gone.
fn work(address: &str, group: usize, groups: &Groups, mut random: fastrand::Rng) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    while step(&mut client, group, groups, &mut random).is_some() {}
}

/// `None` when the server is gone.
fn step(client: &mut Client, group: usize, groups: &Groups, random: &mut fastrand::Rng) -> Option<()> {
    let number = next_number(&mut groups.lock().unwrap()[group], random);
    send(client, group, number, groups)?;
    for (from, number, handle) in receive(client, random.u32(1..4), groups)? {
        match random.u32(0..4) {
            0 => {}
            1 => {
                let back = json!({"QueueUrl": url(QUEUE), "ReceiptHandle": handle, "VisibilityTimeout": 0});
                call(client, "ChangeMessageVisibility", &back)?;
            }
            _ => delete(client, from, number, &handle, groups)?,
        }
    }
    Some(())
}

/// A message that was not acknowledged, now and then one that was, or a new one.
fn next_number(group: &mut Group, random: &mut fastrand::Rng) -> u64 {
    match group.next.checked_sub(1) {
        Some(last) if !group.sent.contains_key(&last) || random.u32(0..5) == 0 => last,
        _ => {
            group.next += 1;
            group.next - 1
        }
    }
}

fn send(client: &mut Client, group: usize, number: u64, groups: &Groups) -> Option<()> {
    let body = format!("{group}-{number}");
    let send = json!({
        "QueueUrl": url(QUEUE), "MessageBody": body, "MessageGroupId": group.to_string(), "MessageDeduplicationId": body
    });
    let answer = call(client, "SendMessage", &send)?;
    let id = answer["MessageId"].as_str().unwrap().to_owned();
    let sequence: u128 = answer["SequenceNumber"].as_str().unwrap().parse().unwrap();
    let sent = &mut groups.lock().unwrap()[group].sent;
    if let Some((_, before)) = number.checked_sub(1).and_then(|before| sent.get(&before)) {
        assert!(
            *before < sequence,
            "{body} has an earlier sequence number than the message before it"
        );
    }
    let known = sent.entry(number).or_insert_with(|| (id.clone(), sequence));
    assert_eq!(
        *known,
        (id, sequence),
        "{body} was sent again and taken for another message"
    );
    Some(())
}

/// Group, number and handle of each message, after a look at their order.
fn receive(client: &mut Client, max: u32, groups: &Groups) -> Option<Vec<(usize, u64, Value)>> {
    let receive = json!({"QueueUrl": url(QUEUE), "MaxNumberOfMessages": max});
    let answer = call(client, "ReceiveMessage", &receive)?;
    let groups = groups.lock().unwrap();
    let mut got: Vec<(usize, u64, Value)> = Vec::new();
    for message in answer["Messages"].as_array().into_iter().flatten() {
        let body = message["Body"].as_str().unwrap();
        let (group, number) = body.split_once('-').unwrap();
        let (group, number): (usize, u64) = (group.parse().unwrap(), number.parse().unwrap());
        let known = &groups[group];
        assert!(number < known.next, "{body} was never sent");
        assert!(
            !known.deleted.contains(&number),
            "{body} was deleted and came back"
        );
        for earlier in 0..number {
            let is_here = got.iter().any(|(of, one, _)| (*of, *one) == (group, earlier));
            assert!(
                known.deleting.contains(&earlier) || is_here,
                "{body} was received before {group}-{earlier}"
            );
        }
        got.push((group, number, message["ReceiptHandle"].clone()));
    }
    Some(got)
}

fn delete(client: &mut Client, group: usize, number: u64, handle: &Value, groups: &Groups) -> Option<()> {
    groups.lock().unwrap()[group].deleting.insert(number);
    let delete = json!({"QueueUrl": url(QUEUE), "ReceiptHandle": handle});
    call(client, "DeleteMessage", &delete)?;
    groups.lock().unwrap()[group].deleted.insert(number);
    Some(())
}

/// Takes everything out of the queue and compares; how many messages there were.
fn drain(client: &mut Client, groups: &Groups) -> usize {
    // What was in flight can be received by then, and what was sent is still remembered.
    client.advance_clock(2 * VISIBILITY_S).unwrap();
    let mut found = BTreeSet::new();
    loop {
        let got = receive(client, 10, groups).unwrap();
        if got.is_empty() {
            break;
        }
        for (group, number, handle) in got {
            assert!(found.insert((group, number)), "{group}-{number} is there twice");
            delete(client, group, number, &handle, groups).unwrap();
        }
    }
    for (name, group) in groups.lock().unwrap().iter_mut().enumerate() {
        for number in group.sent.keys() {
            assert!(group.deleting.contains(number), "{name}-{number} is lost");
        }
        // Those whose deletion was asked for and that are not there are deleted.
        group.deleted = group.deleting.clone();
    }
    found.len()
}
