//! Where the rows of a run lie in this version: each type in a range of its own.

/// The access patterns that find all rows of a run, but the run itself.
pub(crate) const BELONGINGS: &[&str] = &[
    "node_runs",
    "variables",
    "external_events",
    "task_runs",
    "user_task_runs",
    "workflow_events",
    "inventories",
];
