//! A run is a row, and so is each node that it comes to, each task, variable and event. Whatever happens to a run is a
//! command: a step reads the run, carries the command out in memory, and commits every row that changes, its tags and the
//! message that it leaves for later, in one transaction that holds only if no other step came first.
//!
//! Start reading at `service.rs`, then `step.rs` and `commands.rs`.

mod advance;
pub mod api;
mod cli;
mod commands;
mod delete;
mod error;
mod lists;
mod service;
mod spec;
mod step;
mod tags;
mod worker;

pub use cli::{Open, main};
pub use commands::{Attempt, Command, Event, RunWf};
pub use delete::DELETES_MAX;
pub use error::{Error, Result};
pub use lists::Texts;
pub use service::{Service, TIMERS};
pub use spec::Spec;
