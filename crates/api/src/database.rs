//! The one door to a database, embedded or remote.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::*;

/// An answer that may still be on its way.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'a>>;

/// The body of an answer that may still be on its way; `None` if the request must be carried out the usual way.
pub type ForwardFuture<'a> = Pin<Box<dyn Future<Output = Option<Bytes>> + Send + 'a>>;

/// Something that answers requests: an engine in this process, or an endpoint elsewhere.
///
/// Dropping the answer does not undo the request: a write that was accepted is made.
pub trait Database: Send + Sync {
    /// Carries out a request.
    fn execute(&self, request: Request) -> ResponseFuture<'_>;

    /// Sends the body of a request for items to an endpoint as it is, if nothing has to be known of it, and answers with the body of the
    /// endpoint's answer. `None`, at once or in the end: decode the request and [`execute`](Database::execute) it; only a read is
    /// sent this way, so that it can be made again.
    fn forward(&self, operation: OperationName, body: &Bytes) -> Option<ForwardFuture<'_>> {
        let _ = (operation, body);
        None
    }
}

impl<D: Database + ?Sized> Database for Arc<D> {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        (**self).execute(request)
    }

    fn forward(&self, operation: OperationName, body: &Bytes) -> Option<ForwardFuture<'_>> {
        (**self).forward(operation, body)
    }
}

impl<D: Database + ?Sized> Database for &D {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        (**self).execute(request)
    }

    fn forward(&self, operation: OperationName, body: &Bytes) -> Option<ForwardFuture<'_>> {
        (**self).forward(operation, body)
    }
}

macro_rules! define {
    ($($family:ident $operation:ident $output:ident $method:ident,)*) => {
        /// One typed method per operation, for every [`Database`].
        pub trait DatabaseExt: Database {
            /// Carries out a request and answers with its own output type.
            fn call<O: Operation>(&self, operation: O) -> impl Future<Output = Result<O::Output, Error>> + Send {
                let answer = self.execute(operation.into_request());
                async move {
                    O::from_response(answer.await?)
                        .ok_or_else(|| Error::internal(format!("the answer to {} is of another kind", O::NAME)))
                }
            }

            $(
                #[doc = concat!("Carries out a [`", stringify!($operation), "`].")]
                fn $method(
                    &self,
                    request: $operation,
                ) -> impl Future<Output = Result<$output, Error>> + Send {
                    self.call(request)
                }
            )*
        }
    };
}

for_each_operation!(define);

impl<D: Database + ?Sized> DatabaseExt for D {}
