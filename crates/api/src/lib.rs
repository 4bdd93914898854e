//! Every operation as plain data, the one public [`Error`], and the trait [`Database`], which embedded
//! engines and remote endpoints implement.
//!
//! A request is named as its operation ([`PutItem`]), its answer adds `Output` ([`PutItemOutput`]). Members
//! are named as in DynamoDB's API reference, in snake case. Members the API requires are plain, the others are
//! `Option`s. The serde form of each type is exactly DynamoDB's JSON: absent members stay absent, and a missing
//! required member is an error. Nothing here checks more than types; `wire` knows the constraints and the
//! engine the meaning.
//!
//! Start reading at the list of operations in `operation.rs`.
//!
//! ```
//! use trestle_api::PutItem;
//! use trestle_item::Item;
//!
//! let request = PutItem {
//!     table_name: "music".into(),
//!     item: Item::from([("artist", "Miles")]),
//!     ..PutItem::default()
//! };
//! let json = serde_json::to_value(&request).unwrap();
//! assert_eq!(json["TableName"], "music");
//! assert_eq!(json["Item"]["artist"]["S"], "Miles");
//! ```

#[macro_use]
mod wire_enum;

mod access;
mod backups;
mod capacity;
mod database;
mod endpoints;
mod epoch_seconds;
mod error;
mod item;
mod limits;
mod named_tables;
mod operation;
mod own_tables;
mod partiql;
mod pause;
mod repeats;
mod row_page;
mod streams;
mod table;
mod tags;
mod time_to_live;
mod touch;
mod unsupported;
mod wait;

pub use access::Access;
pub use backups::*;
pub use capacity::*;
pub use database::{Database, DatabaseExt, ForwardFuture, ResponseFuture};
pub use endpoints::*;
pub use epoch_seconds::EpochSeconds;
pub use error::{CancellationCode, CancellationReason, Error, ErrorKind, Taken};
pub use item::*;
pub use limits::*;
pub use named_tables::table_name;
pub use operation::{Family, Operation, OperationName, Request, Response, UNSUPPORTED};
pub use own_tables::{OWN_TABLES, is_own_table, own_table_refusal};
pub use partiql::*;
pub use pause::{Pause, pause_after};
pub use repeats::{count_repeats, note_repeat};
pub use row_page::RowPage;
pub use streams::*;
pub use table::*;
pub use tags::*;
pub use time_to_live::*;
pub use touch::{REINDEX_VERSION, TouchRows, Touched};
pub use unsupported::Unsupported;
pub use wait::Wait;

// The parameters from before expressions existed; `expr` interprets them.
pub use trestle_expr::legacy::{
    AttributeAction, AttributeValueUpdate, ComparisonOperator, ConditionalOperator, ExpectedAttributeValue,
    LegacyCondition,
};
