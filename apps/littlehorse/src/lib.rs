//! LittleHorse on Trestle: a small workflow engine whose rows are regrouped while workflows run. `engine` is
//! the program. It is compiled a second time in `apps/littlehorse-v1`, the previous version, with the model
//! of the legacy layout.

mod engine;
pub mod model;

pub use engine::*;

/// The access patterns that find all rows of a run: one, because they are in one partition.
const OBJECTS: &str = "objects_of_run";
