//! Where the rows of a run lie in this version: each type in a range of its own.

use trestle::Embedded;

use crate::Result;
use crate::model::{
    ExternalEventsWhere, InventoryKey, Littlehorse, LittlehorseRow, NodeRunsWhere, TaskRunsWhere,
    UserTaskRunsWhere, VariablesWhere, WfRunKey, WorkflowEventsWhere,
};

macro_rules! list {
    ($rows:ident, $limit:ident, $db:ident.$access:ident($where:ident) as $entity:ident, $tenant:ident, $run:ident) => {
        let found = $db.$access($where {
            tenant: $tenant,
            wf_run_id: $run,
        });
        let page = found.page_size($limit).page().await?;
        $rows.extend(page.rows.into_iter().map(LittlehorseRow::$entity));
    };
}

/// Some rows of a run, at most so many of each type.
pub(crate) async fn objects(
    db: &Littlehorse<Embedded>,
    tenant: &str,
    run: &str,
    limit: u32,
) -> Result<Vec<LittlehorseRow>> {
    let (own, wf_run_id) = (tenant.to_owned(), run.to_owned());
    let key = WfRunKey {
        tenant: own.clone(),
        wf_run_id: wf_run_id.clone(),
    };
    let mut rows: Vec<LittlehorseRow> = db
        .get(key)
        .consistent()
        .await?
        .map(LittlehorseRow::WfRun)
        .into_iter()
        .collect();
    list!(rows, limit, db.node_runs(NodeRunsWhere) as NodeRun, tenant, run);
    list!(rows, limit, db.task_runs(TaskRunsWhere) as TaskRun, tenant, run);
    list!(rows, limit, db.variables(VariablesWhere) as Variable, tenant, run);
    list!(
        rows,
        limit,
        db.external_events(ExternalEventsWhere) as ExternalEvent,
        tenant,
        run
    );
    list!(
        rows,
        limit,
        db.user_task_runs(UserTaskRunsWhere) as UserTaskRun,
        tenant,
        run
    );
    list!(
        rows,
        limit,
        db.workflow_events(WorkflowEventsWhere) as WorkflowEvent,
        tenant,
        run
    );
    let inventory = db
        .get(InventoryKey {
            tenant: own,
            wf_run_id,
        })
        .consistent()
        .await?;
    rows.extend(inventory.map(LittlehorseRow::Inventory));
    Ok(rows)
}
