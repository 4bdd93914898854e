//! Release lines: which versions of its dependents belong to a version of a package.
//!
//! A published version begins a line. Its dependents are published again as prereleases, if their range
//! includes the new version. A promotion of a version promotes the dependents in its line.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;
use serde_json::Value;
use trestle::app::OrNotFound as _;
use trestle::typed::{Version, next_prerelease};

use crate::jobs::unless_hopeless;
use crate::model::{NewReleaseLineDep, PlacesWhere, ReleaseLine, ReleaseLineDep, Version as VersionRow};
use crate::publish::manifest;
use crate::{Manifest, Result, Service};

/// The most packages in a graph. The page has the same limit.
const GRAPH_PACKAGES_MAX: usize = 500;

/// A release line, and which version of each dependent is released with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "their types say it")]
pub struct Line {
    #[serde(flatten)]
    pub line: ReleaseLine,
    pub dependents: BTreeMap<String, Version>,
}

impl Service {
    /// A release line; without a version, the one that was begun last.
    pub async fn line(&self, pkg: &str, version: Option<Version>) -> Result<Line> {
        let version = match version {
            None => self.db.line_head(pkg).await?.map(|head| head.version),
            given => given,
        };
        let missing = format!("release line of {pkg}");
        let found = self.db.line(pkg, version.or_not_found(&missing)?);
        let found = found.gather().await?;
        let version_of = |dep: ReleaseLineDep| (dep.dependent, dep.dependent_version);
        let dependents = found.release_line_dep.into_iter().map(version_of).collect();
        let line = found.release_line.or_not_found(&missing)?;
        Ok(Line { line, dependents })
    }

    /// All direct and indirect dependencies and dependents of a package: each package with its dependencies.
    /// If there are too many, the nearest are shown.
    pub async fn graph(&self, name: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let mut graph = BTreeMap::new();
        let mut to_do = VecDeque::from([self.package(name).await?.name]);
        while let Some(name) = to_do.pop_front() {
            if graph.contains_key(&name) || graph.len() == GRAPH_PACKAGES_MAX {
                continue;
            }
            let parents = self.db.dependent_of(&name).await?;
            let parents = parents.map(|row| row.dependent_of).unwrap_or_default();
            to_do.extend(parents.iter().cloned().chain(self.dependents(&name).await?));
            graph.insert(name, parents);
        }
        Ok(graph)
    }

    async fn dependents(&self, name: &str) -> Result<BTreeSet<String>> {
        let row = self.db.dependents(name).await?;
        Ok(row.map(|row| row.dependents).unwrap_or_default())
    }

    /// Publishes the dependents of a new version again, unless they are the reason why it was published.
    pub(crate) async fn trigger(&self, name: &str, version: &Version, because: &[String]) -> Result<()> {
        let because: Vec<String> = because.iter().cloned().chain([name.to_owned()]).collect();
        let Line { line, .. } = self.line(name, Some(version.clone())).await?;
        let dependents = self.dependents(name).await?;
        let mut done = Ok(());
        for dependent in dependents.iter().filter(|one| !because.contains(one)) {
            let publish = async {
                // Changes by another publication meanwhile are read again.
                while !self.publish_again(dependent, &line, &because).await? {}
                Ok(())
            };
            // A dependent that cannot be published does not delay others.
            done = done.and(unless_hopeless(dependent, publish.await));
        }
        done
    }

    /// Publishes a dependent again, for a line. Returns whether that is done, or not necessary.
    async fn publish_again(&self, dependent: &str, line: &ReleaseLine, because: &[String]) -> Result<bool> {
        let pkg = &line.pkg;
        let places = self.db.places(PlacesWhere { pkg, dependent });
        let places = places.collect().await?;
        // The version in the highest line below, or the last published one.
        let below = places.iter().find(|place| place.version < line.version);
        let before = match below {
            Some(place) => place.dependent_version.clone(),
            None => self.package(dependent).await?.version,
        };
        // Imported packages may depend on this package without being published here.
        let row = self.published(dependent, &before).await?;
        let mut manifest = manifest(&row)?;
        let is_done = places.iter().any(|place| place.version == line.version);
        if is_done || !wants(&manifest, line) {
            return Ok(true);
        }
        let next = self.free_version(dependent, &row.version).await?;
        manifest.insert("version".to_owned(), next.to_string().into());
        let place = self.db.put(&place_in(line, dependent, &next));
        let again = VersionRow {
            version: next,
            tarball: None,
            tarball_of: row.tarball_of.or(Some(row.version)),
            value: Value::Object(manifest).to_string(),
            created_at: None,
            ..row
        };
        let writes = self.db.transaction().with(self.db.put(&again).if_not_exists());
        let writes = writes.with(place.if_not_exists());
        Ok(self.release(writes, &again, because).await?.is_some())
    }

    /// The next prerelease that is not published.
    async fn free_version(&self, name: &str, before: &Version) -> Result<Version> {
        let mut next = next_prerelease(before);
        while self.db.version(name, next.clone()).await?.is_some() {
            next = next_prerelease(&next);
        }
        Ok(next)
    }
}

pub(crate) fn place_in(line: &ReleaseLine, dependent: &str, version: &Version) -> ReleaseLineDep {
    let new = NewReleaseLineDep {
        pkg: line.pkg.clone(),
        version: line.version.clone(),
        dependent: dependent.to_owned(),
        dependent_version: version.clone(),
    };
    let mut place = ReleaseLineDep::from(new);
    place.previous_version.clone_from(&line.previous_version);
    place
}

/// Whether the range that a manifest asks for, of npm, includes the version of a line. A prerelease counts as
/// the release that it leads to, because packages that are published again have such versions.
pub(crate) fn wants(manifest: &Manifest, line: &ReleaseLine) -> bool {
    let named = manifest.get("dependencies").map(|named| &named[&line.pkg]);
    let named = named.and_then(Value::as_str);
    let range = if named == Some("latest") { Some("*") } else { named };
    let Some(Ok(range)) = range.map(nodejs_semver::Range::parse) else {
        return false;
    };
    let version = &line.version;
    let whole = nodejs_semver::Version::parse(version.to_string());
    let release = nodejs_semver::Version::from((version.major, version.minor, version.patch));
    whole.is_ok_and(|whole| range.satisfies(&whole)) || range.satisfies(&release)
}
