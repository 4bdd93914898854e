//! Where the rows of a run lie in this version: in one partition, so that one range reads them.

use trestle::Embedded;

use crate::Result;
use crate::model::{Littlehorse, LittlehorseRow, ObjectsOfRunRow, ObjectsOfRunWhere};

/// At most so many rows of a run.
pub(crate) async fn objects(
    db: &Littlehorse<Embedded>,
    tenant: &str,
    wf_run_id: &str,
    limit: u32,
) -> Result<Vec<LittlehorseRow>> {
    let objects = db.objects_of_run(ObjectsOfRunWhere { tenant, wf_run_id });
    let page = objects.page_size(limit).page().await?;
    Ok(page.rows.into_iter().map(row).collect())
}

fn row(row: ObjectsOfRunRow) -> LittlehorseRow {
    match row {
        ObjectsOfRunRow::WfRun(row) => LittlehorseRow::WfRun(row),
        ObjectsOfRunRow::NodeRun(row) => LittlehorseRow::NodeRun(row),
        ObjectsOfRunRow::Variable(row) => LittlehorseRow::Variable(row),
        ObjectsOfRunRow::ExternalEvent(row) => LittlehorseRow::ExternalEvent(row),
        ObjectsOfRunRow::TaskRun(row) => LittlehorseRow::TaskRun(row),
        ObjectsOfRunRow::UserTaskRun(row) => LittlehorseRow::UserTaskRun(row),
        ObjectsOfRunRow::WorkflowEvent(row) => LittlehorseRow::WorkflowEvent(row),
        ObjectsOfRunRow::Inventory(row) => LittlehorseRow::Inventory(row),
    }
}
