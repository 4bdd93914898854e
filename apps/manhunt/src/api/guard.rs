//! Access control: with an administrator's key, every path under a domain needs a key of that domain.

use std::sync::Arc;

use axum::extract::{RawPathParams, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;

use crate::{Error, Result, Service};

/// Accepts a request whose key gives access to its domain. Paths without a domain are open.
pub(super) async fn guard(
    State(app): State<Arc<Service>>,
    params: RawPathParams,
    request: Request,
    next: Next,
) -> Result<Response> {
    if let Some((_, domain)) = params.iter().find(|(name, _)| *name == "domain") {
        // The form of the model.
        if domain.chars().count() > 256 {
            return Err(Error::invalid("a domain has 256 characters at most"));
        }
        let header = request.headers().get(AUTHORIZATION);
        let key = header.and_then(|header| header.to_str().ok()?.strip_prefix("Bearer "));
        let is_about_keys = request.uri().path().split('/').nth(3) == Some("keys");
        app.admit(domain, key, is_about_keys).await?;
    }
    Ok(next.run(request).await)
}
