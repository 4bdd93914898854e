//! A running server as a database: each request is a call.

use crate::admin_call::Caller;
use crate::exit::Failure;
use crate::server_flags::{ServerFlags, signing_hint};
use std::io::Read;
use std::sync::Arc;
use trestle_api::{Answer, Database, Error, Request, Response};

/// More than any page, whose items are at most 1 MB.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The database of a running server, for those who wait for many answers at once.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    server: Arc<ServerFlags>,
    /// The page that shows how to do the same over TLS.
    tls_page: &'static str,
}

impl Remote {
    pub(crate) fn new(server: ServerFlags, tls_page: &'static str) -> Self {
        Remote {
            server: Arc::new(server),
            tls_page,
        }
    }
}

impl Database for Remote {
    fn execute(&self, request: Request) -> Answer<'_> {
        let remote = self.clone();
        let call = move || {
            let caller = remote.server.caller(remote.tls_page);
            let answered =
                ask(&caller, &request).unwrap_or_else(|failure| Err(Error::internal(failure.message)));
            answered.map_err(|error| {
                let hint = signing_hint(&caller, &error.to_string());
                Error::new(error.kind(), format!("{error}{hint}"))
            })
        };
        Box::pin(async move {
            let called = tokio::task::spawn_blocking(call).await;
            called.unwrap_or_else(|_| Err(Error::internal("the call was broken off")))
        })
    }
}

/// Sends a request: the outer error is of the way there, the inner one of the database.
pub(crate) fn ask(caller: &Caller<'_>, request: &Request) -> Result<Result<Response, Error>, Failure> {
    let target = trestle_wire::target_of(request);
    let answered = caller.call_operation(&target, &trestle_wire::encode_request(request))?;
    let mut body = Vec::new();
    let read = answered.body.take(ANSWER_BYTES_MAX).read_to_end(&mut body);
    read.map_err(|error| Failure::failed(format!("the answer of {} broke off: {error}", caller.endpoint)))?;
    if answered.status != "200" {
        let status = answered.status.parse().unwrap_or_default();
        return Ok(Err(trestle_wire::decode_error(status, &body)));
    }
    Ok(trestle_wire::decode_response(request.name(), &body))
}
