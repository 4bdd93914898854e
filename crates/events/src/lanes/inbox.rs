//! The changes that wait for a lane. The lane takes them one by one; another task may take all of them out.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::live::Handed;

/// The changes that wait for a lane, oldest first.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    changes: Mutex<Changes>,
    /// Rung when a change was added, or the inbox was closed.
    bell: Notify,
}

#[derive(Default)]
struct Changes {
    line: VecDeque<Handed>,
    is_closed: bool,
}

/// Why an inbox has no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NothingThere {
    /// None now; more may follow.
    Yet,
    /// No more will follow.
    Forever,
}

impl Inbox {
    pub(super) fn push(&self, handed: Handed) {
        self.0.changes.lock().line.push_back(handed);
        self.0.bell.notify_one();
    }

    /// Closes the inbox: no more changes will follow.
    pub(super) fn close(&self) {
        self.0.changes.lock().is_closed = true;
        self.0.bell.notify_one();
    }

    /// Takes all changes out.
    pub(super) fn clear(&self) -> VecDeque<Handed> {
        std::mem::take(&mut self.0.changes.lock().line)
    }

    /// The next change, if there is one.
    pub(crate) fn try_next(&self) -> Result<Handed, NothingThere> {
        let mut changes = self.0.changes.lock();
        let is_closed = changes.is_closed;
        changes.line.pop_front().ok_or(match is_closed {
            true => NothingThere::Forever,
            false => NothingThere::Yet,
        })
    }

    /// The next change; `None` if no more will follow. An inbox has one receiver.
    pub(crate) async fn next(&self) -> Option<Handed> {
        loop {
            match self.try_next() {
                Ok(handed) => return Some(handed),
                Err(NothingThere::Forever) => return None,
                Err(NothingThere::Yet) => self.0.bell.notified().await,
            }
        }
    }
}
