//! The version of `apps/littlehorse` before its keys were grouped: the same program, compiled with the model of the legacy
//! layout. Tests start it, let it write, and start the present version on its data.

#[path = "../../littlehorse/src/engine/mod.rs"]
mod engine;
mod layout;
#[path = "../../littlehorse/src/model.rs"]
pub mod model;

pub use engine::*;
