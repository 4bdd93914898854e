//! Notices as JSON, posted to a URL.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;
use reqwest::{Client, Error};

use super::{Channel, Failure, Notice, TIMEOUT};

/// Posts notices to URLs, with the attempt as idempotency key.
pub struct Webhook(Client);

impl Webhook {
    /// A client for any number of receivers, which have ten seconds to answer.
    pub fn new() -> Result<Self, Error> {
        Self::with_timeout(TIMEOUT)
    }

    /// A client with this time limit for receivers.
    pub fn with_timeout(timeout: Duration) -> Result<Self, Error> {
        client(timeout).map(Self)
    }
}

/// A client that follows no redirects, which would turn a POST into a GET.
pub(super) fn client(timeout: Duration) -> Result<Client, Error> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let redirects = Policy::custom(|to| to.error("notices do not follow redirects; name the URL itself"));
    Client::builder().timeout(timeout).redirect(redirects).build()
}

#[async_trait]
impl Channel for Webhook {
    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        let post = self.0.post(&notice.destination).json(notice);
        let answer = post.header("idempotency-key", &notice.attempt_id).send().await;
        let accepted = answer.and_then(|answer| answer.error_for_status());
        accepted.map(|_| ()).map_err(Failure::of_call)
    }
}
