//! Webhooks: routes of the model bring `build_started` and `build_completed` to a queue, once each, and from there they are
//! posted to every receiver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use serde::{Deserialize, Serialize};
use trestle::queue;

use crate::{Error, Result, Service};

/// The queue of webhooks.
pub const WEBHOOKS: &str = "warehouse-webhooks";

/// How long a receiver may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Who is told of builds: URLs for each package, and for all of them under `*`.
#[derive(Clone, Debug, Default)]
pub struct Hooks(BTreeMap<String, Vec<String>>, Client);

/// Something to tell; with a URL, to that receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Notice {
    event: String,
    pkg: String,
    env: String,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

impl Hooks {
    /// Receivers given as `PACKAGE=URL`, or as `URL` for all packages.
    pub fn new<'h>(hooks: impl IntoIterator<Item = &'h str>) -> std::result::Result<Self, reqwest::Error> {
        // That there is one already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut receivers = BTreeMap::<String, Vec<String>>::new();
        for hook in hooks {
            let (package, url) = match hook.split_once("=http") {
                Some((package, url)) => (package, format!("http{url}")),
                None => ("*", hook.to_owned()),
            };
            receivers.entry(package.to_owned()).or_default().push(url);
        }
        Ok(Self(receivers, Client::builder().timeout(TIMEOUT).build()?))
    }

    fn of(&self, package: &str) -> impl Iterator<Item = &String> {
        let named = [package, "*"].into_iter();
        named.filter_map(|name| self.0.get(name)).flatten()
    }
}

impl Service {
    /// Posts a notice to its receiver. One without a receiver becomes one for each, so that a receiver that fails is told
    /// again alone.
    pub(crate) async fn tell(self: Arc<Self>, job: queue::Job<Notice>) -> Result<()> {
        let mut notice = job.body;
        let Some(url) = notice.to.take() else {
            let package = self.db.package(&notice.pkg).await?;
            let repository = package.and_then(|package| package.repository);
            notice.repository = repository.and_then(|map| Some(map.get("url")?.as_s()?.to_owned()));
            let to = |url: &String| Notice {
                to: Some(url.clone()),
                ..notice.clone()
            };
            let receivers: Vec<Notice> = self.setup.hooks.of(&notice.pkg).map(to).collect();
            return Ok(self.queues.send_jobs(WEBHOOKS, receivers).await?);
        };
        let key = format!(
            "{} {} {} {}",
            notice.event, notice.pkg, notice.env, notice.version
        );
        let post = self
            .setup
            .hooks
            .1
            .post(&url)
            .header("idempotency-key", key)
            .json(&notice);
        let answer = post.send().await.and_then(|answer| answer.error_for_status());
        let failed = |error: reqwest::Error| Error::failed(format!("{url}: {}", error.without_url()));
        answer.map(drop).map_err(failed)
    }
}
