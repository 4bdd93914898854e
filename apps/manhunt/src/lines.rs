//! Lines to receivers: only so many notices are under way to one receiver at once, the others wait in its line. A receiver
//! that does not answer delays its own notices only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most notices that are under way to one receiver.
pub(crate) const UNDERWAY_MAX: usize = 32;

/// The lines of all receivers to which there are notices.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Receivers>);

#[derive(Default)]
struct Receivers {
    lines: HashMap<String, Line>,
    is_closed: bool,
}

struct Line {
    free: Arc<Semaphore>,
    /// Notices under way, and those that wait.
    notices: usize,
}

/// A notice in a line. Dropped, it has left it.
struct InLine<'l> {
    lines: &'l Lines,
    receiver: String,
    free: Arc<Semaphore>,
}

/// A notice whose turn it is, until this is dropped.
pub(crate) struct Turn<'l> {
    _permit: OwnedSemaphorePermit,
    _line: InLine<'l>,
}

impl Lines {
    /// Waits until a notice may be sent to a receiver. `None` if the program ends before.
    pub(crate) async fn turn(&self, receiver: String) -> Option<Turn<'_>> {
        let line = self.join(receiver)?;
        let permit = Arc::clone(&line.free).acquire_owned().await.ok()?;
        Some(Turn {
            _permit: permit,
            _line: line,
        })
    }

    /// Ends the waiting; notices under way are not disturbed.
    pub(crate) fn close(&self) {
        let mut receivers = self.lock();
        receivers.is_closed = true;
        for line in receivers.lines.values() {
            line.free.close();
        }
    }

    fn join(&self, receiver: String) -> Option<InLine<'_>> {
        let mut receivers = self.lock();
        if receivers.is_closed {
            return None;
        }
        let line = receivers.lines.entry(receiver.clone()).or_insert_with(|| Line {
            free: Arc::new(Semaphore::new(UNDERWAY_MAX)),
            notices: 0,
        });
        line.notices += 1;
        Some(InLine {
            lines: self,
            receiver,
            free: Arc::clone(&line.free),
        })
    }

    /// No code that holds the lock can panic half way.
    fn lock(&self) -> MutexGuard<'_, Receivers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut receivers = self.lines.lock();
        if let Some(line) = receivers.lines.get_mut(&self.receiver) {
            line.notices -= 1;
            if line.notices == 0 {
                receivers.lines.remove(&self.receiver);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_has_room_for_so_many_and_is_gone_with_its_last_notice() {
        let lines = Lines::default();
        let mut turns = Vec::new();
        for _ in 0..UNDERWAY_MAX {
            turns.push(lines.turn("a".to_owned()).await.unwrap());
        }
        let mut next = Box::pin(lines.turn("a".to_owned()));
        assert!(so_far(&mut next).await.is_none(), "the line is full");
        assert!(lines.turn("b".to_owned()).await.is_some(), "another is not");
        turns.pop();
        let turn = next.await.unwrap();
        assert_eq!(lines.lock().lines.len(), 1);
        drop((turn, turns));
        assert_eq!(lines.lock().lines.len(), 0);
    }

    #[tokio::test]
    async fn closing_ends_the_waiting_and_not_what_is_under_way() {
        let lines = Lines::default();
        let mut turns = Vec::new();
        for _ in 0..UNDERWAY_MAX {
            turns.push(lines.turn("a".to_owned()).await.unwrap());
        }
        let next = lines.turn("a".to_owned());
        let (next, ()) = tokio::join!(next, async { lines.close() });
        assert!(next.is_none());
        assert!(lines.turn("b".to_owned()).await.is_none());
        assert_eq!(turns.len(), UNDERWAY_MAX);
    }

    /// What a future has come to by now.
    async fn so_far<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
