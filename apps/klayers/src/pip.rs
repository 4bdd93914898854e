//! Real layers: pip finds the newest releases, and installs them for another machine.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Bytes;
use pep508_rs::Requirement;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::archive::{installed, zip};
use crate::index::{PackageIndex, Release};
use crate::needs::{Package, release};
use crate::python::Python;
use crate::{Error, Files};

/// The longest that pip may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Only wheels: no code of a package runs here.
const ARGUMENTS: &str = "install --quiet --no-input --disable-pip-version-check --no-compile --only-binary=:all: --implementation=cp";
const NO_PIP: &str = "--pip names the program, --index list makes layers that only name their requirements";
const STANDS_IN: &str = "pip cannot reach its package index, so this run takes the versions of the list: --packages, or the one that \
    comes along. Layers made now name their requirements and hold no packages; what pip has built stays as it is. `--index pip` \
    fails instead, `--index list` does not ask pip.";
/// pip's message before it tries its package index for the last time.
const LAST_TRY: &str = "Retrying (Retry(total=0,";

/// The program pip, with the package index that it is configured for. In a run that cannot reach the index, a
/// list can replace it.
pub struct Pip {
    program: String,
    list: Option<Files>,
    is_offline: AtomicBool,
    /// Each is a process with a resolver: more of them than cores do not help.
    at_once: Semaphore,
}

impl Pip {
    /// The program at this path, or of this name on the `PATH`; `{version}` in it is replaced by the version
    /// of Python, such as `3.12`. And the list that replaces an unreachable index.
    pub fn at(program: impl Into<String>, list: Option<Files>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            program: program.into(),
            list,
            is_offline: AtomicBool::new(false),
            at_once: Semaphore::new(cores),
        }
    }

    /// Installs into a folder, for a version of Python and its architecture; returns pip's output.
    async fn install(&self, python: &str, folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        let target = target(python)?;
        let program = self.program.replace("{version}", target.version);
        let named = |why: String| Error::Pip(format!("{program}: {why}"));
        let platforms = target.platforms();
        let mut command = Command::new(&program);
        command.args(ARGUMENTS.split(' '));
        command.arg(format!("--python-version={}", target.version));
        command.args(platforms.iter().map(|platform| format!("--platform={platform}")));
        command.arg("--target").arg(folder).args(arguments);
        command.stdin(Stdio::null()).kill_on_drop(true);
        // The semaphore is never closed.
        let _turn = self.at_once.acquire().await;
        let ended = tokio::time::timeout(TIMEOUT, command.output()).await;
        let ended = ended.map_err(|_| named(format!("took longer than {TIMEOUT:?}")))?;
        let ended = ended.map_err(|error| named(format!("{error}; {NO_PIP}")))?;
        if ended.status.success() {
            return Ok(ended.stdout);
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        Err(match said.lines().find(|line| line.contains(LAST_TRY)) {
            Some(why) => Error::Unreachable(why.to_owned()),
            None => named(said.trim().replace('\n', "; ")),
        })
    }

    /// The newest release that pip finds, with all requirements on this Python: pip leaves out those that its
    /// own Python does not need.
    async fn found(&self, wanted: &str, python: &str) -> Result<Release, Error> {
        let package = wanted.parse::<Requirement>();
        let package = package.map_err(|error| Error::Pip(error.to_string()))?;
        let markers = target(python)?.markers()?;
        let (folder, mut asked) = (tempfile::tempdir()?, vec![package.to_string()]);
        loop {
            let mut arguments = vec!["--dry-run", "--ignore-installed", "--report=-", "--"];
            arguments.extend(asked.iter().map(String::as_str));
            let report = self.install(python, folder.path(), &arguments).await?;
            let report: Value = serde_json::from_slice(&report).unwrap_or_default();
            let found = report["install"].as_array().into_iter().flatten();
            let found = found.map(|found| Package::deserialize(&found["metadata"]));
            let found = found.collect::<Result<Vec<_>, _>>();
            let found = found.map_err(|error| Error::Pip(format!("the report of pip: {error}")))?;
            match release(&found, &package, &markers) {
                Ok(release) => return Ok(release),
                Err(missing) if missing.iter().all(|one| asked.contains(one)) => {
                    return Err(Error::Pip(format!("pip has not found {}", missing.join(", "))));
                }
                Err(missing) => asked.extend(missing),
            }
        }
    }
}

#[async_trait]
impl PackageIndex for Pip {
    async fn begin(&self, wanted: &str, python: &str) {
        self.is_offline.store(false, Ordering::Relaxed);
        if self.list.is_none() {
            return;
        }
        if let Err(Error::Unreachable(why)) = self.latest(wanted, python).await {
            self.is_offline.store(true, Ordering::Relaxed);
            tracing::warn!("{STANDS_IN} pip said: {why}");
        }
    }

    async fn latest(&self, wanted: &str, python: &str) -> Result<Release, Error> {
        let is_offline = self.is_offline.load(Ordering::Relaxed);
        if let Some(list) = self.list.as_ref().filter(|_| is_offline) {
            let mut release = list.latest(wanted, python).await?;
            release.is_stand_in = true;
            return Ok(release);
        }
        self.found(wanted, python).await
    }

    async fn layer(&self, release: &Release, python: &str) -> Result<Bytes, Error> {
        if let Some(list) = self.list.as_ref().filter(|_| release.is_stand_in) {
            return list.layer(release, python).await;
        }
        let folder = tempfile::tempdir()?;
        let mut exactly = vec!["--no-deps", "--"];
        exactly.extend(release.requirements.lines());
        self.install(python, folder.path(), &exactly).await?;
        // Packing takes a core for seconds.
        let packed = move || installed(folder.path()).and_then(|files| zip(&files));
        let packed = tokio::task::spawn_blocking(packed).await;
        Ok(packed.map_err(io::Error::other)??)
    }
}

fn target(python: &str) -> Result<Python<'_>, Error> {
    Python::parse(python).ok_or_else(|| Error::Pip(format!("{python} is no version of Python")))
}
