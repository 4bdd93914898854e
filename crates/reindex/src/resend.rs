//! Processing rows again: dead letters, or rows in a list.

use trestle_env::ids;
use trestle_item::Item;

use crate::gaps::is_at_version;
use crate::job::ReindexState;
use crate::plan::{by_ids, rows_or_partitions};
use crate::work_item::{OnceMore, WorkItem};
use crate::{Reindex, ReindexError, Reindexer};

impl Reindexer {
    /// Retries the dead letters; returns their number. They stay dead letters until they are done.
    pub async fn replay(&self, name: &str) -> Result<u64, ReindexError> {
        let job = self.to_reopen(name).await?;
        let batch = batch_name("replay");
        let (mut replayed, mut after) = (0_u64, None);
        loop {
            let (letters, next) = self.state.letters(name, after.as_deref(), None).await?;
            let some: Vec<Item> = letters.into_iter().map(|letter| letter.key).collect();
            let part = format!("{batch}-{replayed:09}");
            replayed += some.len() as u64;
            self.add(&job, OnceMore::Replay, rows_or_partitions(&job, &part, some))
                .await?;
            after = next;
            if after.is_none() {
                break;
            }
        }
        if replayed > 0 {
            self.reopen(name).await?;
        }
        Ok(replayed)
    }

    /// Processes the rows with these ids again, whatever their outcome was. A row that is already at the
    /// version is recorded again; where the database cannot do that, as at an endpoint, the whole request is
    /// refused.
    pub async fn resend(&self, name: &str, wanted: &[String]) -> Result<Reindex, ReindexError> {
        let job = self.state.job(name).await?.job;
        let items = by_ids(&job, &batch_name("resend"), wanted)?;
        self.refuse_at_version(&job, &items).await?;
        let job = self.to_reopen(name).await?;
        if items.is_empty() {
            return Ok(job);
        }
        self.add(&job, OnceMore::Resend, items).await?;
        self.reopen(name).await
    }

    /// Refuses rows that are at the version where the stream would have no record of them.
    async fn refuse_at_version(&self, job: &Reindex, items: &[WorkItem]) -> Result<(), ReindexError> {
        let Some(version) = job.version() else {
            return Ok(());
        };
        if self.setup.touch.records_again() {
            return Ok(());
        }
        let mut there = 0_u64;
        let mut count = |row: &Item| {
            there += u64::from(is_at_version(job, row));
            Ok(())
        };
        for item in items {
            self.rest_of(job, item.clone(), &mut count).await?;
        }
        match there {
            0 => Ok(()),
            there => Err(ReindexError::refused(format!(
                "{there} of these rows are at version {version} or a later one already, and the stream of an endpoint has no record \
                 of a row that stays as it is; none was sent again. Start a reindex with a higher version and these ids: \
                 `trestle reindex start {} --version N --ids FILE`",
                job.table
            ))),
        }
    }

    /// A reindex to which work can be added. It acquires the table.
    async fn to_reopen(&self, name: &str) -> Result<Reindex, ReindexError> {
        let job = self.state.job(name).await?.job;
        if matches!(job.state, ReindexState::Preparing | ReindexState::Cancelled) {
            return Err(ReindexError::refused(format!(
                "reindex {name} is {}; start another one, with the ids as its scope",
                job.state.name()
            )));
        }
        match self.state.retake_table(&job).await? {
            true => Ok(job),
            false => Err(ReindexError::refused(format!(
                "another reindex works on table {}; wait for it, or give it up",
                job.table
            ))),
        }
    }

    async fn add(&self, job: &Reindex, why: OnceMore, items: Vec<WorkItem>) -> Result<(), ReindexError> {
        let once_more = |item| WorkItem {
            once_more: Some(why),
            ..item
        };
        let items: Vec<WorkItem> = items.into_iter().map(once_more).collect();
        Ok(self.state.add_work(&job.name, &items).await?)
    }

    /// Lets workers continue after work was added. The row of the reindex always changes, so that a worker
    /// that saw no open work before does not end the reindex.
    async fn reopen(&self, name: &str) -> Result<Reindex, ReindexError> {
        let reopen = |job: &mut Reindex| {
            if job.state == ReindexState::Done {
                job.state = ReindexState::Running;
                job.ended_at = None;
            }
            Ok(true)
        };
        let job = self.state.change_job(name, reopen).await?;
        // A worker may have ended it, and released its table, in between.
        self.state.retake_table(&job).await?;
        self.wake();
        Ok(job)
    }
}

/// Distinguishes the work items of one request from those of others.
fn batch_name(what: &str) -> String {
    format!("{what}-{:016x}", ids::random_u64())
}
