//! Which packages there are, and in which versions.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Error;

/// A version of a package, with everything it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The package's version.
    pub version: String,
    /// What `pip freeze` would print: a line for each package.
    pub requirements: String,
}

/// Knows the newest release of each package. PyPI is one; a file is another.
pub trait PackageIndex: Send + Sync {
    /// The newest release of a package that is not a pre-release, for a version of Python.
    fn latest(&self, package: &str, python: &str) -> Result<Release, Error>;
}

/// An index from a file with the columns `package`, `version` and `requires`: exact versions of other packages, with
/// spaces between. Of several lines for a package, the last that is no pre-release counts.
#[derive(Clone, Debug, Default)]
pub struct CsvIndex {
    releases: BTreeMap<String, Release>,
}

#[derive(Deserialize)]
pub(crate) struct Line {
    package: String,
    version: String,
    #[serde(default)]
    requires: String,
}

impl CsvIndex {
    pub(crate) fn of(lines: Vec<Line>) -> Self {
        let lines = lines.into_iter().filter(|line| !is_prerelease(&line.version));
        Self {
            releases: lines.map(|line| (line.package.clone(), release(line))).collect(),
        }
    }

    /// The names of all packages.
    #[must_use]
    pub fn packages(&self) -> Vec<String> {
        self.releases.keys().cloned().collect()
    }
}

impl PackageIndex for CsvIndex {
    fn latest(&self, package: &str, _python: &str) -> Result<Release, Error> {
        let found = self.releases.get(package).cloned();
        found.ok_or_else(|| Error::NoRelease(package.to_owned()))
    }
}

/// Lines are sorted, so that the same requirements have the same hash.
fn release(line: Line) -> Release {
    let own = format!("{}=={}", line.package, line.version);
    let mut requirements: Vec<&str> = line.requires.split_whitespace().collect();
    requirements.push(&own);
    requirements.sort_unstable_by_key(|requirement| requirement.to_lowercase());
    Release {
        requirements: requirements.join("\n"),
        version: line.version,
    }
}

/// Python's `1.0a1`, `1.0b2`, `1.0rc1` and `1.0.dev3`; `1.0.post1` is a release.
fn is_prerelease(version: &str) -> bool {
    let without_post = version.replace("post", "");
    without_post.contains(|c: char| c.is_ascii_alphabetic())
}
