//! The monthly run: every package, every version of Python, every region.

use futures_util::stream::{self, FuturesUnordered, StreamExt as _};
use indicatif::{ProgressBar, ProgressStyle};

use crate::config::ALL;
use crate::model::ConfigKind;
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

impl App {
    /// Brings every package of the lists to its newest release in every region. What is up to date is left alone, so that
    /// a run can be repeated at any time, also after one that was cut off.
    pub async fn run(&self) -> Result<Summary, Error> {
        let regions = self.list(ConfigKind::Rgns, ALL).await?;
        let mut units = Vec::new();
        for python in self.list(ConfigKind::PyVrsns, ALL).await? {
            let packages = self.list(ConfigKind::Pckgs, &python).await?;
            units.extend(packages.into_iter().map(|package| (package, python.clone())));
        }
        let bar = progress_bar(units.len() * regions.len());
        let run = async |(package, python): (String, String)| {
            let done = self.run_package(&package, &python, &regions).await;
            (format!("{package} for {python}"), done)
        };
        let mut runs = stream::iter(units).map(run).buffer_unordered(PACKAGES_AT_ONCE);
        let mut summary = Summary::default();
        while let Some((what, done)) = runs.next().await {
            match done {
                Ok(done) => summary.add(done),
                Err(error) => summary.failed.push(format!("{what}: {error}")),
            }
            step(&bar, regions.len(), what);
        }
        bar.finish_and_clear();
        Ok(summary)
    }

    /// Builds a package and deploys it to all regions at once.
    async fn run_package(&self, package: &str, python: &str, regions: &[String]) -> Result<Summary, Error> {
        let build = self.build(package, python).await?;
        let missing = self.regions_to_deploy(&build, regions).await?;
        let mut summary = Summary {
            built: usize::from(build.is_new),
            unchanged: regions.len() - missing.len(),
            ..Summary::default()
        };
        let deploys = missing
            .iter()
            .map(async |region| (region, self.deploy(region, &build).await));
        let mut deploys: FuturesUnordered<_> = deploys.collect();
        while let Some((region, done)) = deploys.next().await {
            match done {
                Ok(Deployed::Latest(_)) => summary.deployed += 1,
                Ok(Deployed::Unchanged | Deployed::Overtaken) => summary.unchanged += 1,
                Err(error) => summary
                    .failed
                    .push(format!("{package} for {python} in {region}: {error}")),
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

fn progress_bar(layers: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} layers, {elapsed}  {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(layers as u64).with_style(style)
}

/// So many more layers have been looked after. Where there is no terminal, the log says so.
fn step(bar: &ProgressBar, layers: usize, what: String) {
    bar.inc(layers as u64);
    if bar.is_hidden() {
        tracing::info!(done = bar.position(), of = bar.length(), "{what}");
    }
    bar.set_message(what);
}
