//! Reindexer: a catalogue whose records can be transformed again at any time.
//!
//! Five sources keep versioned rows, with their payloads in an object store. A pipeline transforms each into
//! a work and adds it to a full-text index. When the transformers change, a new pipeline begins with an empty
//! index, a reindex sends it every record while the sources continue to change, and searches are switched
//! over when nothing is missing.
//!
//! Start reading at [`Catalogue`], then `pipeline.rs`. The two designs of reindexing are `shards.rs` and `segments.rs`.

pub mod api;
mod catalogue;
mod index;
mod jobs;
pub mod model;
mod pipeline;
mod records;
mod segments;
mod shards;
mod source;
mod status;
mod transform;

pub use catalogue::{Catalogue, Setup};
pub use index::SearchIndex;
pub use jobs::{JobConfig, NewReindex, Started, jobs};
pub use pipeline::Pipeline;
pub use records::RecordFacts;
pub use segments::{Parameters, ReindexJob};
pub use shards::{RowRequest, ShardRequest, Shards};
pub use source::{Source, SourcePayload, check_id};
pub use status::{MissingRecord, RunStatus, Stages, Status};
pub use transform::{Kind, TRANSFORMERS, Work, WorkText, transform};
pub use trestle::app::{Error, Result};
