//! All rows of a partition, of a key prefix or of an access pattern, deleted in bounded steps over any
//! [`Database`](trestle_api::Database).
//!
//! ```
//! use trestle_collection::{CollectionRows, StepBounds};
//! # use trestle_api::{AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, Wait};
//! # use trestle_embedded::{Embedded, Options};
//! # use trestle_item::{AttributeValue, Item, ScalarType};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let db = Embedded::in_memory(Options::default())?;
//! # db.run(CreateTable {
//! #     table_name: "shop".into(),
//! #     attribute_definitions: ["pk", "sk"].map(|name| AttributeDefinition {
//! #         attribute_name: name.into(),
//! #         attribute_type: ScalarType::S,
//! #     }).into(),
//! #     key_schema: [("pk", KeyType::Hash), ("sk", KeyType::Range)].map(|(name, key_type)| KeySchemaElement {
//! #         attribute_name: name.into(),
//! #         key_type,
//! #     }).into(),
//! #     billing_mode: Some(BillingMode::PayPerRequest),
//! #     ..CreateTable::default()
//! # })?;
//! # for sk in ["order#1", "order#2", "orders"] {
//! #     let item = Item::from([("pk", "ada"), ("sk", sk)]);
//! #     db.run(PutItem { table_name: "shop".into(), item, ..PutItem::default() })?;
//! # }
//! # let future = async {
//! let orders = CollectionRows::of_partition(&db, "shop", "ada".into()).await?.beginning_with("order#".into())?;
//! let mut after = None;
//! loop {
//!     let step = orders.delete(&db, after.as_ref(), StepBounds::default()).await?;
//!     println!("{} rows deleted", step.rows);
//!     after = step.next;
//!     if after.is_none() {
//!         break;
//!     }
//! }
//! # Ok::<_, trestle_api::Error>(())
//! # };
//! # future.wait()?;
//! # Ok(())
//! # }
//! ```
//!
//! Each row is deleted as a client would delete it: with conditions, effects of a model, streams and routes.
//! A row and its derived rows are deleted in one commit.
//!
//! A step reads some rows and deletes them. The next one continues where it ended, in another process if
//! necessary: a bookmark is text. Repeating a step only costs time, because it finds fewer rows. Rows that
//! are written during the deletion are deleted if their position has not been passed yet.

mod access;
mod bookmark;
mod delete;
mod rows;
mod step;
mod text;

pub use access::parameters;
pub use bookmark::CollectionBookmark;
pub use rows::CollectionRows;
pub use step::{CollectionStep, LeftRow, StepBounds};
