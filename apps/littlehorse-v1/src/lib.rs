//! The version of `apps/littlehorse` before its keys were grouped: the same program, compiled with the legacy layout's model.

#[path = "../../littlehorse/src/engine/mod.rs"]
mod engine;
#[path = "../../littlehorse/src/model.rs"]
pub mod model;

pub use engine::*;

/// The access patterns that find all rows of a run, but the run itself: each type lies in a range of its own.
const OBJECTS: &str =
    "node_runs variables external_events task_runs user_task_runs workflow_events inventories";
