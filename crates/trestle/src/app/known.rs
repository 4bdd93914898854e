//! Answers that a client may already have.

use std::fmt::Write as _;

use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::Result;

/// The SHA-256 of some bytes, in hexadecimal digits: the same for the same bytes, and for no others.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // A String accepts any text.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Answers 200 with the value as JSON and an `ETag`; or 304, if `If-None-Match` of the request shows that the
/// client has the same.
pub fn shown_unless_known(request: &HeaderMap, what: impl Serialize) -> Result<Response> {
    let text = serde_json::to_string(&what)?;
    let tag = format!("\"{}\"", fingerprint(text.as_bytes()));
    let mut known = request.get_all(IF_NONE_MATCH).iter();
    if known.any(|known| known == tag.as_str()) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
    }
    let kind = (CONTENT_TYPE, "application/json".to_owned());
    Ok(([kind, (ETAG, tag)], text).into_response())
}
