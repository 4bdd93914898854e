//! Publishing: a version, and everything that follows from it, in one commit.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use trestle::typed::{Held as _, Transaction, Version};
use trestle::{AttributeValue, from_plain_json};

use crate::model::{
    DependentOf, NewDependentOf, NewPackage, NewReleaseLine, NewReleaseLineHead, NewVersion, Package,
    PackageKey, ReleaseLine, ReleaseLineHead, StatusPromote, Version as VersionRow, WarehouseModel,
};
use crate::publication::{common_locales, is_built, is_private, is_promoted, locales};
use crate::{Env, Error, Job, Publication, Result, Service, Spec};

/// How often a publication begins again because another one changed the same package.
const TRIES_MAX: usize = 20;
/// A publication is one transaction of at most 100 rows: its own, and one for each of these.
const LOCALES_AND_PARENTS_MAX: usize = 80;

/// What became of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is a version now.
    Created,
    /// It was there with the same content, and nothing was written.
    Unchanged,
}

/// A version to be stored, by a person or because a dependency has a new version.
pub(crate) struct Edition {
    pub(crate) row: VersionRow,
    pub(crate) manifest: Map<String, Value>,
    pub(crate) because: Vec<String>,
}

impl Service {
    /// Stores a version, and has it built in dev. The same version with other content is refused.
    pub async fn publish(&self, publication: &Publication) -> Result<Outcome> {
        let Publication { name, version, .. } = publication;
        let digest = publication.digest();
        let mut tarball = None;
        for _ in 0..TRIES_MAX {
            if let Some(there) = self.db.version(name, version.clone()).consistent().await? {
                return match there.digest.as_ref() == Some(&digest) {
                    true => Ok(Outcome::Unchanged),
                    false => Err(Error::Conflict(format!(
                        "{name}@{version} is published with other content; publish another version"
                    ))),
                };
            }
            let tarball = match &tarball {
                Some(stored) => stored,
                None => tarball.insert(self.db.write_large(publication.tarball()?).await?),
            };
            let edition = Edition {
                row: VersionRow {
                    tarball: Some(tarball.clone()),
                    digest: Some(digest.clone()),
                    ..row_of(publication)
                },
                manifest: publication.manifest.clone(),
                because: Vec::new(),
            };
            let writes = self.package_writes(self.db.transaction(), publication).await?;
            if self.release(&edition, writes).await?.is_some() {
                return Ok(Outcome::Created);
            }
        }
        Err(busy(name))
    }

    /// Stores a version that was built elsewhere, unless it is there.
    pub(crate) async fn record_version(&self, publication: &Publication) -> Result<()> {
        let (name, version) = (&publication.name, &publication.version);
        for _ in 0..TRIES_MAX {
            if self
                .db
                .version(name, version.clone())
                .consistent()
                .await?
                .is_some()
            {
                return Ok(());
            }
            let writes = self.package_writes(self.db.transaction(), publication).await?;
            let writes = writes.with(self.db.put(&row_of(publication)).if_not_exists());
            if writes.commit().await.held()?.is_some() {
                return Ok(());
            }
        }
        Err(busy(name))
    }

    /// Writes a version with its status, its release line and its place in those of its parents, and sends its jobs. `None`
    /// if another write came first.
    pub(crate) async fn release(
        &self,
        edition: &Edition,
        writes: Transaction<'_, WarehouseModel>,
    ) -> Result<Option<()>> {
        let (row, manifest) = (&edition.row, &edition.manifest);
        let (name, version) = (&row.name, &row.version);
        let parents = self.managed(manifest).await?;
        let built_in = built_in(manifest, &parents);
        if built_in.len() + parents.len() > LOCALES_AND_PARENTS_MAX {
            let most = format!("at most {LOCALES_AND_PARENTS_MAX} locales and managed dependencies together");
            return Err(Error::invalid(format!("{name}@{version}: {most}")));
        }
        let mut writes = writes.with(self.db.put(row).if_not_exists());
        let names: Vec<&str> = parents.iter().map(|parent| parent.name.as_str()).collect();
        writes = self.depend(writes, name, &names).await?;
        for parent in &names {
            // The line because of which a dependent is published once more has its place already.
            if edition.because.last().is_some_and(|last| last == parent) {
                continue;
            }
            if let Some(dep) = self.place_in_line(parent, name, version, manifest).await? {
                writes.add(self.db.put(&dep));
            }
        }
        let previous: Option<ReleaseLineHead> = self.db.line_head(name).consistent().await?;
        let mut line = ReleaseLine::from(NewReleaseLine {
            pkg: name.clone(),
            version: version.clone(),
        });
        line.previous_version = previous.map(|line| line.version);
        let head = ReleaseLineHead {
            previous_version: line.previous_version.clone(),
            ..NewReleaseLineHead {
                pkg: name.clone(),
                version: version.clone(),
            }
            .into()
        };
        let writes = writes
            .with(self.db.put(&line).if_not_exists())
            .with(self.db.put(&head));
        let promote = match is_promoted(manifest) {
            true => StatusPromote::Newer,
            false => StatusPromote::No,
        };
        let spec = Spec::new(name.clone(), Env::Dev, version.clone());
        let (writes, mut jobs) = self.begin(writes, &spec, &built_in, promote).await?;
        jobs.push(Job::Trigger {
            name: name.clone(),
            version: version.clone(),
            because: edition.because.clone(),
        });
        self.commit(writes, &jobs).await
    }

    /// The locales in which a published version is to be built.
    pub(crate) async fn locales_of(&self, name: &str, version: &Version) -> Result<Vec<String>> {
        let published = self.db.version(name, version.clone()).await?;
        let published = published.ok_or_else(|| Error::not_found(format!("{name}@{version}")))?;
        let manifest = manifest(&published)?;
        Ok(built_in(&manifest, &self.managed(&manifest).await?))
    }

    /// The package as this publication describes it, with the tags that it gives and those that it has.
    async fn package_writes<'d>(
        &'d self,
        writes: Transaction<'d, WarehouseModel>,
        publication: &Publication,
    ) -> Result<Transaction<'d, WarehouseModel>> {
        let there = self.db.package(&publication.name).consistent().await?;
        let mut package = described(publication);
        let Some(there) = there else {
            return Ok(writes.with(self.db.put(&package).if_not_exists()));
        };
        let mut tags = there.dist_tags.clone().unwrap_or_default();
        for (tag, version) in package.dist_tags.take().unwrap_or_default() {
            tags.insert(tag, version);
        }
        package.dist_tags = Some(tags);
        package.envs = there.envs.clone();
        package.metadata = there.metadata.clone();
        let unchanged = match there.dist_tags {
            Some(tags) => Package::DIST_TAGS.equals(tags),
            None => Package::DIST_TAGS.is_absent(),
        };
        Ok(writes.with(self.db.put(&package).only_if(unchanged)))
    }

    /// Of the dependencies of a manifest, the packages that are published here.
    async fn managed(&self, manifest: &Map<String, Value>) -> Result<Vec<Package>> {
        let named = manifest.get("dependencies").and_then(Value::as_object);
        let keys = named.into_iter().flat_map(Map::keys).map(PackageKey::new);
        let found = self.db.get_many(keys.collect::<Vec<_>>()).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Adds the parents of a package to those that it has. Their side follows in the same commit.
    async fn depend<'d>(
        &'d self,
        writes: Transaction<'d, WarehouseModel>,
        pkg: &str,
        parents: &[&str],
    ) -> Result<Transaction<'d, WarehouseModel>> {
        let there: Option<DependentOf> = self.db.dependent_of(pkg).consistent().await?;
        let before = there
            .as_ref()
            .map(|row| row.dependent_of.clone())
            .unwrap_or_default();
        let mut all = before.clone();
        all.extend(parents.iter().map(|parent| (*parent).to_owned()));
        if all == before {
            return Ok(writes);
        }
        let row = DependentOf {
            dependent_of: all,
            ..NewDependentOf { pkg: pkg.to_owned() }.into()
        };
        let put = self.db.put(&row);
        Ok(writes.with(match there {
            Some(_) => put.only_if(DependentOf::DEPENDENT_OF.equals(before)),
            None => put.if_not_exists(),
        }))
    }
}

fn busy(name: &str) -> Error {
    Error::Conflict(format!("{name} is being published by others; try again"))
}

fn row_of(publication: &Publication) -> VersionRow {
    let mut told = publication.manifest.clone();
    // It is in the tarball, and may be long.
    told.retain(|key, _| !key.starts_with("readme"));
    VersionRow::from(NewVersion {
        name: publication.name.clone(),
        version: publication.version.clone(),
        value: Value::Object(told).to_string(),
    })
}

/// The row of a package; what the model does not name goes into `extended`.
fn described(publication: &Publication) -> Package {
    let mut package = Package::from(NewPackage {
        name: publication.name.clone(),
        version: publication.version.clone(),
    });
    let tags = publication.tags.iter();
    package.dist_tags = Some(
        tags.map(|(tag, version)| (tag.as_str(), version.to_string()))
            .collect(),
    );
    let mut extended = trestle::Map::default();
    for (key, value) in &publication.manifest {
        let object = || from_plain_json(value).as_m().cloned();
        let text = || value.as_str().map(str::to_owned);
        match key.as_str() {
            "name" | "version" => {}
            key if is_private(key) => {}
            "description" => package.description = text(),
            "main" => package.main = text(),
            "gitHead" => package.git_head = text(),
            "keywords" => package.keywords = texts(value),
            "bundledDependencies" | "bundleDependencies" => package.bundled_dependencies = texts(value),
            "config" => package.config = object(),
            "repository" => package.repository = object(),
            "dependencies" => package.dependencies = object(),
            "devDependencies" => package.dev_dependencies = object(),
            "peerDependencies" => package.peer_dependencies = object(),
            "optionalDependencies" => package.optional_dependencies = object(),
            key => {
                extended.insert(key, from_plain_json(value));
            }
        }
    }
    package.extended = Some(extended);
    package
}

fn texts(value: &Value) -> BTreeSet<String> {
    let members = value.as_array().into_iter().flatten();
    let texts = members.filter_map(Value::as_str).filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// The locales in which a version is to be built, given the managed packages that it depends on.
fn built_in(manifest: &Map<String, Value>, parents: &[Package]) -> Vec<String> {
    match is_built(manifest) {
        true => common_locales(locales(manifest), parents.iter().filter_map(declared_locales)),
        false => Vec::new(),
    }
}

/// The locales that a package declares, if it does.
fn declared_locales(package: &Package) -> Option<Vec<String>> {
    let locales = package.extended.as_ref()?.get("locales")?.as_l()?;
    Some(
        locales
            .iter()
            .filter_map(AttributeValue::as_s)
            .map(str::to_owned)
            .collect(),
    )
}

/// The manifest of a version.
pub(crate) fn manifest(row: &VersionRow) -> Result<Map<String, Value>> {
    let unreadable = |error| Error::invalid(format!("{}@{}: its manifest: {error}", row.name, row.version));
    serde_json::from_str(&row.value).map_err(unreadable)
}

/// The range of a dependency that a manifest asks for.
pub(crate) fn range_of<'m>(manifest: &'m Map<String, Value>, dependency: &str) -> Option<&'m str> {
    manifest.get("dependencies")?.get(dependency)?.as_str()
}

/// Whether a version is in a range of npm. A prerelease counts as the release that it leads to: what is published once more
/// because of a dependency has such a version.
pub(crate) fn satisfies(version: &Version, range: &str) -> bool {
    let range = if range == "latest" { "*" } else { range };
    let Ok(range) = nodejs_semver::Range::parse(range) else {
        return false;
    };
    let (major, minor, patch) = (version.major, version.minor, version.patch);
    let whole = nodejs_semver::Version::parse(version.to_string());
    let release = nodejs_semver::Version::from((major, minor, patch));
    whole.is_ok_and(|whole| range.satisfies(&whole)) || range.satisfies(&release)
}
