//! Warehouse: a registry of npm packages that builds them for each environment and locale.
//!
//! A package that is published is stored, and jobs to build it wait in a queue, in one commit. Workers build
//! each locale, store the files, and write a row when the files can be fetched. When all locales are built,
//! one write of the [`model::Release`] of package and environment makes them the builds in use.
//!
//! Start reading at [`Service`], then `publish.rs`, `build.rs` and `heads.rs`.

pub mod api;
mod build;
mod bundler;
mod catch_up;
pub mod demo;
mod heads;
mod jobs;
mod lines;
pub mod model;
mod packument;
mod publication;
mod publish;
mod service;
mod spec;
mod status;
mod webhooks;

pub use bundler::{Bundler, File, Files, Source, bundler};
pub use catch_up::CaughtUp;
pub use jobs::{JOBS, Job};
pub use lines::Line;
pub use model::BuildEnv as Env;
pub use publication::{Manifest, Publication};
pub use service::{Running, Service, Setup};
pub use spec::{DEFAULT_LOCALE, Spec, locales_to_try};
pub use status::{Begun, Progress};
pub use trestle::app::{Error, Result};
pub use webhooks::WEBHOOKS;
