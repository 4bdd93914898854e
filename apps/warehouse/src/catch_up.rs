//! Catching up: locales that lack the newest version are built again.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use trestle::typed::Version;

use crate::model::{StatusKey, StatusPromote};
use crate::status::jobs;
use crate::{Env, Result, Service, Spec};

/// The outdated packages that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaughtUp {
    /// The number of packages checked.
    pub packages: usize,
    /// The ids of the builds that are queued now.
    pub queued: Vec<String>,
    /// Packages whose builds could not be queued, and why.
    pub failed: BTreeMap<String, String>,
}

impl Service {
    /// Checks every package of an environment, and queues the builds that its newest version lacks.
    pub async fn catch_up(&self, env: Env) -> Result<CaughtUp> {
        let mut caught = CaughtUp::default();
        let mut packages = self.db.packages().stream();
        while let Some(package) = packages.try_next().await? {
            caught.packages += 1;
            // A package that cannot be built does not delay others.
            match self.build_newest(&package.name, env).await {
                Ok(queued) => caught.queued.extend(queued),
                Err(error) => drop(caught.failed.insert(package.name, error.told())),
            }
        }
        Ok(caught)
    }

    /// Queues the builds that the newest version lacks. Returns their ids.
    async fn build_newest(&self, name: &str, env: Env) -> Result<Vec<String>> {
        let published = self.db.published(name).gather().await?.version.into_iter();
        let versions: Vec<Version> = published.map(|row| row.version).collect();
        let key = |version: &Version| StatusKey::new(name, env, version.clone());
        let begun = self.db.get_many(versions.iter().map(key)).await?;
        let begun = begun.into_iter().flatten().map(|begun| begun.version).max();
        let used = self.db.release(name, env).await?.map(|used| used.version);
        // The highest of them, in whatever order they were published. Imported packages may have builds and
        // no version.
        let newest = begun.clone().max(used).filter(|newest| versions.contains(newest));
        let Some(spec) = newest.map(|newest| Spec::new(name, env, newest)) else {
            return Ok(Vec::new());
        };
        let builds = self.builds(&spec).await?;
        let mut lacking = self.locales_of(name, &spec.version).await?;
        lacking.retain(|locale| builds.iter().all(|build| build.locale != *locale));
        let (mut writes, newer) = (self.db.transaction(), StatusPromote::Newer);
        let jobs = match begun.filter(|begun| *begun == spec.version) {
            None if !lacking.is_empty() => self.begin(&mut writes, &spec, &lacking, newer).await?,
            _ => jobs(&spec, &lacking),
        };
        // If another call has begun it meanwhile, its jobs are already queued.
        self.commit(writes, &jobs).await?;
        Ok(lacking.iter().map(|locale| spec.build_id(locale)).collect())
    }
}
