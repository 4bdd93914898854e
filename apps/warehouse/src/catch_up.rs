//! Catching up: locales that lack the newest version are built again.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::model::StatusPromote;
use crate::status::jobs;
use crate::{Env, JOBS, Result, Service, Spec};

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
            let Some(spec) = self.newest(&package.name, env).await? else {
                continue;
            };
            let lacking = self.lacking(&spec).await?;
            caught
                .queued
                .extend(lacking.iter().map(|locale| spec.build_id(locale)));
            self.queue_again(&spec, &lacking).await?;
        }
        Ok(caught)
    }

    /// The highest of the version in use and the one that was begun last.
    async fn newest(&self, name: &str, env: Env) -> Result<Option<Spec>> {
        let begun = self.db.status_head(env.status_head(name)).await?;
        let release = self.db.get(env.release(name)).await?;
        let versions = [
            begun.map(|head| head.version),
            release.map(|release| release.version),
        ];
        let newest = versions.into_iter().flatten().max();
        Ok(newest.map(|version| Spec::new(name, env, version)))
    }

    /// The locales in which a version is to be built and is not.
    async fn lacking(&self, spec: &Spec) -> Result<Vec<String>> {
        if self.db.version(&spec.name, spec.version.clone()).await?.is_none() {
            return Ok(Vec::new());
        }
        let builds = self.db.builds_of_version(spec.builds()).collect().await?;
        let built: BTreeSet<String> = builds.into_iter().map(|build| build.locale).collect();
        let mut lacking = self.locales_of(&spec.name, &spec.version).await?;
        lacking.retain(|locale| !built.contains(locale));
        Ok(lacking)
    }

    async fn queue_again(&self, spec: &Spec, lacking: &[String]) -> Result<()> {
        if lacking.is_empty() {
            return Ok(());
        }
        if self.db.get(spec.status_key()).consistent().await?.is_some() {
            return Ok(self.queues.send_jobs(JOBS, jobs(spec, lacking)).await?);
        }
        let begun = self
            .begin(self.db.transaction(), spec, lacking, StatusPromote::Newer)
            .await?;
        // If another one has begun it meanwhile, its jobs are on their way.
        self.commit(begun.0, &begun.1).await.map(drop)
    }
}
