//! How far builds are. A locale counts once, however often it is reported: the database keeps the count.

use std::collections::BTreeSet;

use serde::Serialize;
use trestle::ids;
use trestle::typed::{Held as _, Transaction, Version};

use crate::model::{
    NewStatus, NewStatusEvent, Status, StatusEvent, StatusEventEventType as EventType, StatusGathered,
    StatusPromote, WarehouseModel,
};
use crate::{Env, Error, Job, Result, Service, Spec};

/// How often a build that is done is looked at again because another write came first.
const TRIES_MAX: usize = 20;

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

impl Service {
    /// The version that was begun last, if none is given.
    pub(crate) async fn latest_spec(&self, name: &str, env: Env, version: Option<Version>) -> Result<Spec> {
        let version = match version {
            Some(version) => Some(version),
            None => self
                .db
                .status_head(env.status_head(name))
                .await?
                .map(|head| head.version),
        };
        let missing = || Error::not_found(format!("status of {name} in {env}"));
        Ok(Spec::new(name, env, version.ok_or_else(missing)?))
    }

    /// The status of a version.
    pub async fn status(&self, spec: &Spec) -> Result<(Status, Progress)> {
        let found = self.db.status(spec.status()).gather().await?;
        let progress = progress(&found);
        let status = found
            .status
            .ok_or_else(|| Error::not_found(format!("status of {spec}")))?;
        Ok((status, progress))
    }

    /// What happened to a version, in order.
    pub async fn events(&self, spec: &Spec) -> Result<Vec<StatusEvent>> {
        Ok(self.db.status(spec.status()).gather().await?.status_event)
    }

    /// Adds the status of a version that is to be built in these locales. Answers with the jobs to send in the same commit.
    pub(crate) async fn begin<'d>(
        &'d self,
        mut writes: Transaction<'d, WarehouseModel>,
        spec: &Spec,
        locales: &[String],
        promote: StatusPromote,
    ) -> Result<(Transaction<'d, WarehouseModel>, Vec<Job>)> {
        let before = self.db.status_head(spec.env.status_head(&spec.name)).await?;
        let total = i64::try_from(locales.len()).map_err(Error::invalid)?;
        let status = Status {
            total: Some(total),
            locales: locales.iter().cloned().collect(),
            previous_version: before.map(|head| head.version),
            complete: total == 0,
            promote,
            ..NewStatus {
                pkg: spec.name.clone(),
                env: spec.env.to_string(),
                version: spec.version.clone(),
            }
            .into()
        };
        writes.add(self.db.put(&status).if_not_exists());
        let (kind, message) = match total {
            0 => (EventType::Ignored, "the package is not to be built"),
            _ => (EventType::Queued, "builds are queued"),
        };
        writes.add(self.db.put(&self.event(spec, None, kind, message)));
        Ok((writes, jobs(spec, locales)))
    }

    /// Something that happened.
    pub(crate) fn event(
        &self,
        spec: &Spec,
        locale: Option<&str>,
        kind: EventType,
        message: impl Into<String>,
    ) -> StatusEvent {
        StatusEvent {
            event_type: Some(kind),
            error: Some(kind == EventType::Error),
            locale: locale.map(str::to_owned),
            message: Some(message.into()),
            ..NewStatusEvent {
                pkg: spec.name.clone(),
                env: spec.env.to_string(),
                version: spec.version.clone(),
                event_id: ids::uuid(),
                created_at: self.db.now(),
            }
            .into()
        }
    }

    /// Notes that a locale is done without a build of its own, unless that was noted before.
    pub(crate) async fn skip(&self, spec: &Spec, locale: &str, why: &str) -> Result<()> {
        let found = self.db.status(spec.status()).gather().await?;
        let is_counted = found
            .status_counter
            .is_some_and(|counter| counter.locales.contains(locale));
        if !is_counted {
            let event = self.event(spec, Some(locale), EventType::Complete, why);
            self.db.put(&event).await?;
        }
        Ok(())
    }

    /// Notes that a locale failed. What comes after it may still complete the version.
    pub(crate) async fn fail(&self, spec: &Spec, locale: &str, why: &str) -> Result<()> {
        let mut event = self.event(spec, Some(locale), EventType::Error, "the build failed");
        event.details = Some(why.to_owned());
        let failed = self.db.update_status(spec.status_key()).set_error(true);
        let failed = failed.only_if(Status::COMPLETE.equals(false));
        let writes = self.db.transaction().with(self.db.put(&event)).with(failed);
        writes.commit().await.held()?;
        Ok(())
    }

    /// If all locales are done: says so, once, and lets the version be used if it is to be. Both in one commit.
    pub(crate) async fn finish(&self, spec: &Spec) -> Result<()> {
        for _ in 0..TRIES_MAX {
            let found = self.db.status(spec.status()).gather().await?;
            let Progress { count, total, .. } = progress(&found);
            let Some(status) = found.status.filter(|_| count >= total) else {
                return Ok(());
            };
            let is_asked = status.promote == StatusPromote::Asked;
            let is_ready = self.has_all(spec, &status.locales).await?;
            // What was skipped and is asked for now is complete, and built all the same.
            if status.complete && !(is_asked && is_ready) {
                return Ok(());
            }
            let done = self.db.update_status(&status).set_complete(true).set_error(false);
            let done = match is_asked && !is_ready {
                true => done,
                false => done.set_promote(StatusPromote::No),
            };
            let unchanged = Status::COMPLETE.equals(status.complete);
            let done = done.only_if(unchanged.and(Status::PROMOTE.equals(status.promote)));
            let mut writes = self.db.transaction().with(done);
            let mut jobs = Vec::new();
            if status.promote != StatusPromote::No && is_ready {
                let release = self.db.get(spec.env.release(&spec.name)).consistent().await?;
                let is_newer = release
                    .as_ref()
                    .is_none_or(|release| release.version < spec.version);
                let is_other = release
                    .as_ref()
                    .is_none_or(|release| release.version != spec.version);
                if is_newer || is_asked && is_other {
                    writes = self.point(writes, spec, release);
                    // In dev dependents were published once more, and have builds of their own.
                    if is_asked {
                        jobs = self.dependents_to_promote(spec, false).await?;
                    }
                }
            }
            if self.commit(writes, &jobs).await?.is_some() {
                return Ok(());
            }
        }
        Err(Error::Conflict(format!(
            "the status of {spec} is being changed by others"
        )))
    }

    /// Whether there are builds, and one in each of these locales. Where some were skipped there is not.
    pub(crate) async fn has_all(&self, spec: &Spec, wanted: &BTreeSet<String>) -> Result<bool> {
        let builds = self.db.builds_of_version(spec.builds()).collect().await?;
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

fn progress(found: &StatusGathered) -> Progress {
    let status = found.status.as_ref();
    let total = status.and_then(|status| status.total).unwrap_or_default();
    let count = match status {
        // Imported ones have no count.
        Some(status) if status.complete => total,
        _ => found.status_counter.as_ref().map_or(0, |counter| counter.count),
    };
    let progress = if total == 0 { 100 } else { count * 100 / total };
    Progress {
        progress,
        count,
        total,
    }
}
