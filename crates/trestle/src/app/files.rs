//! Files of an application: stored, read, and served over HTTP.

use std::io;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _};

use super::{Objects, OrNotFound as _, Result};

impl Objects {
    /// Stores a file. When this returns, it is durable.
    pub async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        let path = Path::parse(path).map_err(io::Error::other)?;
        self.store.put(&path, content.into()).await?;
        Ok(())
    }

    /// Answers a request for a file: 200 with its bytes as they are read, or 404. The type follows from the
    /// end of its name.
    pub async fn served(&self, path: &str) -> Result<Response> {
        let missing = format!("file {path}");
        // An invalid path, or one that leads out of the directory, names no file.
        let named = Path::parse(path).ok();
        let named = named.filter(|path| !path.as_ref().is_empty());
        let found = match self.store.get(&named.or_not_found(&missing)?).await {
            Err(Error::NotFound { .. }) => None,
            found => Some(found.map_err(io::Error::from)?),
        };
        let found = found.or_not_found(&missing)?;
        let headers = [
            (CONTENT_TYPE, content_type(path).to_owned()),
            (CONTENT_LENGTH, found.meta.size.to_string()),
        ];
        Ok((headers, Body::from_stream(found.into_stream())).into_response())
    }
}

/// The type of a file by its name, as far as browsers need it.
fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("js" | "mjs") => "text/javascript",
        Some("css") => "text/css",
        Some("json" | "map") => "application/json",
        Some("html") => "text/html",
        Some("svg") => "image/svg+xml",
        Some("gz" | "tgz") => "application/gzip",
        _ => "application/octet-stream",
    }
}
