//! Calling a database from a thread that may block.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use trestle_api::{Database, DatabaseExt, Error, Operation};

/// Carries out one operation and waits for its answer.
pub(crate) fn call<O: Operation>(database: &dyn Database, operation: O) -> Result<O::Output, Error> {
    block_on(database.call(operation))
}

/// Waits for a future. Applying a model is a matter of seconds on one thread; a runtime would be no help.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
