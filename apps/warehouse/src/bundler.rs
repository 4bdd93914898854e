//! Creates files for browsers from a package: with esbuild, or by copying files of the package.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use async_trait::async_trait;
use serde_json::Value;
use tokio::process::Command;
use walkdir::WalkDir;

use crate::{Env, Manifest};

/// The longest that a bundle may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An unpacked package, and the target of its build.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// Where its files are.
    pub folder: &'s Path,
    /// Its `package.json`.
    pub manifest: &'s Manifest,
    /// For which environment.
    pub env: Env,
    /// In which locale.
    pub locale: &'s str,
}

/// A file of a package, or of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, with folders.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// Builds packages.
#[async_trait]
pub trait Bundler: Send + Sync {
    /// Its name, for the rows of builds.
    fn name(&self) -> &'static str;

    /// The files for an environment and a locale, or why there are none.
    async fn bundle(&self, source: Source<'_>) -> Result<Vec<File>, String>;
}

/// The given program esbuild, or the one that is found; without one, packages' own files are copied. The log
/// names the choice.
#[must_use]
pub fn bundler(named: Option<PathBuf>) -> Arc<dyn Bundler> {
    let Some(program) = named.or_else(installed) else {
        let way_out = "to bundle them, run `npm install esbuild` here or name the program with --esbuild";
        tracing::info!("there is no esbuild, so files of packages are taken as they are; {way_out}");
        return Arc::new(Files);
    };
    let path = program.display();
    tracing::info!("packages are bundled by {path}; --esbuild names another program");
    // It runs in the folder of a package, where a relative path would mean another file.
    Arc::new(Esbuild(std::path::absolute(&program).unwrap_or(program)))
}

/// esbuild where npm installs programs below this folder, or on the `PATH`.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let npm = PathBuf::from("node_modules/.bin");
    let folders = std::iter::once(npm).chain(std::env::split_paths(&path));
    let mut programs = folders.map(|folder| folder.join("esbuild"));
    programs.find(|program| program.is_file())
}

impl Source<'_> {
    fn entry(&self) -> &str {
        let main = self.manifest.get("main").and_then(Value::as_str);
        main.unwrap_or("index.js")
    }
}

/// The program esbuild of npm. In the code, `process.env.LOCALE` is the locale, `process.env.NODE_ENV` the environment.
struct Esbuild(PathBuf);

#[async_trait]
impl Bundler for Esbuild {
    fn name(&self) -> &'static str {
        "esbuild"
    }

    async fn bundle(&self, source: Source<'_>) -> Result<Vec<File>, String> {
        let said = |error: io::Error| format!("{}: {error}", self.0.display());
        let out = tempfile::tempdir().map_err(said)?;
        let define = |name: &str, text: &str| format!("--define:process.env.{name}={}", Value::from(text));
        let mut command = Command::new(&self.0);
        command.current_dir(source.folder).arg(source.entry());
        command.args(["--bundle", "--minify", "--format=esm", "--log-level=warning"]);
        // Dependencies are separate packages with their own builds.
        command.arg("--packages=external");
        command.arg(define("LOCALE", source.locale));
        command.arg(define("NODE_ENV", source.env.as_str()));
        command.arg(format!("--outdir={}", out.path().display()));
        command.stdin(Stdio::null()).kill_on_drop(true);
        let ended = tokio::time::timeout(TIMEOUT, command.output()).await;
        let ended = ended.map_err(|_| format!("esbuild took longer than {TIMEOUT:?}"))?;
        let ended = ended.map_err(said)?;
        match ended.status.success() {
            true => files_below(out.path()).map_err(said),
            false => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
        }
    }
}

/// The package's own files: `dist/LOCALE` if there is that folder, or `dist`, otherwise only its entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

#[async_trait]
impl Bundler for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    async fn bundle(&self, source: Source<'_>) -> Result<Vec<File>, String> {
        let (dist, entry) = (source.folder.join("dist"), source.entry());
        let mut folders = [dist.join(source.locale), dist].into_iter();
        if let Some(folder) = folders.find(|folder| folder.is_dir()) {
            return files_below(&folder).map_err(|error| error.to_string());
        }
        let content = fs::read(source.folder.join(entry)).map_err(|error| format!("{entry}: {error}"))?;
        let name = Path::new(entry).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        Ok(vec![File { name, content }])
    }
}

/// Everything below a folder, in the order of names.
pub(crate) fn files_below(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(root).map_err(io::Error::other)?;
            let name = name.to_string_lossy().into_owned();
            let content = fs::read(entry.path())?;
            files.push(File { name, content });
        }
    }
    Ok(files)
}
