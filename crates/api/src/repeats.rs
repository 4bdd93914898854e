//! Counts requests that a client repeats automatically, for the work that made them.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

thread_local! {
    /// The repeats counted on this thread so far. Only differences are meaningful.
    static NOTED: Cell<u64> = const { Cell::new(0) };
}

/// Counts that a request is sent again, because it was throttled, failed at the endpoint, or had no response.
pub fn note_repeat() {
    NOTED.set(NOTED.get() + 1);
}

/// Runs work and counts its repeats. Those of other tasks that the work starts are not counted.
pub async fn count_repeats<T>(work: impl Future<Output = T>) -> (T, u64) {
    let mut work = pin!(work);
    let mut repeats = 0;
    let done = poll_fn(|context| {
        // Other work of this thread is polled before and after, never during a poll.
        let before = NOTED.get();
        let polled = work.as_mut().poll(context);
        repeats += NOTED.get() - before;
        polled
    })
    .await;
    (done, repeats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    /// Counts this many repeats, each in a separate poll.
    async fn repeating(times: u32) {
        for _ in 0..times {
            note_repeat();
            let mut is_ready = false;
            poll_fn(|_| match std::mem::replace(&mut is_ready, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
    }

    #[test]
    fn work_that_takes_turns_on_a_thread_counts_its_own_repeats() {
        let mut one = pin!(count_repeats(repeating(3)));
        let mut two = pin!(count_repeats(async { count_repeats(repeating(5)).await.1 }));
        let mut context = Context::from_waker(Waker::noop());
        let (mut ones, mut twos) = (None, None);
        while ones.is_none() || twos.is_none() {
            if ones.is_none()
                && let Poll::Ready((_, repeats)) = one.as_mut().poll(&mut context)
            {
                ones = Some(repeats);
            }
            if twos.is_none()
                && let Poll::Ready(counted) = two.as_mut().poll(&mut context)
            {
                twos = Some(counted);
            }
        }
        assert_eq!((ones, twos), (Some(3), Some((5, 5))));
    }
}
