//! Routes with a page and a description, and answers in JSON.

use axum::body::to_bytes;
use axum::http::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Result;

/// The most that is quoted of a refused request.
const REASON_BYTES_MAX: usize = 64 << 10;
/// What a page may do besides running its own scripts: load nothing from elsewhere, and call only this
/// server.
const POLICY: &str = "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src";

/// Adds a page at `/` and its OpenAPI description at `/openapi.json`. Refusals by axum itself are answered as
/// `{"error": "…"}`, like every [`Error`](super::Error); a body that does not fit is a 400.
///
/// The page is one file. Browsers run only the scripts in it (`Content-Security-Policy` has their hashes), so
/// that injected markup cannot run scripts.
pub fn site<S>(routes: Router<S>, page: &'static str, openapi: &'static str) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let mut headers = HeaderMap::from_iter([(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))]);
    // A hash contains only characters that are allowed in headers.
    headers.extend(HeaderValue::try_from(policy(page)).map(|policy| (CONTENT_SECURITY_POLICY, policy)));
    routes
        .route("/", get((headers, Html(page))))
        .route("/openapi.json", get((IS_JSON, openapi)))
        .layer(map_response(finished))
}

const IS_JSON: [(HeaderName, &str); 1] = [(CONTENT_TYPE, "application/json")];

/// Answers 200 with the value, as JSON.
pub fn shown(what: impl Serialize) -> Result<Response> {
    Ok(Json(what).into_response())
}

/// Answers 201 with the new value, as JSON.
pub fn created(what: impl Serialize) -> Result<Response> {
    Ok((StatusCode::CREATED, Json(what)).into_response())
}

/// What a page may do: its scripts are identified by their hashes.
fn policy(page: &str) -> String {
    let scripts = page.split("<script>").skip(1);
    let scripts = scripts.filter_map(|rest| rest.split_once("</script>"));
    let hashes = scripts.map(|(script, _)| STANDARD.encode(Sha256::digest(script)));
    let hashes: String = hashes.map(|hash| format!(" 'sha256-{hash}'")).collect();
    match hashes.as_str() {
        "" => format!("{POLICY} 'none'"),
        hashes => format!("{POLICY}{hashes}"),
    }
}

async fn finished(response: Response) -> Response {
    let mut response = in_json(response).await;
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Refusals by axum itself, in the form of every other error.
async fn in_json(response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || kind.is_some_and(|kind| kind == "application/json") {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    if parts.status == StatusCode::UNPROCESSABLE_ENTITY {
        parts.status = StatusCode::BAD_REQUEST;
    }
    let said = to_bytes(body, REASON_BYTES_MAX).await.unwrap_or_default();
    let error = match String::from_utf8_lossy(&said) {
        said if said.is_empty() => format!("{}: /openapi.json says what there is", parts.status),
        said => said.into_owned(),
    };
    let allow = parts.headers.remove(ALLOW).map(|methods| [(ALLOW, methods)]);
    (parts.status, allow, Json(json!({ "error": error }))).into_response()
}
