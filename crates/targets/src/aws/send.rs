//! A batch of any size in calls of ten.

use super::service::{Service, Trouble};
use super::{CALL_BYTES_MAX, ENTRIES_MAX};
use serde_json::Value;
use std::collections::HashSet;
use trestle_events::{Batch, Delivery, Outcome, plain_json};

/// How entries of a service look.
pub(crate) trait Protocol: Sync {
    /// One delivery by a route as an entry; `place` tells it from the others in its call. With the bytes that count.
    fn entry(&self, route: &str, delivery: &Delivery, place: usize) -> (Value, usize);

    /// The body of a call.
    fn body(&self, entries: Vec<Value>) -> Value;

    /// The entries that were not taken, from the answer to a call of so many.
    fn failures(&self, answer: &Value, count: usize) -> Result<Vec<Failure>, String>;
}

/// An entry that was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) place: usize,
    /// The service says that it is not the entry's fault.
    pub(crate) is_passing: bool,
    pub(crate) reason: String,
}

/// What is known about a batch while it is being sent.
#[derive(Default)]
struct Progress {
    failed: Vec<(String, String)>,
    /// The items whose earlier change failed: their later changes must not overtake it.
    behind: HashSet<String>,
    is_all_passing: bool,
    taken: usize,
}

/// Sends a batch, in order.
pub(crate) async fn send(service: &Service, protocol: &impl Protocol, batch: &Batch) -> Outcome {
    let mut progress = Progress {
        is_all_passing: true,
        ..Progress::default()
    };
    let mut rest = batch.deliveries.as_slice();
    while !rest.is_empty() {
        let (call, after) = next_call(protocol, &batch.route, rest, &mut progress);
        rest = after;
        if call.entries.is_empty() {
            continue;
        }
        let count = call.entries.len();
        let answer = service.call(&protocol.body(call.entries)).await;
        let failures = answer.and_then(|answer| {
            let failures = protocol.failures(&answer, count);
            failures.map_err(Trouble::Unavailable)
        });
        match failures {
            Ok(failures) => progress.note(&call.deliveries, failures),
            Err(trouble) if progress.taken == 0 && progress.failed.is_empty() => return trouble.into(),
            Err(Trouble::Refused(reason)) => progress.fail(&call.deliveries, &reason),
            Err(Trouble::Unavailable(reason)) => {
                progress.fail(&call.deliveries, &reason);
                progress.fail(&rest.iter().collect::<Vec<_>>(), &reason);
                rest = &[];
            }
        }
    }
    progress.outcome()
}

struct Call<'a> {
    deliveries: Vec<&'a Delivery>,
    entries: Vec<Value>,
}

/// The next deliveries that go into one call, and what is left after them.
fn next_call<'a>(
    protocol: &impl Protocol,
    route: &str,
    deliveries: &'a [Delivery],
    progress: &mut Progress,
) -> (Call<'a>, &'a [Delivery]) {
    let mut call = Call {
        deliveries: Vec::new(),
        entries: Vec::new(),
    };
    let mut bytes = 0;
    for (index, delivery) in deliveries.iter().enumerate() {
        if progress.is_behind(delivery) {
            progress.failed.push((
                delivery.id.clone(),
                "an earlier change of the same item was not taken".to_owned(),
            ));
            continue;
        }
        let (entry, more) = protocol.entry(route, delivery, call.entries.len());
        let is_full = call.entries.len() == ENTRIES_MAX || bytes + more > CALL_BYTES_MAX;
        // What is too large for any call goes alone, so that the service can say so.
        if is_full && !call.entries.is_empty() {
            return (call, deliveries.split_at(index).1);
        }
        bytes += more;
        call.deliveries.push(delivery);
        call.entries.push(entry);
    }
    (call, &[])
}

impl Progress {
    fn note(&mut self, deliveries: &[&Delivery], failures: Vec<Failure>) {
        self.taken += deliveries.len().saturating_sub(failures.len());
        for failure in failures {
            if let Some(delivery) = deliveries.get(failure.place) {
                self.is_all_passing &= failure.is_passing;
                self.behind.insert(item(delivery));
                self.failed.push((delivery.id.clone(), failure.reason));
            }
        }
    }

    fn fail(&mut self, deliveries: &[&Delivery], reason: &str) {
        for delivery in deliveries {
            self.behind.insert(item(delivery));
            self.failed.push((delivery.id.clone(), reason.to_owned()));
        }
    }

    fn is_behind(&self, delivery: &Delivery) -> bool {
        !self.behind.is_empty() && self.behind.contains(&item(delivery))
    }

    fn outcome(self) -> Outcome {
        match self.failed.first() {
            None => Outcome::Done,
            Some((_, reason)) if self.taken == 0 && self.is_all_passing => {
                Outcome::Unavailable(reason.clone())
            }
            Some(_) => Outcome::Partly(self.failed),
        }
    }
}

fn item(delivery: &Delivery) -> String {
    format!(
        "{} {}",
        delivery.change.table,
        plain_json(delivery.change.item_key())
    )
}
