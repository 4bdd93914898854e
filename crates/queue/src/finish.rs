//! Work that goes on when its caller no longer waits for it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A piece of work that is carried to its end even if its caller goes away, as a client does that hangs up:
/// a write and what memory has to know of it must not come apart.
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
    /// Begins the work and lets it go on by itself. The embedded engine has taken what was asked of it when this
    /// returns, so that it comes before whatever is asked later.
    pub(crate) async fn begin(mut self) {
        let begun = poll_fn(|context| Poll::Ready(Pin::new(&mut self).poll(context))).await;
        // Without a runtime no other task would carry it on.
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
            // Awaited again after its end, which no `await` does.
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
