//! Klayers: Python packages as layers in every region, always with exactly one latest.
//!
//! The monthly [`run`](App::run) asks a [`PackageIndex`] for new releases, builds them, and deploys them to
//! every region that lacks them. The database keeps heads and deprecates predecessors; when a deprecated
//! layer expires, [`watch`] removes it from the [`LayerStore`] and leaves a tombstone. [`http`] serves lists
//! of layers, also to clients of Lambda.
//!
//! The application contains no keys, retries or reading of streams: the model file defines the meaning of
//! rows.

mod app;
mod archive;
mod build;
mod config;
mod deploy;
mod expiry;
pub mod http;
mod index;
mod layers;
mod licence;
/// The rows of the table, generated from the model file.
#[allow(missing_docs, reason = "the model file describes them")]
pub mod model {
    trestle::model!("../../models/klayers.toml");
}
mod needs;
mod pip;
mod python;
mod run;
mod runs;

pub use app::{App, Db, Error};
pub use build::{Built, Force};
pub use config::Files;
pub use deploy::Deployed;
pub use expiry::watch;
pub use index::{CsvIndex, PackageIndex, Release, package_of};
pub use layers::{ACCOUNT, Bucket, LayerArn, LayerStore};
pub use pip::Pip;
pub use run::{Progress, Summary};
pub use runs::{Runs, RunsDb, model as runs_model};
