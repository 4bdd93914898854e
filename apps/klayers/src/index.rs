//! Sources of packages and their versions.

use std::collections::BTreeMap;

use async_trait::async_trait;
use axum::body::Bytes;
use pep440_rs::Version;
use serde::{Deserialize, Deserializer};

use crate::{Error, LayerArn};

/// A version of a package, with everything it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// The package's version.
    pub version: String,
    /// The output of `pip freeze`: a line for each package.
    pub requirements: String,
    /// The package's licence, if the index knows it.
    pub licence: Option<String>,
    /// Whether it replaces a version that could not be looked up. Then it replaces no other build.
    pub is_stand_in: bool,
}

/// Knows the newest release of each package, and creates layers of it: with pip, or without a network from a
/// file with versions.
#[async_trait]
pub trait PackageIndex: Send + Sync {
    /// Called at the beginning of each run, with the first of its packages.
    async fn begin(&self, _wanted: &str, _python: &str) {}

    /// The newest release of a package that is not a pre-release, for a version of Python. The package may be named with extras.
    async fn latest(&self, wanted: &str, python: &str) -> Result<Release, Error>;

    /// The bytes of a layer with this release.
    async fn layer(&self, release: &Release, python: &str) -> Result<Bytes, Error>;
}

/// The package without its extras: `psycopg` for `psycopg[binary,pool]`.
#[must_use]
pub fn package_of(wanted: &str) -> &str {
    wanted.split('[').next().unwrap_or(wanted).trim()
}

/// An index from a file with the columns `package`, `version` and `requires`: exact versions of other
/// packages, separated by spaces. If a package has several lines, the newest version that is not a
/// pre-release counts. The original's lists have no versions, only names and licences.
#[derive(Clone, Debug, Default)]
pub struct CsvIndex {
    releases: BTreeMap<String, Option<(Version, Release)>>,
}

#[derive(Deserialize)]
pub(crate) struct Line {
    #[serde(alias = "Package_Name")]
    package: String,
    #[serde(default, deserialize_with = "given")]
    version: Option<String>,
    #[serde(default)]
    requires: String,
    #[serde(default, alias = "License")]
    license: Option<String>,
}

/// A column that exists, even if it is empty.
fn given<'de, D: Deserializer<'de>>(column: D) -> Result<Option<String>, D::Error> {
    String::deserialize(column).map(Some)
}

impl CsvIndex {
    /// The error names the faulty line.
    pub(crate) fn of(lines: Vec<Line>) -> Result<Self, String> {
        let mut index = Self::default();
        for line in lines {
            let name = line.package.as_str();
            // Two names of the same layer would replace each other in every run.
            let layer = |name: &str| LayerArn::layer_name(package_of(name), "");
            let mut others = index.releases.keys().filter(|other| *other != name);
            if let Some(other) = others.find(|other| layer(other) == layer(name)) {
                return Err(format!("{other} and {name} have the same layer; keep one"));
            }
            let newest = index.releases.entry(name.to_owned()).or_default();
            let Some(version) = &line.version else {
                continue;
            };
            let wrong =
                |_| format!("{name} has the version `{version}`, which is none of Python's (PEP 440)");
            let version: Version = version.parse().map_err(wrong)?;
            let is_newest = newest.as_ref().is_none_or(|(known, _)| *known <= version);
            if is_newest && !version.any_prerelease() {
                *newest = Some((version, release(line)));
            }
        }
        Ok(index)
    }

    /// The newest release of a package.
    pub fn latest(&self, wanted: &str) -> Result<Release, Error> {
        let newest = self.releases.get(wanted).cloned().flatten();
        Ok(newest.ok_or_else(|| Error::NoRelease(wanted.to_owned()))?.1)
    }

    /// The names of all packages, with their extras.
    #[must_use]
    pub fn packages(&self) -> Vec<String> {
        self.releases.keys().cloned().collect()
    }
}

fn release(line: Line) -> Release {
    let version = line.version.unwrap_or_default();
    let own = format!("{}=={version}", package_of(&line.package));
    let others = line.requires.split_whitespace().map(str::to_owned);
    Release {
        requirements: frozen(others.chain([own])),
        version,
        licence: line.license.filter(|licence| !licence.is_empty()),
        is_stand_in: false,
    }
}

/// Lines are sorted and unique, so that the same requirements have the same hash.
pub(crate) fn frozen(requirements: impl Iterator<Item = String>) -> String {
    let mut requirements: Vec<String> = requirements.collect();
    requirements.sort_unstable_by_key(|requirement| requirement.to_lowercase());
    requirements.dedup();
    requirements.join("\n")
}
