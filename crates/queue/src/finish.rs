//! Work that continues when its caller no longer waits for it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A piece of work that is finished even if its caller is dropped, as when a client disconnects: a write and
/// the matching change in memory must both happen.
pub(crate) struct Finish<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

/// See [`Finish`].
pub(crate) fn finish<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Finish<T> {
    Finish {
        work: Some(Box::pin(work)),
    }
}

impl<T: Send + 'static> Finish<T> {
    /// Starts the work in the background. When this returns, the embedded engine has accepted its requests,
    /// so that they precede later ones.
    pub(crate) async fn begin(mut self) {
        let begun = poll_fn(|context| Poll::Ready(Pin::new(&mut self).poll(context))).await;
        // Without a runtime no other task would continue it.
        if begun.is_pending() && Handle::try_current().is_err() {
            self.await;
        }
    }
}

/// Does work that no caller waits for.
pub(crate) async fn in_background(work: impl Future<Output = ()> + Send + 'static) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn(work)),
        Err(_) => work.await,
    }
}

impl<T: Send + 'static> Future for Finish<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else {
            // Polled again after its end, which `await` never does.
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                work.await;
            });
        }
    }
}
