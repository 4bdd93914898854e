//! What makes files for browsers of a package: esbuild, or a copy of the files that the package brings along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::process::Command;

use crate::Env;

/// The longest that a bundle may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An unpacked package, and what it is to be built for.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// Where its files are.
    pub folder: &'s Path,
    /// Its `package.json`.
    pub manifest: &'s Map<String, Value>,
    /// For which environment.
    pub env: Env,
    /// In which locale.
    pub locale: &'s str,
}

/// A file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name, with folders.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

/// Builds packages.
#[async_trait]
pub trait Bundler: Send + Sync {
    /// The files for an environment and a locale, or why there are none.
    async fn bundle(&self, source: Source<'_>) -> Result<Vec<Output>, String>;
}

impl Source<'_> {
    fn entry(&self) -> &str {
        let main = self.manifest.get("main").and_then(Value::as_str);
        main.unwrap_or("index.js")
    }
}

/// The program esbuild of npm. In the code, `process.env.LOCALE` is the locale, `process.env.NODE_ENV` the environment.
#[derive(Clone, Debug)]
pub struct Esbuild(PathBuf);

impl Esbuild {
    /// The program at this path. It runs in the folder of a package, where a path that is not absolute would mean another file.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self(std::path::absolute(&program).unwrap_or(program))
    }

    /// Where npm installs programs below this folder, or on the `PATH`.
    #[must_use]
    pub fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).map(|folder| folder.join("esbuild"));
        let mut programs = [PathBuf::from("node_modules/.bin/esbuild")]
            .into_iter()
            .chain(folders);
        programs.find(|program| program.is_file()).map(Self::at)
    }
}

#[async_trait]
impl Bundler for Esbuild {
    async fn bundle(&self, source: Source<'_>) -> Result<Vec<Output>, String> {
        let out = tempfile::tempdir().map_err(|error| error.to_string())?;
        let quoted = |text: &str| Value::from(text).to_string();
        let mut command = Command::new(&self.0);
        command.current_dir(source.folder).arg(source.entry());
        // Dependencies are packages of their own, with builds of their own.
        command.args([
            "--bundle",
            "--minify",
            "--format=esm",
            "--packages=external",
            "--log-level=warning",
        ]);
        command.arg(format!("--define:process.env.LOCALE={}", quoted(source.locale)));
        command.arg(format!(
            "--define:process.env.NODE_ENV={}",
            quoted(source.env.as_str())
        ));
        command.arg(format!("--outdir={}", out.path().display()));
        command.stdin(Stdio::null()).kill_on_drop(true);
        let ended = tokio::time::timeout(TIMEOUT, command.output()).await;
        let ended = ended.map_err(|_| format!("esbuild took longer than {TIMEOUT:?}"))?;
        let ended = ended.map_err(|error| format!("{}: {error}", self.0.display()))?;
        match ended.status.success() {
            true => files_below(out.path()),
            false => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
        }
    }
}

/// The files that a package brings along: `dist/LOCALE` if there is that folder, or `dist`, or else its entry alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

#[async_trait]
impl Bundler for Files {
    async fn bundle(&self, source: Source<'_>) -> Result<Vec<Output>, String> {
        let dist = source.folder.join("dist");
        for folder in [dist.join(source.locale), dist] {
            if folder.is_dir() {
                return files_below(&folder);
            }
        }
        let entry = source.entry();
        let content = fs::read(source.folder.join(entry)).map_err(|error| format!("{entry}: {error}"))?;
        let name = Path::new(entry).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        Ok(vec![Output { name, content }])
    }
}

/// Everything below a folder, in the order of names.
pub(crate) fn files_below(root: &Path) -> Result<Vec<Output>, String> {
    let mut files = Vec::new();
    collect(root, "", &mut files).map_err(|error| error.to_string())?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<Output>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), &format!("{name}/"), files)?,
            false => files.push(Output {
                name,
                content: fs::read(entry.path())?,
            }),
        }
    }
    Ok(())
}
