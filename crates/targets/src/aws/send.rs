//! Sends a batch of any size in calls of ten.

use super::service::{Service, Trouble, is_throttling};
use super::{CALL_BYTES_MAX, ENTRIES_MAX};
use serde_json::Value;
use std::collections::HashMap;
use trestle_events::{Batch, Delivery, Outcome, plain_json};

/// The form of a service's entries.
pub(crate) trait Protocol: Sync {
    /// One delivery by a route as an entry; `place` identifies it within its call. With its counted bytes.
    fn entry(&self, route: &str, delivery: &Delivery, place: usize) -> (Value, usize);

    /// The body of a call.
    fn body(&self, entries: Vec<Value>) -> Value;

    /// The refused entries, from the answer to a call of so many.
    fn failures(&self, answer: &Value, count: usize) -> Result<Vec<Failure>, String>;
}

/// An entry that was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) place: usize,
    pub(crate) fault: EntryFault,
    pub(crate) reason: String,
}

/// Why an entry was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryFault {
    /// It can never be accepted.
    Entry,
    /// The service failed, perhaps because of the entry.
    Service,
    /// The service is overloaded: try again later.
    Throttling,
}

impl EntryFault {
    /// From the code of an error that the entry did not cause.
    pub(crate) fn of_service(code: &str) -> Self {
        if is_throttling(code) {
            Self::Throttling
        } else {
            Self::Service
        }
    }
}

/// The state of a batch while it is being sent.
#[derive(Default)]
struct Progress {
    refused: Vec<(String, String)>,
    /// The records to send again.
    later: Vec<String>,
    /// The last reason for that, and whether all of it was throttled.
    reason: Option<String>,
    is_all_throttled: bool,
    /// The items whose earlier change was not accepted, with the fault: their later changes must not overtake
    /// it.
    behind: HashMap<String, EntryFault>,
    taken: usize,
}

/// Sends a batch, in order.
pub(crate) async fn send(service: &Service, protocol: &impl Protocol, batch: &Batch) -> Outcome {
    let mut progress = Progress {
        is_all_throttled: true,
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
            Err(trouble) if progress.is_untouched() => return trouble.into(),
            Err(Trouble::Refused(reason)) => progress.fail(&call.deliveries, EntryFault::Entry, &reason),
            Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => {
                progress.fail(&call.deliveries, EntryFault::Service, &reason);
                progress.fail(&rest.iter().collect::<Vec<_>>(), EntryFault::Service, &reason);
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

/// The next deliveries for one call, and the rest.
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
        if let Some(fault) = progress.is_behind(delivery) {
            let reason = "an earlier change of the same item was not taken";
            progress.note_one(delivery, fault, reason.to_owned());
            continue;
        }
        let (entry, more) = protocol.entry(route, delivery, call.entries.len());
        let is_full = call.entries.len() == ENTRIES_MAX || bytes + more > CALL_BYTES_MAX;
        // An entry that is too large for any call is sent alone, so that the service reports it.
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
                self.note_one(delivery, failure.fault, failure.reason);
            }
        }
    }

    /// An entry was not accepted.
    fn note_one(&mut self, delivery: &Delivery, fault: EntryFault, reason: String) {
        // A later change of an item that has to be sent again must be sent again, too, whatever its own
        // result.
        let fault = *self.behind.entry(item(delivery)).or_insert(fault);
        if fault == EntryFault::Entry {
            self.refused.push((delivery.id.clone(), reason));
        } else {
            self.is_all_throttled &= fault == EntryFault::Throttling;
            self.reason.get_or_insert(reason);
            self.later.push(delivery.id.clone());
        }
    }

    fn fail(&mut self, deliveries: &[&Delivery], fault: EntryFault, reason: &str) {
        for delivery in deliveries {
            self.note_one(delivery, fault, reason.to_owned());
        }
    }

    fn is_behind(&self, delivery: &Delivery) -> Option<EntryFault> {
        if self.behind.is_empty() {
            return None;
        }
        self.behind.get(&item(delivery)).copied()
    }

    fn is_untouched(&self) -> bool {
        self.taken == 0 && self.refused.is_empty() && self.later.is_empty()
    }

    fn outcome(self) -> Outcome {
        match self.reason {
            None if self.refused.is_empty() => Outcome::Done,
            None => Outcome::Partly(self.refused),
            Some(reason) if self.taken > 0 || !self.refused.is_empty() => Outcome::Interrupted {
                refused: self.refused,
                later: self.later,
                reason,
            },
            Some(reason) if self.is_all_throttled => Outcome::Unavailable(reason),
            Some(reason) => Outcome::Failed(reason),
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
