//! Waiting on a thread, for programs without a runtime.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Blocks this thread until the response arrives: `database.put_item(put).wait()?`.
///
/// For everything that can be awaited. In an asynchronous program use `.await`: a task that blocks its thread
/// may block the one that would send the response.
pub trait Wait: IntoFuture {
    /// Waits for the answer.
    fn wait(self) -> Self::Output;
}

impl<F: IntoFuture> Wait for F {
    fn wait(self) -> F::Output {
        let mut future = pin!(self.into_future());
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(answer) => return answer,
                // A wake-up in between makes this return at once; a spurious one only polls again.
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn an_answer_that_comes_from_another_thread_is_waited_for() {
        let mut asked = false;
        let answer = poll_fn(|context| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(7);
            }
            let waker = context.waker().clone();
            std::thread::spawn(move || waker.wake());
            Poll::Pending
        });
        assert_eq!(answer.wait(), 7);
    }
}
