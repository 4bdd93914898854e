//! Delete: all rows of a run, a bounded number in each commit; the database deletes their tags. What is left goes in further
//! steps, which the queue of timers keeps, so that a delete goes on after a crash.

use std::time::Duration;

use serde_json::{Value, json};

use super::commands::Command;
use super::step::{Writes, due, unchanged};
use super::{Error, Result, Service, TIMERS};
use crate::layout::OBJECTS;
use crate::model::{LittlehorseRow, WfRun, WfRunStatus};

/// The most rows of a run that one commit deletes, besides the run itself.
pub const DELETES_MAX: u32 = 50;

impl Service {
    /// One step of a delete: how many rows it deleted. The run itself goes with the last step. `None`: the run changed.
    pub(crate) async fn delete_step(&self, tenant: &str, id: &str) -> Result<Option<Value>> {
        let run = self.wf_run(tenant, id).await?;
        if run.status == WfRunStatus::Running {
            return Err(Error::Conflict("the run is RUNNING: stop it first".to_owned()));
        }
        let mut rows = Vec::new();
        for access in OBJECTS {
            let wanted = [("tenant", tenant), ("wfRunId", id)].into();
            rows.extend(self.rows(access, wanted).page_size(DELETES_MAX + 2).page().await?.rows);
        }
        rows.retain(|row| !matches!(row, LittlehorseRow::WfRun(_)));
        let is_last = rows.len() <= DELETES_MAX as usize;
        rows.truncate(DELETES_MAX as usize);
        let (count, only_if) = (rows.len() + usize::from(is_last), unchanged(&run));
        let writes = rows.into_iter().fold(self.db.transaction(), without);
        let (writes, next) = match is_last {
            true => (writes.with(self.db.delete(&run).only_if(only_if)), None),
            false => {
                let next = due(TIMERS, &run, Command::Delete, Duration::ZERO)?;
                let revision = run.revision + 1;
                let kept = WfRun { deleting: true, revision, ..run };
                (writes.with(self.db.put(&kept).only_if(only_if)), Some(next))
            }
        };
        let answer = json!({ "deleted": count, "done": is_last });
        Ok(self.send(writes, next).await?.then_some(answer))
    }
}

fn without(writes: Writes<'_>, row: LittlehorseRow) -> Writes<'_> {
    match row {
        LittlehorseRow::NodeRun(row) => writes.delete(&row),
        LittlehorseRow::Variable(row) => writes.delete(&row),
        LittlehorseRow::ExternalEvent(row) => writes.delete(&row),
        LittlehorseRow::TaskRun(row) => writes.delete(&row),
        LittlehorseRow::UserTaskRun(row) => writes.delete(&row),
        LittlehorseRow::WorkflowEvent(row) => writes.delete(&row),
        LittlehorseRow::Inventory(row) => writes.delete(&row),
        // What is no row of a run stays.
        _ => writes,
    }
}
