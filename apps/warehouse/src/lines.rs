//! Release lines: which versions of its dependents belong to a version of a package.
//!
//! A version that is published begins a line. What depends on it is published once more, as a prerelease of what it
//! depended on before, if its range includes the new version. A promotion of a version promotes the dependents in its line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use trestle::typed::Version;

use crate::model::{NewReleaseLineDep, PlaceInLineWhere, ReleaseLine, ReleaseLineDep, Version as VersionRow};
use crate::publish::{Edition, manifest, range_of, satisfies};
use crate::{Error, Result, Service};

/// A graph shows no more packages than that.
const GRAPH_PACKAGES_MAX: usize = 500;

impl Service {
    /// A release line and its dependents; without a version, the line that was begun last.
    pub async fn line(
        &self,
        pkg: &str,
        version: Option<Version>,
    ) -> Result<(ReleaseLine, Vec<ReleaseLineDep>)> {
        let version = match version {
            Some(version) => Some(version),
            None => self.db.line_head(pkg).await?.map(|head| head.version),
        };
        let missing = || Error::not_found(format!("release line of {pkg}"));
        let found = self.db.line(pkg, version.ok_or_else(missing)?).consistent();
        let found = found.gather().await?;
        Ok((found.release_line.ok_or_else(missing)?, found.release_line_dep))
    }

    /// What a package depends on and what depends on it, directly or not: for each package what it depends on.
    pub async fn graph(&self, name: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let mut graph = BTreeMap::new();
        let mut to_do = vec![self.package(name).await?.name];
        while let Some(name) = to_do.pop() {
            if graph.contains_key(&name) || graph.len() == GRAPH_PACKAGES_MAX {
                continue;
            }
            let parents = self.db.dependent_of(&name).await?.map(|row| row.dependent_of);
            let parents = parents.unwrap_or_default();
            let dependents = self.db.dependents(&name).await?.map(|row| row.dependents);
            to_do.extend(parents.iter().cloned().chain(dependents.unwrap_or_default()));
            graph.insert(name, parents);
        }
        Ok(graph)
    }

    /// Where a version of a dependent belongs: the newest line of the parent that its range includes.
    pub(crate) async fn place_in_line(
        &self,
        parent: &str,
        dependent: &str,
        version: &Version,
        manifest: &Map<String, Value>,
    ) -> Result<Option<ReleaseLineDep>> {
        let range = range_of(manifest, parent).unwrap_or_default();
        let lines = self.db.lines(parent).collect().await?;
        let line = lines.into_iter().find(|line| satisfies(&line.version, range));
        Ok(line.map(|line| ReleaseLineDep {
            previous_version: line.previous_version,
            ..NewReleaseLineDep {
                pkg: parent.to_owned(),
                version: line.version,
                dependent: dependent.to_owned(),
                dependent_version: version.clone(),
            }
            .into()
        }))
    }

    /// Publishes the dependents of a new version once more, unless they are the reason why it was published.
    pub(crate) async fn trigger(&self, name: &str, version: &Version, because: &[String]) -> Result<()> {
        let dependents = self.db.dependents(name).consistent().await?;
        let dependents = dependents.map(|row| row.dependents).unwrap_or_default();
        if dependents.is_empty() {
            return Ok(());
        }
        let mut because = because.to_vec();
        because.push(name.to_owned());
        for dependent in &dependents {
            if because.contains(dependent) {
                continue;
            }
            // What another publication did meanwhile is looked at again.
            while !self.publish_again(dependent, name, version, &because).await? {}
        }
        Ok(())
    }

    /// Publishes a dependent of a new version once more. Says whether that is done, or need not be.
    async fn publish_again(
        &self,
        dependent: &str,
        name: &str,
        version: &Version,
        because: &[String],
    ) -> Result<bool> {
        if self.place(name, version, dependent).await?.is_some() {
            return Ok(true);
        }
        let lines = self.db.lines(name).collect().await?;
        let Some(before) = self.version_before(dependent, version, &lines).await? else {
            return Ok(true);
        };
        let Some(row) = self.db.version(dependent, before.clone()).consistent().await? else {
            return Ok(true);
        };
        let mut manifest = manifest(&row)?;
        if !range_of(&manifest, name).is_some_and(|range| satisfies(version, range)) {
            return Ok(true);
        }
        let next = self.free_version(dependent, &before).await?;
        manifest.insert("version".to_owned(), next.to_string().into());
        let place = ReleaseLineDep {
            previous_version: lines
                .into_iter()
                .find(|line| line.version == *version)
                .and_then(|line| line.previous_version),
            ..NewReleaseLineDep {
                pkg: name.to_owned(),
                version: version.clone(),
                dependent: dependent.to_owned(),
                dependent_version: next.clone(),
            }
            .into()
        };
        let edition = Edition {
            row: VersionRow {
                version: next,
                tarball: None,
                tarball_of: row.tarball_of.or(Some(before)),
                value: Value::Object(manifest.clone()).to_string(),
                created_at: None,
                ..row
            },
            manifest,
            because: because.to_vec(),
        };
        let writes = self.db.transaction().with(self.db.put(&place).if_not_exists());
        Ok(self.release(&edition, writes).await?.is_some())
    }

    /// The version of a dependent that a new version of a package takes with it: the one in the line below, or what was
    /// published last.
    async fn version_before(
        &self,
        dependent: &str,
        version: &Version,
        lines: &[ReleaseLine],
    ) -> Result<Option<Version>> {
        for line in lines {
            if line.version >= *version {
                continue;
            }
            if let Some(place) = self.place(&line.pkg, &line.version, dependent).await? {
                return Ok(Some(place.dependent_version));
            }
        }
        let package = self.db.package(dependent).await?;
        Ok(package.map(|package| package.version))
    }

    async fn place(&self, pkg: &str, version: &Version, dependent: &str) -> Result<Option<ReleaseLineDep>> {
        let place = PlaceInLineWhere {
            pkg,
            version: version.clone(),
            dependent,
        };
        Ok(self.db.place_in_line(place).consistent().await?)
    }

    /// The next prerelease that is not published.
    async fn free_version(&self, name: &str, before: &Version) -> Result<Version> {
        let mut next = next_prerelease(before);
        while self.db.version(name, next.clone()).consistent().await?.is_some() {
            next = next_prerelease(&next);
        }
        Ok(next)
    }
}

/// `5.0.0` becomes `5.0.1-0`, `5.0.1-0` becomes `5.0.1-1`, `5.0.1-rc` becomes `5.0.1-rc.0`.
pub(crate) fn next_prerelease(version: &Version) -> Version {
    let mut next = Version::new(version.major, version.minor, version.patch);
    let before = version.pre.as_str();
    let text = match before
        .rsplit_once('.')
        .map_or(("", before), |(front, last)| (front, last))
    {
        _ if before.is_empty() => {
            next.patch += 1;
            "0".to_owned()
        }
        (front, last) => match (front, last.parse::<u64>()) {
            ("", Ok(number)) => (number + 1).to_string(),
            (front, Ok(number)) => format!("{front}.{}", number + 1),
            (_, Err(_)) => format!("{before}.0"),
        },
    };
    // Made of identifiers that a version had, and of numbers.
    next.pre = semver::Prerelease::new(&text).unwrap_or_default();
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prereleases_count_as_npm_counts_them() {
        let counted = [
            ("5.0.0", "5.0.1-0"),
            ("5.0.1-0", "5.0.1-1"),
            ("5.0.1-9", "5.0.1-10"),
            ("1.2.3-rc.4", "1.2.3-rc.5"),
            ("1.2.3-rc", "1.2.3-rc.0"),
        ];
        for (version, next) in counted {
            assert_eq!(
                next_prerelease(&Version::parse(version).unwrap()).to_string(),
                next
            );
        }
    }
}
