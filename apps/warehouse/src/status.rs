//! The progress of builds. A locale counts once, however often it is reported: the database keeps the count.

use std::collections::BTreeSet;

use serde::Serialize;
use trestle::ids;
use trestle::typed::{Held as _, Version};

use crate::jobs::Writes;
use crate::model::{
    NewStatusEvent, Status, StatusEvent, StatusEventEventType as EventType, StatusKey, StatusPromote,
};
use crate::{Env, Error, Job, Result, Service, Spec};

/// How many locales of a version are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// In percent.
    pub progress: i64,
    /// Locales that are done.
    pub count: i64,
    /// All locales.
    pub total: i64,
}

/// A version whose build was begun: its progress, and what happened to it, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "their types say it")]
pub struct Begun {
    pub status: Status,
    pub progress: Progress,
    pub events: Vec<StatusEvent>,
}

impl Service {
    /// The progress of a version, if its build was begun; without a version, the one that was begun last.
    pub async fn begun(&self, name: &str, env: Env, version: Option<Version>) -> Result<Option<Begun>> {
        let last = match version {
            None => self.db.status_head(name, env).await?.map(|head| head.version),
            given => given,
        };
        let Some(version) = last else {
            return Ok(None);
        };
        let found = self.db.status(name, env, version).gather().await?;
        Ok(found.status.map(|status| Begun {
            progress: progress(&status),
            events: found.status_event,
            status,
        }))
    }

    /// The progress of this version, if its build was begun.
    pub(crate) async fn begun_of(&self, spec: &Spec) -> Result<Option<Begun>> {
        let version = Some(spec.version.clone());
        self.begun(&spec.name, spec.env, version).await
    }

    /// Adds the status of a version that is to be built in these locales. Returns the jobs to send in the
    /// same commit.
    pub(crate) async fn begin(
        &self,
        writes: &mut Writes<'_>,
        spec: &Spec,
        locales: &BTreeSet<String>,
        promote: StatusPromote,
    ) -> Result<Vec<Job>> {
        let before = self.db.status_head(&spec.name, spec.env).await?;
        let total = i64::try_from(locales.len()).map_err(Error::invalid)?;
        let status = Status {
            total: Some(total),
            locales: locales.clone(),
            previous_version: before.map(|head| head.version),
            complete: total == 0,
            promote,
            ..Status::new(&spec.name, spec.env, spec.version.clone())
        };
        writes.add(self.db.put(&status).if_not_exists());
        let (kind, message) = match total {
            0 => (EventType::Ignored, "the package is not to be built"),
            _ => (EventType::Queued, "builds are queued"),
        };
        writes.add(self.db.put(&self.event(spec, None, kind, message)));
        Ok(jobs(spec, locales))
    }

    /// Something that happened.
    pub(crate) fn event(
        &self,
        spec: &Spec,
        locale: Option<&str>,
        kind: EventType,
        message: &str,
    ) -> StatusEvent {
        let new = NewStatusEvent {
            pkg: spec.name.clone(),
            env: spec.env,
            version: spec.version.clone(),
            event_id: ids::uuid(),
            created_at: self.db.now(),
        };
        StatusEvent {
            event_type: Some(kind),
            error: Some(kind == EventType::Error),
            locale: locale.map(str::to_owned),
            message: Some(message.to_owned()),
            ..new.into()
        }
    }

    /// Records that a locale failed. A later attempt may still complete the version.
    pub(crate) async fn fail(&self, spec: &Spec, locale: &str, why: String) -> Result<()> {
        let mut event = self.event(spec, Some(locale), EventType::Error, "the build failed");
        event.details = Some(why);
        let key = StatusKey::new(&spec.name, spec.env, spec.version.clone());
        let failed = self.db.update_status(key).set_error(true);
        let failed = failed.only_if(Status::COMPLETE.equals(false));
        let writes = self.db.transaction().with(self.db.put(&event)).with(failed);
        writes.commit().await.held()?;
        Ok(())
    }

    /// If all locales are done: records that once, and puts the version into use if requested, in one commit.
    /// Returns whether that is done, or not necessary: if another write was first, the state has to be read
    /// again.
    pub(crate) async fn finish(&self, spec: &Spec) -> Result<bool> {
        let begun = self.begun_of(spec).await?;
        let done = begun.filter(|begun| begun.progress.count >= begun.progress.total);
        let Some(Begun { status, .. }) = done else {
            return Ok(true);
        };
        let is_asked = status.promote == StatusPromote::Asked;
        let is_ready = self.has_all(spec, &status.locales).await?;
        // A skipped version that is requested now counts as complete, and is built nevertheless.
        if status.complete && !(is_asked && is_ready) {
            return Ok(true);
        }
        let left = match is_asked && !is_ready {
            true => StatusPromote::Asked,
            false => StatusPromote::No,
        };
        let unchanged = Status::COMPLETE.equals(status.complete);
        let unchanged = unchanged.and(Status::PROMOTE.equals(status.promote));
        let complete = self.db.update_status(&status).set_complete(true);
        let complete = complete.set_error(false).set_promote(left);
        let mut writes = self.db.transaction().with(complete.only_if(unchanged));
        let mut jobs = Vec::new();
        if status.promote != StatusPromote::No && is_ready {
            let release = self.db.release(&spec.name, spec.env).await?;
            let (used, new) = (release.as_ref().map(|release| &release.version), &spec.version);
            if used < Some(new) || is_asked && used != Some(new) {
                self.point(&mut writes, spec, release.as_ref());
                // In dev, dependents were published again, and have their own builds.
                if is_asked {
                    jobs = self.dependents_to_promote(spec, false).await?;
                }
            }
        }
        Ok(self.commit(writes, &jobs).await?.is_some())
    }

    /// Whether there is a build in each of these locales. Skipped versions lack some.
    pub(crate) async fn has_all(&self, spec: &Spec, wanted: &BTreeSet<String>) -> Result<bool> {
        let builds = self.builds(spec).await?;
        let has = |locale: &String| builds.iter().any(|build| build.locale == *locale);
        Ok(!builds.is_empty() && wanted.iter().all(has))
    }
}

/// A job for each of these locales.
pub(crate) fn jobs<'l>(spec: &Spec, locales: impl IntoIterator<Item = &'l String>) -> Vec<Job> {
    let job = |locale: &String| Job::Build {
        spec: spec.clone(),
        locale: locale.clone(),
    };
    locales.into_iter().map(job).collect()
}

fn progress(status: &Status) -> Progress {
    let total = status.total.unwrap_or_default();
    // Imported ones have no count.
    let count = if status.complete { total } else { status.count };
    let progress = if total == 0 { 100 } else { count * 100 / total };
    Progress {
        progress,
        count,
        total,
    }
}
