//! The interface of every database, embedded or remote.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::*;

/// A response that may still be pending.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'a>>;

/// The body of a response that may still be pending; `None` if the request must be executed the usual way.
pub type ForwardFuture<'a> = Pin<Box<dyn Future<Output = Option<Bytes>> + Send + 'a>>;

/// Executes requests: an engine in this process, or a remote endpoint.
///
/// Dropping the future does not cancel the request: an accepted write is executed.
pub trait Database: Send + Sync {
    /// Executes a request.
    fn execute(&self, request: Request) -> ResponseFuture<'_>;

    /// Forwards the body of a request for items to an endpoint unchanged, if it need not be decoded, and
    /// returns the body of the endpoint's response. On `None`, at once or as the result, decode the request
    /// and [`execute`](Database::execute) it; only reads are forwarded, so that they can be repeated.
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
            /// Executes a request and returns its own output type.
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
