//! Delete: all rows of a run, a bounded number in each step; the database deletes their tags. Each step is
//! one commit. The last one deletes the run, too; the others mark it, so that no other command changes it,
//! and leave the message that continues the delete.

use super::*;
use crate::OBJECTS;

/// The most rows of a run that one step reads in order to delete them.
pub const DELETES_MAX: u32 = 50;

impl Service {
    /// One step of a delete: how many rows it deleted. `None` if the run changed.
    pub(crate) async fn delete_step(&self, due: &Due) -> Result<Option<Value>> {
        // One list has the run and its rows, as of one moment. Several lists are read one after another,
        // after the run: its revision shows whether there was a step in between.
        let mut run = match OBJECTS.contains(' ') {
            true => Some(self.wf_run(due).await?),
            false => None,
        };
        let (mut rows, mut is_all) = (Vec::<LittlehorseRow>::new(), true);
        let mut lists = OBJECTS.split(' ');
        while let Some(list) = lists.next().filter(|_| is_all) {
            let list = self.db.rows_of(list, &[&due.tenant, &due.run])?;
            let left = DELETES_MAX - u32::try_from(rows.len()).unwrap_or(DELETES_MAX);
            let page = list.page_size(left).at_once().await.or_nothing()?;
            rows.extend(page.rows);
            is_all = page.next.is_none() && rows.len() < DELETES_MAX as usize;
        }
        let is_run = |row: &mut LittlehorseRow| matches!(row, LittlehorseRow::WfRun(_));
        if let Some(LittlehorseRow::WfRun(found)) = rows.extract_if(.., is_run).next() {
            run = Some(found);
        }
        let run = match run {
            // It lies behind the rows that were read.
            None if !is_all => self.wf_run(due).await?,
            run => due.meant(run)?,
        };
        if run.status == WfRunStatus::Running {
            return Err(Error::Conflict("the run is RUNNING: stop it first".to_owned()));
        }
        let answer = json!({ "deleted": rows.len() + usize::from(is_all), "done": is_all });
        let mut step = Step::of(self, run, Spec::default());
        rows.iter().for_each(|row| step.writes.remove(row));
        if is_all {
            let run = self.db.delete(&step.run).only_if(unchanged(&step.run));
            return Ok(step.writes.with(run).commit().await.held()?.map(|()| answer));
        }
        step.run.deleting = true;
        step.leave(TIMERS, Command::Delete, 0)?;
        Ok(step.commit().await?.map(|_| answer))
    }
}
