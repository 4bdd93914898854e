//! LittleHorse: eight entities in one partition, and numbers in keys.

use crate::models::littlehorse::*;
use crate::support::{Counted, at, embedded};
use trestle::{Database, Wait};

const TENANT: &str = "acme";
const RUN: &str = "run-1";

fn run() -> NewWfRun {
    NewWfRun {
        tenant: TENANT.into(),
        wf_run_id: RUN.into(),
        status: WfRunStatus::Starting,
        created_at: at("2024-01-01T00:00:00Z"),
    }
}

fn node(thread: i64, position: i64) -> NewNodeRun {
    NewNodeRun {
        tenant: TENANT.into(),
        wf_run_id: RUN.into(),
        thread_run_number: thread,
        position,
    }
}

fn seed<D: Database>(db: &Littlehorse<D>) {
    let (tenant, wf_run_id) = (|| TENANT.to_owned(), || RUN.to_owned());
    let nodes = [node(0, 10), node(0, 9), node(1, 0)];
    db.put(&run()).if_not_exists().wait().unwrap();
    db.put_many(&nodes).wait().unwrap();
    db.put(&NewTaskRun {
        tenant: tenant(),
        wf_run_id: wf_run_id(),
        task_guid: "t1".into(),
    })
    .wait()
    .unwrap();
    db.put(&NewVariable {
        tenant: tenant(),
        wf_run_id: wf_run_id(),
        thread_run_number: 0,
        name: "input".into(),
    })
    .wait()
    .unwrap();
    for (name, guid) in [("paid", "e1"), ("paid-twice", "e2")] {
        db.put(&NewExternalEvent {
            tenant: tenant(),
            wf_run_id: wf_run_id(),
            event_name: name.into(),
            event_guid: guid.into(),
        })
        .wait()
        .unwrap();
    }
    db.put(&NewUserTaskRun {
        tenant: tenant(),
        wf_run_id: wf_run_id(),
        user_task_guid: "u1".into(),
    })
    .wait()
    .unwrap();
    db.put(&NewWorkflowEvent {
        tenant: tenant(),
        wf_run_id: wf_run_id(),
        event_name: "done".into(),
        number: 1,
    })
    .wait()
    .unwrap();
    db.put(&NewInventory {
        tenant: tenant(),
        wf_run_id: wf_run_id(),
    })
    .wait()
    .unwrap();
}

macro_rules! of_run {
    ($parameters:ident) => {
        $parameters {
            tenant: TENANT,
            wf_run_id: RUN,
        }
    };
}

fn gets<D: Database>(db: &Littlehorse<D>) {
    let found = db.wf_run(of_run!(WfRunWhere)).wait().unwrap().unwrap();
    assert_eq!(found.status, WfRunStatus::Starting);
    let one = NodeRunWhere {
        tenant: TENANT,
        wf_run_id: RUN,
        thread_run_number: 0,
        position: 9,
    };
    assert_eq!(db.node_run(one).wait().unwrap().unwrap().position, 9);
    let one = TaskRunWhere {
        tenant: TENANT,
        wf_run_id: RUN,
        task_guid: "t1",
    };
    assert!(db.task_run(one).wait().unwrap().is_some());
    let one = VariableWhere {
        tenant: TENANT,
        wf_run_id: RUN,
        thread_run_number: 0,
        name: "input",
    };
    assert!(db.variable(one).wait().unwrap().is_some());
    assert!(db.inventory(of_run!(InventoryWhere)).wait().unwrap().is_some());
}

fn lists<D: Database>(db: &Littlehorse<D>) {
    let nodes = db.node_runs(of_run!(NodeRunsWhere)).collect().wait().unwrap();
    let order: Vec<(i64, i64)> = nodes
        .iter()
        .map(|node| (node.thread_run_number, node.position))
        .collect();
    assert_eq!(order, [(0, 9), (0, 10), (1, 0)], "padded numbers sort as numbers");
    let from = NodeRunsOfThreadWhere {
        tenant: TENANT,
        wf_run_id: RUN,
        thread_run_number: 0,
        from: 10,
    };
    let from = db.node_runs_of_thread(from).collect().wait().unwrap();
    assert_eq!(from.len(), 1);
    let tasks = db.task_runs(of_run!(TaskRunsWhere)).collect().wait().unwrap();
    let variables = db.variables(of_run!(VariablesWhere)).collect().wait().unwrap();
    let events = db
        .external_events(of_run!(ExternalEventsWhere))
        .collect()
        .wait()
        .unwrap();
    let people = db
        .user_task_runs(of_run!(UserTaskRunsWhere))
        .collect()
        .wait()
        .unwrap();
    let thrown = db
        .workflow_events(of_run!(WorkflowEventsWhere))
        .collect()
        .wait()
        .unwrap();
    let counts = (
        tasks.len(),
        variables.len(),
        events.len(),
        people.len(),
        thrown.len(),
    );
    assert_eq!(counts, (1, 1, 2, 1, 1));
    let named = ExternalEventsNamedWhere {
        tenant: TENANT,
        wf_run_id: RUN,
        event_name: "paid",
    };
    let named = db.external_events_named(named).collect().wait().unwrap();
    assert_eq!(named.len(), 1, "a name is not the beginning of another");
}

fn searches<D: Database>(db: &Littlehorse<D>) {
    for millis in 1..=3 {
        let tag = NewTag {
            tenant: TENANT.into(),
            object_type: TagObjectType::WfRun,
            attributes: "status=RUNNING".into(),
            created_millis: millis,
            object_id: format!("run-{millis}"),
        };
        db.put(&tag).wait().unwrap();
    }
    let found = db.search(SearchWhere {
        tenant: TENANT,
        object_type: TagObjectType::WfRun,
        attributes: "status=RUNNING",
    });
    let found = found.collect().wait().unwrap();
    let newest_first: Vec<i64> = found.iter().map(|tag| tag.created_millis).collect();
    assert_eq!(newest_first, [3, 2, 1]);
    let between = db.search_between(SearchBetweenWhere {
        tenant: TENANT,
        object_type: TagObjectType::WfRun,
        attributes: "status=RUNNING",
        from: 2,
        to: 3,
    });
    assert_eq!(between.collect().wait().unwrap().len(), 2);
    db.delete_many(&found).wait().unwrap();
}

/// DeleteWfRun: one query, one pass.
fn deletes<D: Database>(db: &Littlehorse<D>) {
    let everything = || db.everything_of_wf_run(of_run!(EverythingOfWfRunWhere));
    let run = db
        .update_wf_run(run().key())
        .set_status(WfRunStatus::Completed)
        .wait()
        .unwrap();
    let found = everything().gather().wait().unwrap();
    assert_eq!(found.wf_run, Some(run));
    assert_eq!(found.node_run.len(), 3);
    assert!(found.inventory.is_some());
    for row in everything().collect().wait().unwrap() {
        let gone = match row {
            EverythingOfWfRunRow::WfRun(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::NodeRun(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::TaskRun(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::Variable(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::ExternalEvent(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::UserTaskRun(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::WorkflowEvent(row) => db.delete(row).wait(),
            EverythingOfWfRunRow::Inventory(row) => db.delete(row).wait(),
        };
        assert!(gone.unwrap());
    }
    assert_eq!(everything().first().wait().unwrap(), None);
}

pub(crate) fn story<D: Database>(db: &Littlehorse<D>) {
    seed(db);
    gets(db);
    lists(db);
    searches(db);
    deletes(db);
}

#[test]
fn everything_of_a_run_is_written_found_and_deleted_on_the_engine() {
    story(&Littlehorse::apply_to(&embedded()).unwrap());
}

#[test]
fn the_same_on_any_database_whether_or_not_it_has_the_model() {
    let embedded = embedded();
    Littlehorse::apply_to(&embedded).unwrap();
    story(&Littlehorse::on(Counted::new(embedded)).model_applied());
    story(&Littlehorse::on(Counted::new(crate::support::plain::<
        LittlehorseModel,
    >())));
}
