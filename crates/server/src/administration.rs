//! `POST /_trestle/…`: the calls of the administration, for callers who may and never for a web page of another origin.

use crate::reply::Reply;
use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::sync::Arc;
use trestle_admin::{AdminCall, AdminError, AdminErrorCode, Administration, HEADER, PREFIX};

/// The name of the call that a path asks for; `None` if it is no path of the administration.
pub(crate) fn call_name(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
}

/// Whether a call changes nothing, so that the log need not tell of it.
pub(crate) fn only_looks(name: &str) -> bool {
    name.starts_with("list-") || name.starts_with("read-")
}

/// Refuses what is no call, and what a web page may have sent.
///
/// A page of another origin cannot send the header without a preflight, which is never granted here. A browser names the
/// page's origin with every POST, so that a page which got past that is refused, too; a page of this server itself may call.
pub(crate) fn admit(head: &Parts, own_origin: &str) -> Result<(), AdminError> {
    let forbidden = |message: String| AdminError::new(AdminErrorCode::Forbidden, message);
    if let Some(origin) = head.headers.get(header::ORIGIN)
        && origin.as_bytes() != own_origin.as_bytes()
    {
        return Err(forbidden(format!(
            "web pages of {} may not call the administration",
            String::from_utf8_lossy(origin.as_bytes())
        )));
    }
    if is_cross_site(&head.headers) {
        return Err(forbidden(
            "web pages of another site may not call the administration".to_owned(),
        ));
    }
    if head.method != Method::POST {
        return Err(AdminError::invalid(format!(
            "every call is a POST, not a {}; docs/administration.md lists the calls",
            head.method
        )));
    }
    if !head.headers.contains_key(HEADER) {
        return Err(forbidden(format!(
            "the header {HEADER} is missing: send `{HEADER}: 1` with every call, so that no web page can make it"
        )));
    }
    Ok(())
}

/// Browsers say where a request comes from, also where they name no origin.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    site.is_some_and(|site| site != b"same-origin" && site != b"none")
}

/// Answers a call of a caller who may.
pub(crate) async fn answer(administration: &Arc<dyn Administration>, name: &str, body: &[u8]) -> Reply {
    let call = match AdminCall::from_json(name, body) {
        Ok(call) => call,
        Err(error) => return refusal(&error),
    };
    let administration = Arc::clone(administration);
    let answered = tokio::task::spawn_blocking(move || administration.answer(call)?.to_json()).await;
    match answered {
        Ok(Ok(json)) => Reply::admin(StatusCode::OK, json),
        Ok(Err(error)) => refusal(&error),
        Err(error) => {
            tracing::error!(%error, "the call {name} failed");
            refusal(&AdminError::failed("the call failed; the server's log says why"))
        }
    }
}

/// An error in JSON.
pub(crate) fn refusal(error: &AdminError) -> Reply {
    let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match serde_json::to_vec(error) {
        Ok(json) => Reply::admin(status, json),
        Err(error) => Reply::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Answers when the program around the server has no administration.
pub(crate) fn none() -> Reply {
    refusal(&AdminError::not_found("this server has no administration"))
}
