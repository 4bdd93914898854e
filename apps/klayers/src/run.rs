//! The monthly run: every package, every version of Python, every region.

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use serde::Serialize;

use crate::config::ALL;
use crate::model::ConfigKind;
use crate::{App, Deployed, Error, Force};

/// Packages in progress at once. Each deploys to all regions at once, and concurrent writes commit together.
const PACKAGES_AT_ONCE: usize = 8;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// New builds.
    pub built: i64,
    /// New layers.
    pub deployed: i64,
    /// Layers that were up to date.
    pub unchanged: i64,
    /// The error of each failed package. The next run tries again.
    pub failed: Vec<String>,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Layers that have been processed.
    pub done: usize,
    /// The number of layers.
    pub of: usize,
    /// The package that was finished last.
    pub package: String,
    /// The result so far.
    #[serde(flatten)]
    pub summary: Summary,
}

impl App {
    /// Brings every package of the lists to its newest release in every region. Layers that are up to date
    /// are not changed, so that a run can be repeated at any time, also after an interrupted one. Reports
    /// every package.
    pub async fn run(&self, force: Force, mut tell: impl FnMut(&Progress)) -> Result<Summary, Error> {
        let regions = self.list(ConfigKind::Rgns, ALL).await?;
        let mut units = Vec::new();
        for python in self.list(ConfigKind::PyVrsns, ALL).await? {
            let packages = self.list(ConfigKind::Pckgs, &python).await?;
            units.extend(packages.into_iter().map(|package| (package, python.clone())));
        }
        let mut progress = Progress {
            of: units.len() * regions.len(),
            ..Progress::default()
        };
        tell(&progress);
        if let Some((package, python)) = units.first() {
            self.index.begin(package, python).await;
        }
        let regions = &regions;
        let run = |(package, python): (String, String)| async move {
            let done = self.run_package((&package, &python), regions, force).await;
            (format!("{package} for {python}"), done)
        };
        let mut runs = stream::iter(units).map(run).buffer_unordered(PACKAGES_AT_ONCE);
        while let Some((package, done)) = runs.next().await {
            match done {
                Ok(done) => progress.summary.add(done),
                Err(error) => progress.summary.failed.push(format!("{package}: {error}")),
            }
            (progress.done, progress.package) = (progress.done + regions.len(), package);
            tell(&progress);
        }
        Ok(progress.summary)
    }

    /// Builds a package and deploys it to all regions at once.
    async fn run_package(
        &self,
        (package, python): (&str, &str),
        regions: &[String],
        force: Force,
    ) -> Result<Summary, Error> {
        let mut build = self.build(package, python, force).await?;
        let missing = self.regions_to_deploy(&build, regions).await?;
        if !missing.is_empty() {
            // Once, rather than for each region.
            build.content = Some(self.content(&build).await?);
        }
        let mut summary = Summary {
            built: i64::from(build.is_new),
            unchanged: i64::try_from(regions.len() - missing.len()).unwrap_or(i64::MAX),
            ..Summary::default()
        };
        let build = &build;
        let deploy = |region: String| async move { (self.deploy(&region, build).await, region) };
        for (done, region) in join_all(missing.into_iter().map(deploy)).await {
            let place = format!("{package} for {python} in {region}");
            match done {
                Ok(Deployed::Latest(_)) => summary.deployed += 1,
                Ok(Deployed::Unchanged | Deployed::Overtaken) => summary.unchanged += 1,
                Err(error) => summary.failed.push(format!("{place}: {error}")),
            }
        }
        Ok(summary)
    }
}

impl Summary {
    fn add(&mut self, other: Self) {
        self.built += other.built;
        self.deployed += other.deployed;
        self.unchanged += other.unchanged;
        self.failed.extend(other.failed);
    }
}
