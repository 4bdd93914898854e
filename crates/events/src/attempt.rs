//! One attempt to deliver a batch to a destination of any kind.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::target::{Door, Enlistment};
use crate::{Batch, Outcome};

/// Delivers a batch. For a door that enlists, the batch is delivered when its writes are committed.
pub(crate) async fn attempt(door: &Door, batch: &Batch) -> (Outcome, Option<Enlistment>) {
    match door {
        Door::Target(target) => {
            let outcome = unpanicked(async { target.deliver(batch).await }).await;
            (outcome.unwrap_or_else(Outcome::Refused), None)
        }
        Door::Enlist(target) => match unpanicked(async { target.enlist(batch).await }).await {
            Ok(Ok(enlisted)) => (Outcome::Done, Some(enlisted)),
            Ok(Err(outcome)) => (outcome, None),
            Err(panicked) => (Outcome::Refused(panicked), None),
        },
    }
}

/// A panic of a handler counts as a refusal of its batch; it must not end the lane.
async fn unpanicked<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(format!("the target panicked: {}", said(&*panic)))),
        },
    )
    .await
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word")
}
