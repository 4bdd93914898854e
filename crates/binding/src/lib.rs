//! A model bound to the embedded engine: the commit hook, the stored models, apply and diff.
//!
//! [`Binding::open`] loads the models that are stored with the data and lets the engine enforce them;
//! [`Binding::apply`] makes the database what a model says. What it did, would do or could not do is a [`Report`].

mod binding;
mod call;
mod commit_rows;
mod fill;
mod models;
mod plan;
mod report;
mod request;
mod rows;
mod schema;
mod step;
mod stored;
mod watcher;

pub use binding::{ApplyOptions, BindError, Binding};
pub use models::Models;
pub use report::{Misfit, ModelSummary, Obstacle, Outcome, Report, Step, TableRows};
pub use request::request;
pub use watcher::{Nobody, Watcher};
