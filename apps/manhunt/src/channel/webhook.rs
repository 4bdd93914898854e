//! Notices as JSON, posted to a URL.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;
use reqwest::{Client, Error};

use super::{Channel, Notice, TIMEOUT};

/// Posts notices to URLs, with the attempt as idempotency key.
pub struct Webhook(Client);

impl Webhook {
    /// A client for any number of receivers, which have ten seconds to answer.
    pub fn new() -> Result<Self, Error> {
        Self::with_timeout(TIMEOUT)
    }

    /// A client for receivers that have so long to answer.
    pub fn with_timeout(timeout: Duration) -> Result<Self, Error> {
        // The program says who encrypts; if somebody said so before, that holds.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // To follow a redirect would turn the post into a mere look.
        let redirects = Policy::custom(|to| to.error("notices do not follow redirects; name the URL itself"));
        let client = Client::builder().timeout(timeout).redirect(redirects);
        Ok(Self(client.build()?))
    }
}

#[async_trait]
impl Channel for Webhook {
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        let post = self.0.post(&notice.destination).json(notice);
        let answer = post.header("idempotency-key", &notice.attempt_id).send().await;
        let accepted = answer.and_then(|answer| answer.error_for_status());
        accepted
            .map(|_| ())
            .map_err(|error| in_full(&error.without_url()))
    }
}

/// What went wrong, and why.
fn in_full(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", in_full(cause)),
        None => error.to_string(),
    }
}
