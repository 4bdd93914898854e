//! The basis of code that is generated from a model file: rows and keys as structs, conditions, updates,
//! pages and transactions over any [`Database`].
//!
//! This crate is not used directly: `trestle::model!` generates thin wrappers over it, and the functions here
//! do the work for all entities. Everything is checked with `trestle-model`, so that the client derives the
//! same keys as a database that knows the model.
//!
//! No runtime is needed: writes and reads are futures of the database, pages are a [`Stream`].
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod access_rows;
mod attribute;
mod batch;
mod bookmark;
mod by_name;
mod change;
mod client;
mod count;
mod definition;
mod delete_rows;
mod draft;
mod entity;
mod error;
mod gather;
mod get;
mod handle;
mod held;
mod large_value;
mod page;
mod prerelease;
mod row;
mod send;
mod stream;
mod transaction;
mod value;
mod write;

pub use access_rows::{AccessRows, Queried, Scanned};
pub use attribute::{Attribute, If};
pub use bookmark::Bookmark;
pub use client::Client;
pub use definition::{Definition, Model};
pub use delete_rows::DeleteRows;
pub use draft::Draft;
pub use entity::{AnyRow, Entity, Key, Remove, Write, insert, insert_optional};
pub use error::{Canceled, Error, Failed, Misfit, Reason};
pub use gather::Collection;
pub use get::Get;
pub use handle::Handle;
pub use held::Held;
pub use large_value::{LargeReader, LargeWriter};
pub use page::Page;
pub use prerelease::next_prerelease;
pub use row::{FromRow, Row, read, read_from};
pub use stream::RowStream;
pub use transaction::{Part, Transaction};
pub use trestle_api::Wait;
pub use trestle_model::{LargeValue, Precision};
pub use value::{Contains, EpochSeconds, NotATimestamp, NotOneOf, Ordered, Text, Timestamp, Value};
pub use write::{Check, Delete, Put, Update};

pub use futures_core::Stream;
pub use semver::Version;
#[doc(hidden)]
pub use serde;
pub use trestle_api::Database;
pub use trestle_collection::{CollectionBookmark, CollectionStep, LeftRow};
pub use trestle_env::Clock;
pub use trestle_item::{AttributeValue, Item, Map, Number, Plain};

/// A future to which a builder is converted when it is awaited.
pub type Future<'d, T> = std::pin::Pin<Box<dyn std::future::Future<Output = Result<T, Error>> + Send + 'd>>;
