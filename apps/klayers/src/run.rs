//! The monthly run: every package, every version of Python, every region.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::progress::Progress;
use crate::{App, Deployed, Error};

/// Packages at work at once. Each deploys to all regions at once, and writes that wait together commit together.
const PACKAGES_AT_ONCE: usize = 8;

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// New builds.
    pub built: usize,
    /// New layers.
    pub deployed: usize,
    /// Layers that were as they should be.
    pub unchanged: usize,
    /// What went wrong, for each package. The next run tries again.
    pub failed: Vec<String>,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        self.built += other.built;
        self.deployed += other.deployed;
        self.unchanged += other.unchanged;
        self.failed.extend(other.failed);
    }
}

impl App {
    /// Brings every package of the lists to its newest release in every region. What is up to date is left alone, so that
    /// a run can be repeated at any time, also after one that was cut off.
    pub async fn run(&self) -> Result<Summary, Error> {
        let regions: Arc<[String]> = self.regions().await?.into();
        let mut units = Vec::new();
        for python in self.pythons().await? {
            let packages = self.packages(&python).await?;
            units.extend(packages.into_iter().map(|package| (package, python.clone())));
        }
        let progress = Arc::new(Progress::begin((units.len() * regions.len()) as u64));
        let mut summary = Summary::default();
        let mut tasks = JoinSet::new();
        for (package, python) in units {
            if tasks.len() >= PACKAGES_AT_ONCE {
                summary.add(next(&mut tasks).await);
            }
            let (app, regions, progress) = (self.clone(), Arc::clone(&regions), Arc::clone(&progress));
            tasks.spawn(async move {
                let done = app.run_package(&package, &python, &regions).await;
                progress.step(regions.len() as u64, format!("{package} for {python}"));
                done.unwrap_or_else(|error| failure(format!("{package} for {python}: {error}")))
            });
        }
        while !tasks.is_empty() {
            summary.add(next(&mut tasks).await);
        }
        progress.end();
        Ok(summary)
    }

    /// Builds a package and deploys it to all regions at once.
    async fn run_package(&self, package: &str, python: &str, regions: &[String]) -> Result<Summary, Error> {
        let build = Arc::new(self.build(package, python).await?);
        let missing = self.regions_to_deploy(&build, regions).await?;
        let mut summary = Summary {
            built: usize::from(build.is_new),
            unchanged: regions.len() - missing.len(),
            ..Summary::default()
        };
        let mut tasks = JoinSet::new();
        for region in missing {
            let (app, build, region) = (self.clone(), Arc::clone(&build), region.clone());
            tasks.spawn(async move {
                match app.deploy(&region, &build).await {
                    Ok(deployed) => outcome(&deployed),
                    Err(error) => failure(format!("{} in {region}: {error}", build.package)),
                }
            });
        }
        while !tasks.is_empty() {
            summary.add(next(&mut tasks).await);
        }
        Ok(summary)
    }
}

async fn next(tasks: &mut JoinSet<Summary>) -> Summary {
    match tasks.join_next().await {
        None => Summary::default(),
        Some(done) => done.unwrap_or_else(|error| failure(error.to_string())),
    }
}

fn outcome(deployed: &Deployed) -> Summary {
    let is_new = matches!(deployed, Deployed::Latest(_));
    Summary {
        deployed: usize::from(is_new),
        unchanged: usize::from(!is_new),
        ..Summary::default()
    }
}

fn failure(what: String) -> Summary {
    Summary {
        failed: vec![what],
        ..Summary::default()
    }
}
