//! Delete: all rows of a run, a bounded number in each step; the database deletes their tags. First the run is marked, and
//! from then on nothing else happens to it; it goes last. A message lets a delete go on after a crash.

use super::*;
use crate::BELONGINGS;

/// The most rows of a run that one step reads in order to delete them.
pub const DELETES_MAX: u32 = 50;

/// When a delete goes on whose process died.
const RESUMED_AFTER: Duration = Duration::from_secs(60);

impl Service {
    /// One step of a delete: how many rows it deleted. `None`: the run changed.
    pub(crate) async fn delete_step(&self, due: &Due) -> Result<Option<Value>> {
        let mut run = self.wf_run(due).await?;
        if run.status == WfRunStatus::Running {
            return Err(Error::Conflict("the run is RUNNING: stop it first".to_owned()));
        }
        if !run.deleting && !self.mark(&mut run).await? {
            return Ok(None);
        }
        let mut count = 0;
        for access in BELONGINGS {
            let told = [due.tenant.as_str(), &due.run];
            let rows = self.db.rows_of::<LittlehorseRow>(access, &told)?.delete();
            let step = rows.rows_per_step(DELETES_MAX - count).step().await?;
            count += u32::try_from(step.rows).unwrap_or(DELETES_MAX);
            if step.next.is_some() || count >= DELETES_MAX {
                let next = Due::message(TIMERS, &run, Command::Delete, Duration::ZERO)?;
                self.send(self.db.transaction(), Some(next)).await?;
                return Ok(Some(json!({ "deleted": count, "done": false })));
            }
        }
        // If it is gone already, another process went on with this delete.
        let gone = self.db.delete(&run).only_if(unchanged(&run));
        self.send(self.db.transaction().with(gone), None).await?;
        Ok(Some(json!({ "deleted": count + 1, "done": true })))
    }

    /// Lets all other commands refuse the run; says whether it had not changed.
    async fn mark(&self, run: &mut WfRun) -> Result<bool> {
        let resumed = Due::message(TIMERS, run, Command::Delete, RESUMED_AFTER)?;
        let is_unchanged = unchanged(run);
        run.deleting = true;
        run.revision += 1;
        let marked = self.db.put(&*run).only_if(is_unchanged);
        self.send(self.db.transaction().with(marked), Some(resumed)).await
    }
}
