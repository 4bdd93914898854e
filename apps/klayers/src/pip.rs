//! Real layers: pip knows the newest releases, and installs them for another machine than this one.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Bytes;
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::archive::{installed, zip};
use crate::index::{PackageIndex, Release, frozen};
use crate::python::Python;
use crate::{Error, package_of};

/// The longest that pip may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Wheels only: nothing of a package runs here.
const ARGUMENTS: &str = "install --quiet --no-input --disable-pip-version-check --no-compile --only-binary=:all: --implementation=cp";
const WITHOUT_PIP: &str =
    "--pip names the program, --index list makes layers that only name their requirements";
/// Lambda takes no longer text.
const LICENCE_CHARS_MAX: usize = 512;

/// The program pip, with the package index that it is configured for.
pub struct Pip {
    program: PathBuf,
    /// Each is a process with a resolver: more of them than cores do not help.
    at_once: Semaphore,
}

impl Pip {
    /// The program at this path, or of this name on the `PATH`.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            program: program.into(),
            at_once: Semaphore::new(cores),
        }
    }

    /// Installs into a folder, for a version of Python and its architecture; gives what pip printed.
    async fn install<'a>(
        &self,
        python: &str,
        folder: &Path,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<u8>, Error> {
        let named = |why: String| Error::Pip(format!("{}: {why}", self.program.display()));
        let target =
            Python::parse(python).ok_or_else(|| named(format!("{python} is no version of Python")))?;
        let platforms = target.platforms();
        let mut command = Command::new(&self.program);
        command.args(ARGUMENTS.split(' '));
        command.arg(format!("--python-version={}", target.version));
        command.args(platforms.iter().map(|platform| format!("--platform={platform}")));
        command.arg("--target").arg(folder).args(arguments);
        command.stdin(Stdio::null()).kill_on_drop(true);
        // The semaphore is never closed.
        let _turn = self.at_once.acquire().await;
        let ended = tokio::time::timeout(TIMEOUT, command.output()).await;
        let ended = ended.map_err(|_| named(format!("took longer than {TIMEOUT:?}")))?;
        let ended = ended.map_err(|error| named(format!("{error}; {WITHOUT_PIP}")))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        match ended.status.success() {
            true => Ok(ended.stdout),
            false => Err(named(said.trim().replace('\n', "; "))),
        }
    }
}

#[async_trait]
impl PackageIndex for Pip {
    async fn latest(&self, wanted: &str, python: &str) -> Result<Release, Error> {
        let folder = tempfile::tempdir()?;
        let report = ["--dry-run", "--ignore-installed", "--report=-", "--", wanted];
        let report = self.install(python, folder.path(), report).await?;
        let report: Value = serde_json::from_slice(&report).unwrap_or_default();
        let packages = report["install"].as_array().into_iter().flatten();
        let packages: Vec<&Value> = packages.map(|package| &package["metadata"]).collect();
        let name = |package: &Value| text(package, "name").to_lowercase().replace(['_', '.'], "-");
        let asked = package_of(wanted).to_lowercase().replace(['_', '.'], "-");
        let own = packages.iter().find(|package| name(package) == asked);
        let own = own.ok_or_else(|| Error::Pip(format!("{wanted} is not in the report of pip")))?;
        let pinned = |package: &&Value| format!("{}=={}", text(package, "name"), text(package, "version"));
        Ok(Release {
            version: text(own, "version").to_owned(),
            licence: licence(own),
            requirements: frozen(packages.iter().map(pinned)),
        })
    }

    async fn layer(&self, release: &Release, python: &str) -> Result<Bytes, Error> {
        let folder = tempfile::tempdir()?;
        let arguments = ["--no-deps", "--"]
            .into_iter()
            .chain(release.requirements.lines());
        self.install(python, folder.path(), arguments).await?;
        // Packing takes a core for seconds.
        let packed = move || installed(folder.path()).and_then(|files| zip(&files));
        let packed = tokio::task::spawn_blocking(packed).await;
        Ok(packed.map_err(io::Error::other)??)
    }
}

fn text<'p>(package: &'p Value, name: &str) -> &'p str {
    package[name].as_str().unwrap_or_default()
}

/// The expression, the name or the classifier, whichever the package has. Some have the whole text instead of a name.
fn licence(package: &Value) -> Option<String> {
    let classes = package["classifier"].as_array().into_iter().flatten();
    let classes = classes.filter_map(|class| class.as_str()?.strip_prefix("License :: "));
    let class = classes
        .filter_map(|class| class.rsplit(" :: ").next())
        .next_back();
    let named = ["license_expression", "license"].map(|name| text(package, name));
    let mut named = named
        .into_iter()
        .filter(|text| !text.is_empty() && !text.contains('\n'));
    let licence = named.next().or(class)?;
    Some(licence.chars().take(LICENCE_CHARS_MAX).collect())
}
