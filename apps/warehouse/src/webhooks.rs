//! Webhooks: routes of the model bring `build_started` and `build_completed` to a queue, once each, and from there they are
//! posted to every receiver.

use std::collections::BTreeMap;
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

/// What a route tells, and the package's repository; with a URL, for that receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Notice {
    to: Option<String>,
    #[serde(flatten)]
    told: BTreeMap<String, String>,
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
        let (Notice { to, mut told }, Hooks(receivers, client)) = (job.body, &self.setup.hooks);
        let text = |key: &str| told.get(key).cloned().unwrap_or_default();
        let Some(url) = to else {
            let pkg = text("pkg");
            let package = self.db.package(&pkg).await?;
            let repository = package.and_then(|package| package.repository);
            let url = repository.and_then(|map| Some(map.get("url")?.as_s()?.to_owned()));
            told.extend(url.map(|url| ("repository".to_owned(), url)));
            let meant = receivers
                .iter()
                .filter(|(package, _)| package == "*" || *package == pkg);
            let notices = meant.map(|(_, url)| Notice {
                to: Some(url.clone()),
                told: told.clone(),
            });
            return Ok(self.queues.send_jobs(WEBHOOKS, notices).await?);
        };
        let key = ["event", "pkg", "env", "version"].map(text).join(" ");
        let post = client.post(&url).header("idempotency-key", key).json(&told);
        let answer = post.send().await.and_then(|answer| answer.error_for_status());
        let failed = |error: reqwest::Error| Error::failed(format!("{url}: {}", error.without_url()));
        answer.map(drop).map_err(failed)
    }
}
