//! Notices as JSON, posted to a URL.

use std::error::Error;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::{Channel, Notice, Sending};

/// How long the receiver may take. Real time: it is another machine that takes it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Posts notices to URLs, with the attempt as idempotency key.
pub struct Webhook {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Webhook {
    /// A client for any number of receivers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    async fn post(&self, notice: &Notice) -> Result<(), String> {
        let body = serde_json::to_vec(notice).map_err(|error| error.to_string())?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(&notice.destination)
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", &notice.attempt_id)
            .body(Full::from(body))
            .map_err(|error| error.to_string())?;
        let answer = self.client.request(request).await;
        let status = answer.map_err(|error| in_full(&error))?.status();
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("the receiver answered {status}")),
        }
    }
}

/// What went wrong, and why.
fn in_full(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", in_full(cause)),
        None => error.to_string(),
    }
}

impl Default for Webhook {
    fn default() -> Self {
        Self::new()
    }
}

impl Channel for Webhook {
    fn send<'a>(&'a self, notice: &'a Notice) -> Sending<'a> {
        Box::pin(async move {
            match tokio::time::timeout(TIMEOUT, self.post(notice)).await {
                Ok(posted) => posted,
                Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
            }
        })
    }
}
