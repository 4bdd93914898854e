//! The response to a request: available at once, or later from the committer.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_channel::oneshot;
use trestle_api::{Error, Response, Wait};

type OperationResult = Result<Response, Error>;

/// A response that may still be pending. Wait for it on a thread, or await it in a task.
///
/// Dropping this does not cancel the request.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would cost every read an allocation"
)]
#[must_use = "a write is acknowledged only when its completion has been waited for"]
pub enum Completion {
    /// The response is available.
    Ready(OperationResult),
    /// The committer will send it.
    Waiting(oneshot::Receiver<OperationResult>),
}

impl Completion {
    /// Blocks this thread until the response is available.
    pub fn wait(self) -> OperationResult {
        match self {
            Self::Ready(answer) => answer,
            Self::Waiting(answer) => answer.wait().unwrap_or_else(|_| Err(stopped())),
        }
    }
}

impl IntoFuture for Completion {
    type Output = OperationResult;
    type IntoFuture = Awaited;

    fn into_future(self) -> Awaited {
        match self {
            Self::Ready(answer) => Awaited::Ready(Some(answer)),
            Self::Waiting(answer) => Awaited::Waiting(answer),
        }
    }
}

/// A [`Completion`] that is being awaited.
#[expect(clippy::large_enum_variant, reason = "as above")]
pub enum Awaited {
    /// The response is available, unless it was taken.
    Ready(Option<OperationResult>),
    /// The committer will send it.
    Waiting(oneshot::Receiver<OperationResult>),
}

impl Future for Awaited {
    type Output = OperationResult;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<OperationResult> {
        match self.get_mut() {
            Self::Ready(answer) => Poll::Ready(answer.take().unwrap_or_else(|| Err(stopped()))),
            Self::Waiting(answer) => Pin::new(answer)
                .poll(context)
                .map(|answer| answer.unwrap_or_else(|_| Err(stopped()))),
        }
    }
}

fn stopped() -> Error {
    Error::internal("the engine has stopped")
}
