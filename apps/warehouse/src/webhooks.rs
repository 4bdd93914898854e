//! Webhooks: routes of the model send `build_started` and `build_completed` to a queue, once each; a worker
//! posts them to every receiver.

use std::sync::Arc;

use trestle::app::Notice;
use trestle::queue;

use crate::{Result, Service};

/// The queue of webhooks.
pub const WEBHOOKS: &str = "warehouse-webhooks";

impl Service {
    /// Notifies the receivers of a package, with the URL of its repository.
    pub(crate) async fn tell(self: Arc<Self>, job: queue::Job<Notice>) -> Result<()> {
        let mut notice = job.body;
        let pkg = notice.text("pkg").to_owned();
        if notice.is_new() {
            let package = self.db.package(&pkg).await?;
            let repository = package.and_then(|package| package.repository);
            let url = repository.and_then(|map| Some(map.get("url")?.as_s()?.into()));
            notice.told.extend(url.map(|url| ("repository".to_owned(), url)));
        }
        let key = ["event", "pkg", "env", "version"].map(|name| notice.text(name));
        let (key, queue) = (key.join(" "), (&self.queues, WEBHOOKS));
        self.setup.hooks.deliver(queue, notice, &pkg, &key).await
    }
}
