//! `POST /_trestle/…`: the calls of the administration, for authorised callers, and never for a web page of
//! another origin.

use crate::metrics::Metrics;
use crate::reply::Reply;
use crate::same_origin;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::sync::Arc;
use trestle_admin::{
    AdminAnswer, AdminCall, AdminError, AdminErrorCode, Administration, Call, HEADER, PREFIX, ReadMetrics,
};

/// The name of the call in a path; `None` if it is not a path of the administration.
pub(crate) fn call_name(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
}

/// Whether a call changes nothing, so that it need not be logged.
pub(crate) fn only_looks(name: &str) -> bool {
    name.starts_with("list-")
        || name.starts_with("read-")
        || matches!(name, "infer-model" | "try-route")
        || tells_of_models(name)
        || is_for_writers(name)
}

/// Whether a call returns what models say, which the holder of any key may read, because it is needed to read
/// rows.
pub(crate) fn tells_of_models(name: &str) -> bool {
    matches!(name, "describe-models" | "explain-access")
}

/// Whether a call is open to all who may write, and therefore waits for a turn like a write.
pub(crate) fn is_for_writers(name: &str) -> bool {
    name == "preview-write"
}

/// Whether a call is made for each page of rows, so that a log of all of them would hide the others.
pub(crate) fn is_of_rows(name: &str) -> bool {
    name == "touch-rows"
}

/// Refuses what is no call, and what a web page may have sent.
///
/// A page of another origin cannot send the header without a preflight, which is never granted here. A
/// browser sends the page's origin with every POST, so that a page that passed this check is refused, too.
/// Pages of this server may call.
pub(crate) fn admit(head: &Parts, own_origin: &str) -> Result<(), AdminError> {
    let forbidden = |message: String| AdminError::new(AdminErrorCode::Forbidden, message);
    if let Some(origin) = same_origin::foreign_origin(&head.headers, own_origin) {
        return Err(forbidden(format!(
            "web pages of {origin} may not call the administration"
        )));
    }
    if same_origin::is_cross_site(&head.headers) {
        return Err(forbidden(
            "web pages of another site may not call the administration".to_owned(),
        ));
    }
    if head.method != Method::POST {
        return Err(AdminError::invalid(format!(
            "every call is a POST, not a {}; docs/reference/administration.md lists the calls",
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

/// Answers a call of an authorised caller.
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

/// Answers with what the server itself recorded: its work of the last hour.
pub(crate) fn metrics(metrics: &Metrics, body: &[u8]) -> Reply {
    let answered = AdminCall::from_json(ReadMetrics::INFO.name, body).and_then(|call| match call {
        AdminCall::ReadMetrics(call) => {
            let history = metrics.history.read(metrics, call.after);
            AdminAnswer::ReadMetrics(history).to_json()
        }
        _ => Err(AdminError::failed("internal error: read-metrics is another call")),
    });
    match answered {
        Ok(json) => Reply::admin(StatusCode::OK, json),
        Err(error) => refusal(&error),
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

/// The answer if the program around the server has no administration.
pub(crate) fn none() -> Reply {
    refusal(&AdminError::no_administration(
        "this server has no administration",
    ))
}
