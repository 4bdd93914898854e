//! A run is a row, and so is each node that it enters, each task, variable and event. Every change of a run
//! is a command: a step reads the run, applies the command in memory, and commits all changed rows, their
//! tags and the message for later, in one transaction that succeeds only if no other step was first.
//!
//! Start reading at `service.rs`, then `step.rs` and `commands.rs`. Common imports are here.

mod advance;
pub mod api;
mod cli;
mod commands;
mod delete;
mod search;
mod service;
mod spec;
mod step;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trestle::app::OrNothing as _;
use trestle::typed::Held;

use self::commands::{Attempt, Command, Event, RunWf};
use self::search::{Getable, entity, tag};
use self::service::{Poll, task_queue};
use self::spec::{Action, Node, Spec, Task, check_name};
use self::step::{Due, Step, THREAD, busy, of_run, unchanged};
use crate::model::*;

pub use cli::{Open, run};
pub use delete::DELETES_MAX;
pub use search::Texts;
pub use service::{Service, TIMERS};
pub use trestle::app::{Error, Result};
