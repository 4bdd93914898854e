//! A queue for each receiver: servers of others may hang.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lines to any number of receivers. Only so many calls to one receiver run at once; the others wait in its
/// line. So a receiver that does not answer delays only its own calls.
///
/// ```
/// use trestle::app::{Lines, Turn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let lines = Lines::new(32, 1_000);
/// match lines.turn("https://example.org".to_owned()).await {
///     Turn::Now(_underway) => { /* call it */ }
///     Turn::LineIsFull => { /* later */ }
///     Turn::LinesAreClosed => { /* after the next start */ }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Lines {
    underway_max: usize,
    waiting_max: usize,
    receivers: Mutex<Receivers>,
}

#[derive(Debug, Default)]
struct Receivers {
    lines: HashMap<String, Line>,
    is_closed: bool,
}

#[derive(Debug)]
struct Line {
    free: Arc<Semaphore>,
    /// Running calls, and waiting ones.
    calls: usize,
}

/// A call in a line. When dropped, it has left the line.
#[derive(Debug)]
struct InLine<'l> {
    lines: &'l Lines,
    receiver: String,
    free: Arc<Semaphore>,
}

/// A running call, until this is dropped.
#[derive(Debug)]
pub struct Underway<'l> {
    _permit: OwnedSemaphorePermit,
    _line: InLine<'l>,
}

/// Whether a call may begin.
#[derive(Debug)]
pub enum Turn<'l> {
    /// It may, and runs until this is dropped.
    Now(Underway<'l>),
    /// Too many wait already: try again later.
    LineIsFull,
    /// The lines were closed.
    LinesAreClosed,
}

impl Lines {
    /// Lines in which so many calls run at once, and so many more wait.
    #[must_use]
    pub fn new(underway_max: usize, waiting_max: usize) -> Self {
        Self {
            underway_max,
            waiting_max,
            receivers: Mutex::default(),
        }
    }

    /// Waits until this receiver may be called.
    pub async fn turn(&self, receiver: String) -> Turn<'_> {
        let line = match self.join(receiver) {
            Ok(line) => line,
            Err(not_now) => return not_now,
        };
        match Arc::clone(&line.free).acquire_owned().await {
            Ok(permit) => Turn::Now(Underway {
                _permit: permit,
                _line: line,
            }),
            Err(_) => Turn::LinesAreClosed,
        }
    }

    /// The number of running and waiting calls, for each receiver that has any.
    #[must_use]
    pub fn lengths(&self) -> Vec<usize> {
        self.lock().lines.values().map(|line| line.calls).collect()
    }

    /// Ends all waiting permanently; running calls are not affected.
    pub fn close(&self) {
        let mut receivers = self.lock();
        receivers.is_closed = true;
        for line in receivers.lines.values() {
            line.free.close();
        }
    }

    fn join(&self, receiver: String) -> Result<InLine<'_>, Turn<'_>> {
        let mut receivers = self.lock();
        if receivers.is_closed {
            return Err(Turn::LinesAreClosed);
        }
        let line = receivers.lines.entry(receiver.clone()).or_insert_with(|| Line {
            free: Arc::new(Semaphore::new(self.underway_max)),
            calls: 0,
        });
        if line.calls >= self.underway_max.saturating_add(self.waiting_max) {
            return Err(Turn::LineIsFull);
        }
        line.calls += 1;
        Ok(InLine {
            lines: self,
            receiver,
            free: Arc::clone(&line.free),
        })
    }

    /// No code that holds the lock can panic halfway.
    fn lock(&self) -> MutexGuard<'_, Receivers> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut receivers = self.lines.lock();
        if let Some(line) = receivers.lines.get_mut(&self.receiver) {
            line.calls -= 1;
            if line.calls == 0 {
                receivers.lines.remove(&self.receiver);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNDERWAY_MAX: usize = 3;
    const WAITING_MAX: usize = 2;

    async fn underway(lines: &Lines) -> Vec<Underway<'_>> {
        let mut turns = Vec::new();
        for _ in 0..UNDERWAY_MAX {
            match lines.turn("a".to_owned()).await {
                Turn::Now(turn) => turns.push(turn),
                _ => panic!("there is room"),
            }
        }
        turns
    }

    #[tokio::test]
    async fn a_line_has_room_for_so_many_and_is_gone_with_its_last_call() {
        let lines = Lines::new(UNDERWAY_MAX, WAITING_MAX);
        let mut turns = underway(&lines).await;
        let mut next = Box::pin(lines.turn("a".to_owned()));
        assert!(so_far(&mut next).await.is_none(), "the line is full");
        let other = lines.turn("b".to_owned()).await;
        assert!(matches!(other, Turn::Now(_)), "another is not");
        drop(other);
        turns.pop();
        let turn = next.await;
        assert!(matches!(turn, Turn::Now(_)));
        assert_eq!(lines.lengths(), [UNDERWAY_MAX]);
        drop((turn, turns));
        assert_eq!(lines.lengths(), [0; 0]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_takes_no_more() {
        let lines = Lines::new(UNDERWAY_MAX, WAITING_MAX);
        let turns = underway(&lines).await;
        let mut waiting: Vec<_> = (0..WAITING_MAX)
            .map(|_| Box::pin(lines.turn("a".to_owned())))
            .collect();
        for one in &mut waiting {
            assert!(so_far(one).await.is_none());
        }
        assert!(matches!(lines.turn("a".to_owned()).await, Turn::LineIsFull));
        assert!(matches!(lines.turn("b".to_owned()).await, Turn::Now(_)));
        drop(waiting);
        drop(turns);
        assert!(matches!(lines.turn("a".to_owned()).await, Turn::Now(_)));
    }

    #[tokio::test]
    async fn closing_ends_the_waiting_and_not_what_is_under_way() {
        let lines = Lines::new(UNDERWAY_MAX, WAITING_MAX);
        let turns = underway(&lines).await;
        let next = lines.turn("a".to_owned());
        let (next, ()) = tokio::join!(next, async { lines.close() });
        assert!(matches!(next, Turn::LinesAreClosed));
        assert!(matches!(lines.turn("b".to_owned()).await, Turn::LinesAreClosed));
        assert_eq!(turns.len(), UNDERWAY_MAX);
    }

    /// The result of a future so far.
    async fn so_far<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
