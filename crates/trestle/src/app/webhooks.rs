//! Notifying other servers: documents in a queue are posted to every subscribed URL.

use std::io;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trestle_queue::Queues;

use super::public_files::client;
use super::{Error, Result};

/// The time limit for a receiver's answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The receivers: URLs, each for one subject or for all.
///
/// A route of the model sends documents to a queue. A worker of that queue calls [`deliver`](Self::deliver)
/// with each, after it has added data that the route does not have.
#[derive(Clone, Debug)]
pub struct Webhooks {
    receivers: Vec<(Option<String>, String)>,
    client: Client,
}

/// A document to be delivered: to all receivers, or to one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The receiver.
    #[serde(rename = "webhook-url", default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// What is posted.
    #[serde(flatten)]
    pub told: Map<String, Value>,
}

impl Notice {
    /// Whether it was not distributed to receivers yet, so that data can still be added.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.to.is_none()
    }

    /// A text of the document; empty if it has none of this name.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        let text = self.told.get(name).and_then(Value::as_str);
        text.unwrap_or_default()
    }
}

impl Webhooks {
    /// Receivers given as `SUBJECT=URL`, or as `URL` for all subjects.
    pub fn new<'r>(receivers: impl IntoIterator<Item = &'r str>) -> io::Result<Self> {
        let receiver = |given: &str| match given.split_once("=http") {
            Some((subject, url)) => (Some(subject.to_owned()), format!("http{url}")),
            None => (None, given.to_owned()),
        };
        Ok(Self {
            receivers: receivers.into_iter().map(receiver).collect(),
            client: client(TIMEOUT)?,
        })
    }

    /// Posts a notice to its receiver, with a header `idempotency-key`: a repetition after a crash has the
    /// same key. A new notice is sent to the queue once for each receiver of its subject, so that only failed
    /// receivers are retried.
    pub async fn deliver(
        &self,
        (queues, queue): (&Queues, &str),
        notice: Notice,
        subject: &str,
        key: &str,
    ) -> Result<()> {
        let Some(url) = &notice.to else {
            let wants = |receiver: &&(Option<String>, String)| {
                receiver.0.as_ref().is_none_or(|wanted| wanted == subject)
            };
            let notices = self.receivers.iter().filter(wants).map(|(_, url)| Notice {
                to: Some(url.clone()),
                told: notice.told.clone(),
            });
            return Ok(queues.send_jobs(queue, notices).await?);
        };
        let post = self.client.post(url).header("idempotency-key", key);
        let post = post.header(CONTENT_TYPE, "application/json");
        let post = post.body(serde_json::to_string(&notice.told)?);
        let answer = post.send().await.and_then(|answer| answer.error_for_status());
        let failed = |error: reqwest::Error| Error::failed(format!("{url}: {}", error.without_url()));
        answer.map(drop).map_err(failed)
    }
}
