//! Heads: which version an environment uses. One row for each package and environment names it; it is the
//! lock of promotions, and the heads of all locales follow it in the same commit.

use trestle::app::OrNotFound as _;
use trestle::typed::Version;

use crate::jobs::Writes;
use crate::model::{
    Head, Package, Release, ReleaseHistory, ReleaseKey, ReleaseLineDep, Status, StatusPromote, UpdatePackage,
};
use crate::status::jobs;
use crate::{Env, Error, Job, Result, Service, Spec};

impl Service {
    /// Promotes a version in an environment, and then the dependents in its release line. If it is not built,
    /// it is built first. With `from`, only if that is the version in use. With `tag`, the tag of the
    /// environment names it as well. Returns whether it is in use now.
    pub async fn promote(&self, spec: &Spec, from: Option<&Version>, tag: bool) -> Result<bool> {
        let done = self.try_promote(spec, from, tag).await?;
        let first = format!("another promotion of {} in {} came first", spec.name, spec.env);
        done.ok_or_else(|| Error::Conflict(format!("{first}; look at the head and try again")))
    }

    /// The same, repeated when other promotions are first: their results are read each time.
    pub(crate) async fn promote_in_turn(&self, spec: &Spec, tag: bool) -> Result<()> {
        while self.try_promote(spec, None, tag).await?.is_none() {}
        Ok(())
    }

    /// Promotes a version; `None` if another write was first.
    async fn try_promote(&self, spec: &Spec, from: Option<&Version>, tag: bool) -> Result<Option<bool>> {
        let Spec { name, env, version } = spec;
        let release = self.db.release(name, *env).await?;
        let current = release.as_ref().map(|release| &release.version);
        if from.is_some() && from != current {
            let now = current.map_or("none".to_owned(), Version::to_string);
            let other = format!("{env} uses {now} of {name} now; look at it again");
            return Err(Error::Conflict(other));
        }
        let mut writes = self.db.transaction();
        if tag {
            writes.add(self.tagging(name, env.as_str(), version).await?);
        }
        // A version without a status was imported, or built elsewhere: its builds are complete.
        let status = self.begun_of(spec).await?.map(|begun| begun.status);
        let wanted = status.as_ref().map(|status| status.locales.clone());
        let (is_used, jobs) = if current == Some(version) {
            let still = Release::VERSION.equals(version.clone());
            writes = writes.check(ReleaseKey::new(name, *env), still);
            (true, Vec::new())
        } else if self.has_all(spec, &wanted.unwrap_or_default()).await? {
            self.point(&mut writes, spec, release.as_ref());
            (true, self.dependents_to_promote(spec, tag).await?)
        } else {
            (false, self.ask(&mut writes, spec, status).await?)
        };
        let done = self.commit(writes, &jobs).await?;
        Ok(done.map(|()| is_used))
    }

    /// Rolls back to the version that was in use when the present one was first used, or to a given one.
    pub async fn rollback(&self, name: &str, env: Env, to: Option<Version>) -> Result<Version> {
        let moves = self.head(name, env).await?.release_history;
        let current = moves.last().and_then(|moved| moved.version.clone());
        let current = current.or_not_found(format_args!("head of {name} in {env}"))?;
        // However often it was left and used again, so that successive rollbacks go further back.
        let is_current = |moved: &&ReleaseHistory| moved.version.as_ref() == Some(&current);
        let before = moves.iter().find(is_current);
        let to = to.or_else(|| before.and_then(|moved| moved.from.clone()));
        let first =
            format!("{current} was the first version of {name} in {env}; name another one with ?to=VERSION");
        let nothing = || Error::Conflict(first);
        let spec = Spec::new(name, env, to.ok_or_else(nothing)?);
        self.promote(&spec, Some(&current), true).await?;
        Ok(spec.version)
    }

    /// The version in use, its builds in all locales, and the previous versions.
    pub async fn head(&self, name: &str, env: Env) -> Result<Head> {
        Ok(self.db.head(name, env).gather().await?)
    }

    /// Puts a version into use, if the release is unchanged since it was read. The heads of all locales
    /// follow.
    pub(crate) fn point(&self, writes: &mut Writes<'_>, spec: &Spec, read: Option<&Release>) {
        let mut release = Release::new(&spec.name, spec.env, spec.version.clone());
        release.previous_version = read.map(|read| read.version.clone());
        writes.add(self.db.put(&release).if_unchanged(read));
    }

    /// A promotion for each dependent in the release line of a version.
    pub(crate) async fn dependents_to_promote(&self, spec: &Spec, tag: bool) -> Result<Vec<Job>> {
        let line = self.db.line(&spec.name, spec.version.clone()).gather().await?;
        let promotion = |dep: ReleaseLineDep| Job::Promote {
            spec: Spec::new(dep.dependent, spec.env, dep.dependent_version),
            tag,
        };
        Ok(line.release_line_dep.into_iter().map(promotion).collect())
    }

    /// Gives a tag to a version.
    pub async fn tag(&self, name: &str, tag: &str, version: &Version) -> Result<()> {
        self.published(name, version).await?;
        self.tagging(name, tag, version).await?.await?;
        Ok(())
    }

    /// Takes a tag away.
    pub async fn untag(&self, name: &str, tag: &str) -> Result<()> {
        let package = self.package(name).await?;
        let is_there = package.dist_tags.get(tag).map(drop);
        is_there.or_not_found(format_args!("tag {tag} of {name}"))?;
        let without = self.db.update_package(&package).remove_from_dist_tags(tag);
        without.await?;
        Ok(())
    }

    /// Sets one tag and leaves the others alone, even if they change meanwhile.
    async fn tagging(&self, name: &str, tag: &str, version: &Version) -> Result<UpdatePackage<'_>> {
        let update = self.db.update_package(&self.package(name).await?);
        Ok(update.set_in_dist_tags(tag, version.to_string()))
    }

    /// A package that is published here.
    pub async fn package(&self, name: &str) -> Result<Package> {
        let found = self.db.package(name).await?;
        found.or_not_found(format_args!("package '{name}' in the registry"))
    }

    /// Builds a version and then uses it. Running builds continue; failed or skipped ones are repeated.
    async fn ask(&self, writes: &mut Writes<'_>, spec: &Spec, status: Option<Status>) -> Result<Vec<Job>> {
        let locales = self.locales_of(&spec.name, &spec.version).await?;
        if locales.is_empty() {
            let why = "its package.json has no `build`";
            return Err(Error::Conflict(format!("{spec} is not to be built: {why}")));
        }
        let Some(status) = status else {
            return self.begin(writes, spec, &locales, StatusPromote::Asked).await;
        };
        let asked = self.db.update_status(&status).set_promote(StatusPromote::Asked);
        writes.add(asked.only_if(Status::COMPLETE.equals(status.complete)));
        let is_over = status.error || status.complete;
        Ok(jobs(spec, locales.iter().filter(|_| is_over)))
    }
}
