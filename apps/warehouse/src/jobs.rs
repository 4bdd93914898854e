//! Work that is done later: the jobs in the queue, and their workers.
//!
//! A message is delivered at least once. So each job first checks the state, and a repetition changes
//! nothing.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle::queue::{self, NewMessage};
use trestle::typed::{Held as _, Transaction, Version};

use crate::model::WarehouseModel;
use crate::{Error, Result, Service, Spec};

/// The queue of jobs.
pub const JOBS: &str = "warehouse-jobs";

/// Writes that are made together.
pub(crate) type Writes<'d> = Transaction<'d, WarehouseModel>;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// Build a version in a locale.
    Build {
        /// What.
        #[serde(flatten)]
        spec: Spec,
        /// In which locale.
        locale: String,
    },
    /// Publish the dependents of a new version again.
    Trigger {
        /// The package.
        name: String,
        /// The version.
        version: Version,
        /// The packages because of which it was published, so that a circle of dependencies ends.
        #[serde(rename = "because")]
        why: Vec<String>,
    },
    /// Use a version.
    Promote {
        /// What.
        #[serde(flatten)]
        spec: Spec,
        /// Whether the tag of the environment is to name it.
        tag: bool,
    },
}

impl Service {
    /// Executes a transaction and sends jobs: both, or neither. `None` if a condition did not hold, and
    /// nothing was done.
    pub(crate) async fn commit(&self, writes: Writes<'_>, jobs: &[Job]) -> Result<Option<()>> {
        let messages: std::result::Result<_, _> = jobs.iter().map(NewMessage::job).collect();
        let messages = self.queues.enlist(JOBS, messages?).await?;
        Ok(queue::commit(writes, messages).await.held()?)
    }

    /// Does a job.
    pub(crate) async fn work(self: Arc<Self>, job: queue::Job<Job>) -> Result<()> {
        let done = match &job.body {
            Job::Build { spec, locale } => self.build(spec, locale).await,
            Job::Trigger { name, version, why } => self.trigger(name, version, why).await,
            Job::Promote { spec, tag } => self.promote_in_turn(spec, *tag).await,
        };
        unless_hopeless(&job.body, done)
    }
}

/// A job that can never succeed is logged and removed.
pub(crate) fn unless_hopeless(what: impl Debug, done: Result<()>) -> Result<()> {
    match done {
        Err(error @ (Error::NotFound(_) | Error::Invalid(_))) => {
            tracing::warn!(?what, "given up: {error}");
            Ok(())
        }
        done => done,
    }
}
