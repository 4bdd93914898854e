//! Heads: which version an environment uses. One row for each package and environment says so; it is the lock of
//! promotions, and the heads of all locales follow it in the same commit.

use std::collections::BTreeMap;

use trestle::Map;
use trestle::typed::{Held as _, Transaction, Version};

use crate::model::{
    Head, NewRelease, Package, Release, ReleaseHistory, Status, StatusPromote, UpdatePackage, WarehouseModel,
};
use crate::status::jobs;
use crate::{Env, Error, Job, Result, Service, Spec};

/// What became of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The version is in use now.
    Moved,
    /// It was in use already.
    Unchanged,
    /// It is being built, and will be in use then.
    Building,
}

impl Service {
    /// Lets an environment use a version, and then the dependents in its release line. If it is not built, it is built first.
    /// With `from`, only if that is the version in use. With `tag`, the tag of the environment names it as well.
    pub async fn promote(&self, spec: &Spec, from: Option<&Version>, tag: bool) -> Result<Moved> {
        let release = self.db.get(spec.env.release(&spec.name)).consistent().await?;
        let current = release.as_ref().map(|release| &release.version);
        if from.is_some() && from != current {
            let (name, env) = (&spec.name, spec.env);
            let now = current.map_or("none".to_owned(), Version::to_string);
            return Err(Error::Conflict(format!(
                "{env} uses {now} of {name} now; look at it again"
            )));
        }
        let mut writes = self.db.transaction();
        if tag {
            writes.add(self.tagging(&spec.name, spec.env.as_str(), &spec.version).await?);
        }
        let came_first = || {
            let (name, env) = (&spec.name, spec.env);
            let what = format!("another promotion of {name} in {env} came first");
            Error::Conflict(format!("{what}; look at the head and try again"))
        };
        if current == Some(&spec.version) {
            if tag {
                let still = Release::VERSION.equals(spec.version.clone());
                let writes = writes.check(spec.env.release(&spec.name), still);
                writes.commit().await.held()?.ok_or_else(came_first)?;
            }
            return Ok(Moved::Unchanged);
        }
        // A version without a status was imported, or built elsewhere: its builds are all there are.
        let status = self.db.status(spec.status()).gather().await?.status;
        let wanted = status.as_ref().map(|status| status.locales.clone());
        if !self.has_all(spec, &wanted.unwrap_or_default()).await? {
            return self.build_then_promote(writes, spec, status).await;
        }
        let writes = self.point(writes, spec, release);
        let jobs = self.dependents_to_promote(spec, tag).await?;
        let done = self.commit(writes, &jobs).await?;
        done.map(|()| Moved::Moved).ok_or_else(came_first)
    }

    /// Goes back to the version that was in use before the present one, or to a given one.
    pub async fn rollback(&self, name: &str, env: Env, to: Option<Version>) -> Result<Version> {
        let moves = self.moves(name, env).await?;
        let missing = || Error::not_found(format!("head of {name} in {env}"));
        let current = moves
            .first()
            .and_then(|moved| moved.version.clone())
            .ok_or_else(missing)?;
        let to = to.or_else(|| {
            // However often it was left and taken again: what was there when it was first used.
            let first = moves
                .iter()
                .rfind(|moved| moved.version.as_ref() == Some(&current));
            first.and_then(|moved| moved.from.clone())
        });
        let nothing = || Error::Conflict(format!("{name} has no earlier version in {env}"));
        let spec = Spec::new(name, env, to.ok_or_else(nothing)?);
        self.promote(&spec, Some(&current), true).await?;
        Ok(spec.version)
    }

    /// Which versions an environment used, the latest first.
    pub async fn moves(&self, name: &str, env: Env) -> Result<Vec<ReleaseHistory>> {
        let mut moves = self.head(name, env).await?.release_history;
        moves.reverse();
        Ok(moves)
    }

    /// The version in use, its builds in all locales, and the versions that were.
    pub async fn head(&self, name: &str, env: Env) -> Result<Head> {
        Ok(self.db.head(env.head(name)).gather().await?)
    }

    /// When an environment went back, and from which build in a locale.
    pub async fn rollback_build_ids(
        &self,
        name: &str,
        env: Env,
        locale: &str,
    ) -> Result<BTreeMap<String, String>> {
        let moves = self.moves(name, env).await?.into_iter();
        let back = moves.filter(|moved| moved.from > moved.version);
        let left = back.filter_map(|moved| Some((moved.moved.to_string(), moved.from?)));
        Ok(left
            .map(|(at, from)| (at, Spec::new(name, env, from).build_id(locale)))
            .collect())
    }

    /// Makes a version the one in use, if the release is still as it was read. The heads of all locales follow.
    pub(crate) fn point<'d>(
        &'d self,
        writes: Transaction<'d, WarehouseModel>,
        spec: &Spec,
        read: Option<Release>,
    ) -> Transaction<'d, WarehouseModel> {
        let mut release = Release::from(NewRelease {
            name: spec.name.clone(),
            env: spec.env.to_string(),
            version: spec.version.clone(),
        });
        let Some(read) = read else {
            return writes.with(self.db.put(&release).if_not_exists());
        };
        release.previous_version = Some(read.version.clone());
        let unchanged = Release::VERSION.equals(read.version);
        writes.with(self.db.put(&release).only_if(unchanged))
    }

    /// A promotion for each dependent in the release line of a version.
    pub(crate) async fn dependents_to_promote(&self, spec: &Spec, tag: bool) -> Result<Vec<Job>> {
        let line = self.db.line(&spec.name, spec.version.clone()).gather().await?;
        let promotion = |dep: crate::model::ReleaseLineDep| Job::Promote {
            spec: Spec::new(dep.dependent, spec.env, dep.dependent_version),
            tag,
        };
        Ok(line.release_line_dep.into_iter().map(promotion).collect())
    }

    /// Gives a tag to a version.
    pub async fn tag(&self, name: &str, tag: &str, version: &Version) -> Result<()> {
        let published = self.db.version(name, version.clone()).await?;
        published.ok_or_else(|| Error::not_found(format!("{name}@{version}")))?;
        self.tagging(name, tag, version).await?.await?;
        Ok(())
    }

    /// Takes a tag away.
    pub async fn untag(&self, name: &str, tag: &str) -> Result<()> {
        let package = self.package(name).await?;
        let has = package
            .dist_tags
            .as_ref()
            .is_some_and(|tags| tags.get(tag).is_some());
        if !has {
            return Err(Error::not_found(format!("tag {tag} of {name}")));
        }
        self.db
            .update_package(&package)
            .remove_from_dist_tags(tag)
            .await?;
        Ok(())
    }

    /// Sets one tag and leaves the others alone, whatever becomes of them meanwhile.
    async fn tagging(&self, name: &str, tag: &str, version: &Version) -> Result<UpdatePackage<'_>> {
        let package = self.package(name).await?;
        let update = self.db.update_package(&package);
        let version = version.to_string();
        Ok(match package.dist_tags {
            Some(_) => update.set_in_dist_tags(tag, version),
            None => update
                .set_dist_tags(Map::from([(tag, version)]))
                .only_if(Package::DIST_TAGS.is_absent()),
        })
    }

    /// A package that is published here.
    pub async fn package(&self, name: &str) -> Result<Package> {
        let found = self.db.package(name).consistent().await?;
        found.ok_or_else(|| Error::not_found(format!("package {name}")))
    }

    /// Has a version built, and used when it is. What is under way goes on; what failed or was skipped is done again.
    async fn build_then_promote(
        &self,
        writes: Transaction<'_, WarehouseModel>,
        spec: &Spec,
        status: Option<Status>,
    ) -> Result<Moved> {
        let (writes, jobs) = match status {
            Some(status) => {
                let again = match status.error || status.complete {
                    true => self.locales_of(&spec.name, &spec.version).await?,
                    false => Vec::new(),
                };
                let asked = self.db.update_status(&status).set_promote(StatusPromote::Asked);
                let asked = asked.only_if(Status::COMPLETE.equals(status.complete));
                (writes.with(asked), jobs(spec, &again))
            }
            None => {
                let locales = self.locales_of(&spec.name, &spec.version).await?;
                if locales.is_empty() {
                    let why = "its package.json has no `build`";
                    return Err(Error::Conflict(format!("{spec} is not to be built: {why}")));
                }
                self.begin(writes, spec, &locales, StatusPromote::Asked).await?
            }
        };
        let changed = || Error::Conflict(format!("the builds of {spec} changed meanwhile; try again"));
        let done = self.commit(writes, &jobs).await?;
        done.map(|()| Moved::Building).ok_or_else(changed)
    }
}
