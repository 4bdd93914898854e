//! Publishing: a version, and everything that follows from it, in one commit.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use trestle::app::OrNotFound as _;
use trestle::typed::Version;
use trestle::{AttributeValue, from_plain_json};

use crate::jobs::Writes;
use crate::lines::{place_in, wants};
use crate::model::{DependentOf, Package, PackageKey, ReleaseLine, ReleaseLineHead, Version as VersionRow};
use crate::publication::{is_built, is_private, promotion};
use crate::{DEFAULT_LOCALE, Env, Error, Job, Manifest, Publication, Result, Service, Spec};

/// How often a publication is repeated because another one changed the same package.
const TRIES_MAX: usize = 20;
/// A publication is one transaction of at most 100 rows: its own, and one for each of these.
const LOCALES_AND_PARENTS_MAX: usize = 80;

impl Service {
    /// Stores a version, and queues its builds in dev. Returns whether it is new: the same content again
    /// writes nothing, and other content is refused.
    pub async fn publish(&self, publication: &Publication) -> Result<bool> {
        let (name, version) = (&publication.name, &publication.version);
        let mut row = publication.row();
        row.digest = Some(publication.digest());
        if self.db.version(name, version.clone()).await?.is_none() {
            row.tarball = Some(self.db.write_large(publication.tarball()?).await?);
        }
        let other = format!("{name}@{version} is published with other content; publish another version");
        match self.store(publication, &row, true).await? {
            None => Ok(true),
            Some(there) if there.digest == row.digest => Ok(false),
            Some(_) => Err(Error::Conflict(other)),
        }
    }

    /// Stores a version, released or unchanged, unless it exists. Returns what was stored before.
    pub(crate) async fn store(
        &self,
        publication: &Publication,
        row: &VersionRow,
        is_released: bool,
    ) -> Result<Option<VersionRow>> {
        for _ in 0..TRIES_MAX {
            if let Some(there) = self.db.version(&row.name, row.version.clone()).await? {
                return Ok(Some(there));
            }
            let package = self.db.package(&row.name).await?;
            let described = self.db.put(&described(publication, package.as_ref()));
            let writes = self.db.transaction().with(self.db.put(row).if_not_exists());
            let writes = writes.with(described.if_unchanged(package.as_ref()));
            let stored = match is_released {
                true => self.release(writes, row, &[]).await?,
                false => self.commit(writes, &[]).await?,
            };
            if stored.is_some() {
                return Ok(None);
            }
        }
        let busy = format!("{} is being published by others; try again", row.name);
        Err(Error::Conflict(busy))
    }

    /// Adds to the writes of a version its status, its release line and its place in those of its parents,
    /// and sends its jobs with them. `None` if another write was first.
    pub(crate) async fn release(
        &self,
        mut writes: Writes<'_>,
        row: &VersionRow,
        because: &[String],
    ) -> Result<Option<()>> {
        let (name, version, manifest) = (&row.name, &row.version, manifest(row)?);
        let parents = self.managed(&manifest).await?;
        let locales = built_in(&manifest, &parents);
        if locales.len() + parents.len() > LOCALES_AND_PARENTS_MAX {
            let most = format!("at most {LOCALES_AND_PARENTS_MAX} locales and managed dependencies together");
            return Err(Error::invalid(format!("{name}@{version}: {most}")));
        }
        self.depend(&mut writes, name, &parents).await?;
        // The line because of which a dependent is published again already has its place.
        for parent in parents.iter().filter(|one| because.last() != Some(&one.name)) {
            let lines = self.db.lines(&parent.name).collect().await?;
            if let Some(newest) = lines.iter().find(|line| wants(&manifest, line)) {
                writes.add(self.db.put(&place_in(newest, name, version)));
            }
        }
        let mut line = ReleaseLine::new(name, version.clone());
        line.previous_version = self.db.line_head(name).await?.map(|line| line.version);
        let mut head = ReleaseLineHead::new(name, version.clone());
        head.previous_version.clone_from(&line.previous_version);
        writes.add(self.db.put(&line).if_not_exists());
        writes.add(self.db.put(&head));
        let (spec, promote) = (Spec::new(name, Env::Dev, version.clone()), promotion(&manifest));
        let mut jobs = self.begin(&mut writes, &spec, &locales, promote).await?;
        jobs.push(Job::Trigger {
            name: name.clone(),
            version: version.clone(),
            why: because.to_vec(),
        });
        self.commit(writes, &jobs).await
    }

    /// A version that is published here.
    pub(crate) async fn published(&self, name: &str, version: &Version) -> Result<VersionRow> {
        let found = self.db.version(name, version.clone()).await?;
        found.or_not_found(format_args!("{name}@{version}"))
    }

    /// The locales in which a published version is to be built.
    pub(crate) async fn locales_of(&self, name: &str, version: &Version) -> Result<BTreeSet<String>> {
        let manifest = manifest(&self.published(name, version).await?)?;
        Ok(built_in(&manifest, &self.managed(&manifest).await?))
    }

    /// The dependencies of a manifest that are published here.
    async fn managed(&self, manifest: &Manifest) -> Result<Vec<Package>> {
        let named = manifest.get("dependencies").and_then(Value::as_object);
        let keys = named.into_iter().flat_map(Map::keys).map(PackageKey::new);
        let found = self.db.get_many(keys.collect::<Vec<_>>()).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Adds parents to a package. Their side follows in the same commit.
    async fn depend(&self, writes: &mut Writes<'_>, pkg: &str, parents: &[Package]) -> Result<()> {
        let there = self.db.dependent_of(pkg).await?;
        let mut row = there.clone().unwrap_or_else(|| DependentOf::new(pkg));
        let known = row.dependent_of.len();
        let parents = parents.iter().map(|parent| parent.name.clone());
        row.dependent_of.extend(parents);
        if row.dependent_of.len() > known {
            writes.add(self.db.put(&row).if_unchanged(there.as_ref()));
        }
        Ok(())
    }
}

/// The row of a package with its tags and new ones; fields that the model does not declare are stored in
/// `extended`.
fn described(publication: &Publication, there: Option<&Package>) -> Package {
    let mut package = Package::new(&publication.name, publication.version.clone());
    if let Some(there) = there {
        package.dist_tags.clone_from(&there.dist_tags);
        package.envs.clone_from(&there.envs);
        package.metadata.clone_from(&there.metadata);
    }
    for (tag, version) in &publication.tags {
        package.dist_tags.insert(tag.as_str(), version.to_string());
    }
    let mut extended = trestle::Map::default();
    for (key, value) in publication.manifest.iter().filter(|(key, _)| !is_private(key)) {
        let (text, plain) = (value.as_str().map(str::to_owned), from_plain_json(value));
        let object = plain.as_m().cloned();
        match key.as_str() {
            "name" | "version" => {}
            "description" => package.description = text,
            "main" => package.main = text,
            "gitHead" => package.git_head = text,
            "keywords" => package.keywords = texts(&plain),
            "bundledDependencies" | "bundleDependencies" => package.bundled_dependencies = texts(&plain),
            "config" => package.config = object,
            "repository" => package.repository = object,
            "dependencies" => package.dependencies = object,
            "devDependencies" => package.dev_dependencies = object,
            "peerDependencies" => package.peer_dependencies = object,
            "optionalDependencies" => package.optional_dependencies = object,
            key => drop(extended.insert(key, plain)),
        }
    }
    package.extended = Some(extended);
    package
}

/// The texts in a list; none if it is not a list.
fn texts(value: &AttributeValue) -> BTreeSet<String> {
    let members = value.as_l().into_iter().flatten();
    let texts = members.filter_map(AttributeValue::as_s);
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// The locales in which a version is to be built: its own, restricted to those of all managed dependencies
/// that name any.
fn built_in(manifest: &Manifest, parents: &[Package]) -> BTreeSet<String> {
    if !is_built(manifest) {
        return BTreeSet::new();
    }
    let own = manifest.get("locales").map(from_plain_json);
    let mut common = own.as_ref().map(texts).unwrap_or_default();
    for parent in parents {
        let extended = parent.extended.as_ref();
        let theirs = extended.and_then(|extended| extended.get("locales"));
        if let Some(theirs) = theirs.filter(|theirs| theirs.as_l().is_some()).map(texts) {
            common.retain(|locale| theirs.contains(locale));
        }
    }
    if common.is_empty() {
        common.insert(DEFAULT_LOCALE.to_owned());
    }
    common
}

/// The manifest of a version.
pub(crate) fn manifest(row: &VersionRow) -> Result<Manifest> {
    let unreadable = |error| Error::invalid(format!("{}@{}: its manifest: {error}", row.name, row.version));
    serde_json::from_str(&row.value).map_err(unreadable)
}
