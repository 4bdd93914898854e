//! Delete: all rows of a run, a bounded number in each step; the database deletes their tags. It is the one command of several
//! commits: the first marks the run, and nothing else happens to it from then on. A message lets it go on after a crash.

use super::*;
use crate::BELONGINGS;

/// The most rows of a run that one step reads in order to delete them.
pub const DELETES_MAX: u32 = 50;
/// When a delete goes on whose process died.
const RESUMED_AFTER_SECONDS: u64 = 60;

impl Service {
    /// One step of a delete: how many rows it deleted. `None`: the run changed.
    pub(crate) async fn delete_step(&self, due: &Due) -> Result<Option<Value>> {
        let mut run = self.wf_run(due).await?;
        if run.status == WfRunStatus::Running {
            return Err(Error::Conflict("the run is RUNNING: stop it first".to_owned()));
        }
        if !run.deleting {
            let mut step = Step::of(self, run, Spec::default());
            step.run.deleting = true;
            step.leave(TIMERS, Command::Delete, RESUMED_AFTER_SECONDS)?;
            let Some(marked) = step.commit().await? else {
                return Ok(None);
            };
            run = marked;
        }
        let mut count = 0;
        for access in BELONGINGS.split(' ') {
            let told = [due.tenant.as_str(), &due.run];
            let rows = self.db.rows_of::<LittlehorseRow>(access, &told)?.delete();
            let step = rows.rows_per_step(DELETES_MAX - count).step().await?;
            count += u32::try_from(step.rows).unwrap_or(DELETES_MAX);
            if step.next.is_some() || count >= DELETES_MAX {
                let (queue, message) = Due::message(TIMERS, &run, Command::Delete, 0)?;
                self.queues.send(&queue, message).await?;
                return Ok(Some(json!({ "deleted": count, "done": false })));
            }
        }
        // If it is gone already, another process went on with this delete.
        self.db.delete(&run).only_if(unchanged(&run)).await.held()?;
        Ok(Some(json!({ "deleted": count + 1, "done": true })))
    }
}
