//! Catching up: locales that lack the newest version are built again.

use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::model::StatusPromote;
use crate::status::jobs;
use crate::{Env, Result, Service, Spec};

/// What was found to lag behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaughtUp {
    /// Packages that were looked at.
    pub packages: usize,
    /// The ids of the builds that are queued now.
    pub queued: Vec<String>,
}

impl Service {
    /// Looks at every package of an environment, and queues the builds that its newest version lacks.
    pub async fn catch_up(&self, env: Env) -> Result<CaughtUp> {
        let mut caught = CaughtUp::default();
        let mut packages = self.db.packages().stream();
        while let Some(package) = packages.try_next().await? {
            caught.packages += 1;
            let begun = self.db.status_head(&package.name, env).await?;
            let used = self.db.release(&package.name, env).await?;
            let (begun, used) = (begun.map(|head| head.version), used.map(|used| used.version));
            if let Some(newest) = begun.max(used) {
                let spec = Spec::new(package.name, env, newest);
                caught.queued.extend(self.build_lacking(&spec).await?);
            }
        }
        Ok(caught)
    }

    /// Queues the builds that a version lacks. Answers with their ids.
    async fn build_lacking(&self, spec: &Spec) -> Result<Vec<String>> {
        // What was imported may have builds and no version.
        if self.db.version(&spec.name, spec.version.clone()).await?.is_none() {
            return Ok(Vec::new());
        }
        let builds = self.builds(spec).await?;
        let mut lacking = self.locales_of(&spec.name, &spec.version).await?;
        lacking.retain(|locale| builds.iter().all(|build| build.locale != *locale));
        let (mut writes, newer) = (self.db.transaction(), StatusPromote::Newer);
        let jobs = match self.begun_of(spec).await? {
            None if !lacking.is_empty() => self.begin(&mut writes, spec, &lacking, newer).await?,
            _ => jobs(spec, &lacking),
        };
        // If another one has begun it meanwhile, its jobs are on their way.
        self.commit(writes, &jobs).await?;
        Ok(lacking.iter().map(|locale| spec.build_id(locale)).collect())
    }
}
