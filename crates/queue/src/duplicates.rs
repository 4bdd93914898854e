//! Which messages were sent to a FIFO queue in the last five minutes, so that repeated ones are not sent
//! twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use trestle_env::Timestamp;

use crate::index::MessageNumber;
use crate::lot::Lot;

/// How long a sent message, and an attempt to receive, are remembered.
pub(crate) const INTERVAL: Duration = Duration::from_secs(300);
/// Rows of forgotten messages that one send deletes.
const FORGOTTEN_MAX: usize = 20;

/// The message that others are duplicates of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Original {
    pub(crate) id: String,
    pub(crate) sequence: MessageNumber,
    pub(crate) sent: Timestamp,
}

#[derive(Debug)]
enum Seen {
    /// Another call is sending it; the channel closes when that call has ended.
    Pending(watch::Receiver<()>),
    Sent(Original),
}

/// The remembered messages of one queue.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    seen: HashMap<String, Seen>,
    /// Those that were sent, oldest first.
    by_age: BTreeMap<MessageNumber, String>,
}

impl Duplicates {
    /// Remembers a message.
    pub(crate) fn add(&mut self, key: String, original: Original) {
        self.by_age.insert(original.sequence, key.clone());
        self.seen.insert(key, Seen::Sent(original));
    }

    /// Forgets some of the messages that were sent too long ago, and returns them.
    fn forget(&mut self, now: Timestamp) -> Vec<MessageNumber> {
        let mut forgotten = Vec::new();
        while forgotten.len() < FORGOTTEN_MAX
            && let Some((sequence, key)) = self.by_age.first_key_value()
        {
            match self.seen.get(key) {
                Some(Seen::Sent(original)) if original.sequence == *sequence => {
                    if !is_over(original, now) {
                        break;
                    }
                    self.seen.remove(key);
                }
                // A later message has the key now.
                _ => {}
            }
            forgotten.push(*sequence);
            self.by_age.pop_first();
        }
        forgotten
    }
}

/// Whether a message was sent too long ago to have duplicates.
pub(crate) fn is_over(original: &Original, now: Timestamp) -> bool {
    original.sent.plus(INTERVAL) <= now
}

/// Whether a message is new.
#[derive(Debug)]
pub(crate) enum Novelty {
    New,
    Duplicate(Original),
    /// The same as an earlier one of the same call, given by its position.
    SameAs(usize),
}

/// The right to send messages with certain keys. While it exists, other senders of these messages wait; if it
/// is dropped without [`Claims::sent`], they were not sent.
#[derive(Debug)]
pub(crate) struct Claims {
    lot: Arc<Lot>,
    keys: Vec<String>,
    /// Wakes waiting senders when it is dropped.
    _pending: watch::Sender<()>,
    /// Forgotten messages, whose rows can be deleted.
    pub(crate) forgotten: Vec<MessageNumber>,
}

impl Claims {
    /// Separates new messages from duplicates. If another call is sending one of them, returns what to wait
    /// for.
    pub(crate) fn new(
        lot: &Arc<Lot>,
        keys: &[String],
        now: Timestamp,
    ) -> Result<(Self, Vec<Novelty>), watch::Receiver<()>> {
        let mut duplicates = lot.duplicates.lock();
        let mut novelties: Vec<Novelty> = Vec::with_capacity(keys.len());
        let mut claimed: HashMap<&str, usize> = HashMap::new();
        for (place, key) in keys.iter().enumerate() {
            novelties.push(match duplicates.seen.get(key) {
                Some(Seen::Pending(ended)) => return Err(ended.clone()),
                Some(Seen::Sent(original)) if !is_over(original, now) => Novelty::Duplicate(original.clone()),
                _ => match claimed.get(key.as_str()) {
                    Some(first) => Novelty::SameAs(*first),
                    None => {
                        claimed.insert(key, place);
                        Novelty::New
                    }
                },
            });
        }
        let (pending, ended) = watch::channel(());
        let keys: Vec<String> = claimed.into_keys().map(str::to_owned).collect();
        for key in &keys {
            duplicates.seen.insert(key.clone(), Seen::Pending(ended.clone()));
        }
        let forgotten = duplicates.forget(now);
        drop(duplicates);
        let claims = Self {
            lot: Arc::clone(lot),
            keys,
            _pending: pending,
            forgotten,
        };
        Ok((claims, novelties))
    }

    /// Remembers the sent messages.
    pub(crate) fn sent(mut self, originals: Vec<(String, Original)>) {
        let mut duplicates = self.lot.duplicates.lock();
        for (key, original) in originals {
            duplicates.add(key, original);
        }
        drop(duplicates);
        self.keys.clear();
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        let mut duplicates = self.lot.duplicates.lock();
        for key in self.keys.drain(..) {
            duplicates.seen.remove(&key);
        }
    }
}
