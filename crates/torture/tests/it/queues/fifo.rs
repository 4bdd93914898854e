//! A FIFO queue with 16 clients: each group stays in order, also in the dead-letter queue; no sent message is
//! lost, no deleted one returns, and a message that is sent again within five minutes, by any client, exists
//! once.

use super::{Pair, RECEIVES_MAX, Worker, call, drain, give_back, under_kills, url};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use trestle_torture::http::Client;

const CLIENTS: usize = 16;

/// What the clients know of one group. Its messages are numbered from 0, and one client sends them.
#[derive(Debug, Default)]
struct Group {
    /// The number of the next message that is sent for the first time. The previous one is sent again until
    /// it is acknowledged.
    next: u64,
    /// Every message before this one was deleted in an earlier round.
    settled: u64,
    /// Message id and sequence number of each that was acknowledged.
    sent: BTreeMap<u64, (String, u128)>,
    /// Messages without which a later message of the group was received: they are no longer in the working
    /// queue.
    left: BTreeSet<u64>,
    /// How often clients received each.
    received: BTreeMap<u64, u32>,
    /// Messages whose deletion was requested.
    deleting: BTreeSet<u64>,
    /// Those that must not be there.
    deleted: BTreeSet<u64>,
}

impl Group {
    fn times_received(&self, number: u64) -> u32 {
        self.received.get(&number).copied().unwrap_or_default()
    }

    /// Refuses a message that must not exist.
    fn check(&self, body: &str, number: u64) {
        assert!(number < self.next, "{body} was never sent");
        assert!(
            !self.deleted.contains(&number),
            "{body} was deleted and came back"
        );
    }

    /// Refuses a message of the working queue if a later one of its group was received without it, or if an
    /// earlier one is neither deleted, nor `here` in the same answer, nor received so often that it is dead.
    fn check_order(&mut self, body: &str, number: u64, here: &[u64], dead_after: u32) {
        assert!(
            !self.left.contains(&number),
            "{body} was received after a later message of its group"
        );
        for earlier in (self.settled..number).filter(|earlier| !here.contains(earlier)) {
            assert!(
                self.deleting.contains(&earlier) || self.times_received(earlier) >= dead_after,
                "{body} was received before message {earlier} of its group"
            );
            self.left.insert(earlier);
        }
    }
}

type Groups = Mutex<Vec<Group>>;

#[test]
fn a_group_stays_in_order_and_each_message_is_there_once_whenever_the_server_is_killed() {
    let pair = Pair {
        work: "work.fifo",
        dead: "dead.fifo",
        kind: json!({"FifoQueue": "true"}),
    };
    let groups: Groups = Mutex::new((0..CLIENTS).map(|_| Group::default()).collect());
    under_kills(
        "FIFO_ROUNDS",
        &pair,
        CLIENTS,
        |worker| step(worker, pair.work, &groups),
        |client| {
            let mut groups = groups.lock().unwrap();
            let (found, dead) = check(client, &pair, &mut groups);
            let sent: usize = groups.iter().map(|group| group.sent.len()).sum();
            let deleted: usize = groups.iter().map(|group| group.deleted.len()).sum();
            format!("{sent} sent, {deleted} deleted, {found} there, {dead} of them dead")
        },
    );
}

/// Sends a message, receives from all groups, and keeps, releases or deletes each.
fn step(worker: &mut Worker, queue: &str, groups: &Groups) -> Option<()> {
    let Worker { client, random, .. } = worker;
    let (group, number) = choose(worker.number, &mut groups.lock().unwrap(), random);
    send(client, queue, group, number, groups)?;
    for (group, number, handle) in receive(client, queue, random.u32(1..4), groups)? {
        match random.u32(0..40) {
            // Its group waits for the rest of the round.
            0 => {}
            1..12 => give_back(client, queue, &handle)?,
            _ => {
                groups.lock().unwrap()[group].deleting.insert(number);
                super::delete(client, queue, &handle)?;
                groups.lock().unwrap()[group].deleted.insert(number);
            }
        }
    }
    Some(())
}

/// Group and number of the message to send: sometimes the newest one of another client, which may be sending
/// it at this moment; otherwise one of its own.
fn choose(own: usize, groups: &mut [Group], random: &mut fastrand::Rng) -> (usize, u64) {
    let other = random.usize(0..CLIENTS);
    match groups[other].next.checked_sub(1) {
        Some(newest) if other != own && random.u32(0..10) == 0 => (other, newest),
        _ => (own, next_number(&mut groups[own], random)),
    }
}

/// A message that was not acknowledged, sometimes one that was, or a new one.
fn next_number(group: &mut Group, random: &mut fastrand::Rng) -> u64 {
    match group.next.checked_sub(1) {
        Some(last) if !group.sent.contains_key(&last) || random.u32(0..5) == 0 => last,
        _ => {
            group.next += 1;
            group.next - 1
        }
    }
}

fn send(client: &mut Client, queue: &str, group: usize, number: u64, groups: &Groups) -> Option<()> {
    let body = format!("{group}-{number}");
    let send = json!({
        "QueueUrl": url(queue), "MessageBody": body, "MessageGroupId": group.to_string(), "MessageDeduplicationId": body
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
fn receive(client: &mut Client, queue: &str, max: u32, groups: &Groups) -> Option<Vec<(usize, u64, Value)>> {
    let answer = super::receive(client, queue, max)?;
    let mut groups = groups.lock().unwrap();
    let mut got: Vec<(usize, u64, Value)> = Vec::new();
    for (body, handle) in answer {
        let (group, number) = read(&body);
        let of_group = got.iter().filter(|(of, ..)| *of == group);
        let here: Vec<u64> = of_group.map(|(_, number, _)| *number).collect();
        let known = &mut groups[group];
        known.check(&body, number);
        known.check_order(&body, number, &here, RECEIVES_MAX);
        *known.received.entry(number).or_default() += 1;
        got.push((group, number, handle));
    }
    Some(got)
}

/// Group and number of a message.
fn read(body: &str) -> (usize, u64) {
    let (group, number) = body.split_once('-').unwrap();
    (group.parse().unwrap(), number.parse().unwrap())
}

/// Removes everything from both queues and compares; returns how many messages there were, and how many of
/// them in the dead-letter queue.
fn check(client: &mut Client, pair: &Pair, groups: &mut [Group]) -> (usize, usize) {
    // The answer to one reception of a message may have been lost with the server.
    let dead_after = RECEIVES_MAX - 1;
    let in_work = drain_in_order(client, pair.work, groups, |group, body, number| {
        group.check_order(body, number, &[], dead_after);
    });
    let dead = drain_in_order(client, pair.dead, groups, |group, body, number| {
        let times = group.times_received(number);
        assert!(times >= dead_after, "{body} is dead, received {times} times");
    });
    for (name, group) in groups.iter_mut().enumerate() {
        for number in group.sent.keys() {
            assert!(group.deleting.contains(number), "{name}-{number} is lost");
        }
        // Missing messages whose deletion was requested count as deleted.
        group.deleted = group.deleting.clone();
        group.settled = group.next.saturating_sub(1);
    }
    (in_work + dead, dead)
}

/// Removes every message from a queue; returns how many there were. None comes before an earlier one of its
/// group, or twice.
fn drain_in_order(
    client: &mut Client,
    queue: &str,
    groups: &mut [Group],
    look: impl Fn(&mut Group, &str, u64),
) -> usize {
    let (mut found, mut newest) = (0, BTreeMap::new());
    drain(client, queue, |body| {
        let (of, number) = read(&body);
        let group = &mut groups[of];
        group.check(&body, number);
        look(group, &body, number);
        let before = newest.insert(of, number);
        assert!(
            before < Some(number),
            "{body} came after message {before:?} of its group"
        );
        group.deleting.insert(number);
        group.deleted.insert(number);
        found += 1;
    });
    found
}
