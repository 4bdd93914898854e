//! Imports the exports of Cassandra's tools, or a live cluster, as rows of a Trestle model.
//!
//! A CQL schema describes the columns ([`Schema`]), and a mapping file says which of them make which entity
//! ([`Mapping`]). With the model, both give a [`Plan`]: for each file, how a record becomes a row. The model
//! derives the keys. [`check`](Plan::check) reads every row and writes nothing, [`Import`] writes,
//! [`verify`](Plan::verify) compares the database with the files. [`propose`] makes a model file and a
//! mapping file from a schema.
//!
//! ```
//! use trestle_cassandra::{Schema, SchemaError, propose};
//!
//! # fn main() -> Result<(), SchemaError> {
//! let schema = Schema::read("CREATE TABLE shop.orders (customer text, number int, cents bigint, PRIMARY KEY (customer, number));")?;
//! let proposed = propose(&schema, "shop", Some("schema.cql"));
//! assert!(proposed.model.contains("model = \"shop\""));
//! assert!(trestle_model::load(&proposed.model).model.is_some());
//! # Ok(())
//! # }
//! ```

mod export;
#[cfg(feature = "live")]
mod live;
mod mapping;
mod propose;
mod run;
mod schema;
mod value;

pub use export::{CsvFields, CsvReader, CsvSettings, Encoding};
#[cfg(feature = "live")]
pub use live::{LiveCluster, LiveError, LiveSettings};
pub use mapping::{BoundImport, Mapping, MappingError, Plan};
pub use propose::{ProposedFiles, propose};
pub use run::{
    Checked, Collision, Decision, EntityCounts, Import, ImportSettings, ImportState, ImportTotals, Misfit,
    Observer, RecordPlace, RunError, Verified,
};
pub use schema::{Column, ColumnKind, CqlTable, CqlType, Native, Schema, SchemaError};
pub use value::{Literal, parse_cqlsh, parse_json};
