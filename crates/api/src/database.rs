//! The one door to a database, embedded or remote.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::*;

/// An answer that may still be on its way.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'a>>;

/// Something that answers requests: an engine in this process, or an endpoint elsewhere.
///
/// Dropping the answer does not undo the request: a write that was accepted is made.
pub trait Database: Send + Sync {
    /// Carries out a request.
    fn execute(&self, request: Request) -> ResponseFuture<'_>;
}

impl<D: Database + ?Sized> Database for Arc<D> {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        (**self).execute(request)
    }
}

impl<D: Database + ?Sized> Database for &D {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        (**self).execute(request)
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
