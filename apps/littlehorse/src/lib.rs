//! LittleHorse on Trestle: a small workflow engine whose rows are regrouped while workflows run. `engine` is the program. It is
//! compiled a second time in `apps/littlehorse-v1`, with the model of the legacy layout: that is the version before.

mod engine;
mod layout;
pub mod model;

pub use engine::*;
