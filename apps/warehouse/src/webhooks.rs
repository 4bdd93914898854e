//! Webhooks: routes of the model bring `build_started` and `build_completed` to a queue, once each, and from there they are
//! posted to every receiver.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use serde::{Deserialize, Serialize};
use trestle::queue;

use crate::assets::client;
use crate::{Error, Result, Service};

/// The queue of webhooks.
pub const WEBHOOKS: &str = "warehouse-webhooks";

/// How long a receiver may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Who is told of builds: packages, or `*` for all of them, and URLs.
#[derive(Clone, Debug)]
pub struct Hooks(Vec<(String, String)>, Client);

/// Something to tell; with a URL, to that receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Notice {
    event: String,
    pkg: String,
    env: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

impl Hooks {
    /// Receivers given as `PACKAGE=URL`, or as `URL` for all packages.
    pub fn new<'h>(hooks: impl IntoIterator<Item = &'h str>) -> reqwest::Result<Self> {
        let receiver = |hook: &str| match hook.split_once("=http") {
            Some((package, url)) => (package.to_owned(), format!("http{url}")),
            None => ("*".to_owned(), hook.to_owned()),
        };
        let receivers = hooks.into_iter().map(receiver).collect();
        Ok(Self(receivers, client(TIMEOUT)?))
    }
}

impl Service {
    /// Posts a notice to its receiver. One without a receiver becomes one for each, so that a receiver that fails is told
    /// again alone.
    pub(crate) async fn tell(self: Arc<Self>, job: queue::Job<Notice>) -> Result<()> {
        let (mut notice, Hooks(receivers, client)) = (job.body, &self.setup.hooks);
        let Some(url) = notice.to.take() else {
            let package = self.db.package(&notice.pkg).await?;
            let repository = package.and_then(|package| package.repository);
            notice.repository = repository.and_then(|map| Some(map.get("url")?.as_s()?.to_owned()));
            let meant = |(package, _): &&(String, String)| package == "*" || *package == notice.pkg;
            let notices = receivers.iter().filter(meant).map(|(_, url)| Notice {
                to: Some(url.clone()),
                ..notice.clone()
            });
            return Ok(self.queues.send_jobs(WEBHOOKS, notices).await?);
        };
        let key = [&notice.event, &notice.pkg, &notice.env, &notice.version];
        let key = key.map(String::as_str).join(" ");
        let post = client.post(&url).header("idempotency-key", key).json(&notice);
        let answer = post.send().await.and_then(|answer| answer.error_for_status());
        let failed = |error: reqwest::Error| Error::failed(format!("{url}: {}", error.without_url()));
        answer.map(drop).map_err(failed)
    }
}
