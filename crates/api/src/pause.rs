//! Waiting a moment before trying again, on any runtime or none.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// The first pause; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(1);
/// The longest.
const LONGEST: Duration = Duration::from_millis(64);

/// Waits after this many attempts that conflicted with another transaction, which takes as long as a commit
/// does. The more attempts, the longer.
#[must_use = "nothing waits until it is awaited"]
pub fn pause_after(attempts: usize) -> Pause {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).min(6);
    Pause {
        length: FIRST.saturating_mul(1 << doublings).min(LONGEST),
        alarm: None,
    }
}

/// A pause. The thread that ends it costs little compared with the awaited work, and needs no runtime.
#[derive(Debug)]
pub struct Pause {
    length: Duration,
    alarm: Option<Arc<Mutex<Alarm>>>,
}

#[derive(Debug, Default)]
struct Alarm {
    has_rung: bool,
    waker: Option<Waker>,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let length = self.length;
        let alarm = self.alarm.get_or_insert_with(|| start(length));
        let mut alarm = alarm.lock().unwrap_or_else(PoisonError::into_inner);
        if alarm.has_rung {
            return Poll::Ready(());
        }
        alarm.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

fn start(length: Duration) -> Arc<Mutex<Alarm>> {
    let alarm = Arc::new(Mutex::new(Alarm::default()));
    let rung = Arc::clone(&alarm);
    let ring = move || {
        let mut alarm = rung.lock().unwrap_or_else(PoisonError::into_inner);
        alarm.has_rung = true;
        if let Some(waker) = alarm.waker.take() {
            waker.wake();
        }
    };
    let ring_later = {
        let ring = ring.clone();
        move || {
            thread::sleep(length);
            ring();
        }
    };
    // If no thread can be started, there is no pause.
    if thread::Builder::new().spawn(ring_later).is_err() {
        ring();
    }
    alarm
}
