//! Klayers: Python packages as layers in every region, always with exactly one latest.
//!
//! The monthly [`run`](App::run) asks a [`PackageIndex`] for what is new, builds it, and deploys it to every region that
//! lacks it. The database keeps heads and deprecates what came before; when a deprecated layer expires, [`watch`] removes
//! it from the [`LayerStore`] and leaves a tombstone. [`http`] answers where the layers are.
//!
//! There is no key, no retry and no reading of streams in here: the model file says what a row means.

mod app;
mod build;
mod config;
mod deploy;
mod expiry;
pub mod http;
mod index;
mod layers;
/// The rows of the table, made from the model file.
#[allow(missing_docs, reason = "the model file describes them")]
pub mod model {
    trestle::model!("../../models/klayers.toml");
}
mod run;

pub use app::{App, Db, Error};
pub use build::Built;
pub use config::Files;
pub use deploy::Deployed;
pub use expiry::watch;
pub use index::{CsvIndex, PackageIndex, Release};
pub use layers::{Bucket, LayerArn, LayerStore};
pub use run::Summary;
