//! Trestle in your own process: open a directory, call DynamoDB's operations, no socket.
//!
//! The database behind `trestle serve` is a library. [`Embedded`] keeps its data in a directory or in memory; every
//! operation of DynamoDB is a plain struct in [`api`], named as the operation, with members named as in DynamoDB's
//! API reference. Answers, limits and error texts are the same as over the network.
//!
//! ```
//! use trestle::api::{AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, Query};
//! use trestle::{AttributeValue, Embedded, Item, Options, ScalarType};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Embedded::in_memory(Options::default())?;
//! db.run(CreateTable {
//!     table_name: "music".into(),
//!     attribute_definitions: vec![AttributeDefinition {
//!         attribute_name: "artist".into(),
//!         attribute_type: ScalarType::S,
//!     }],
//!     key_schema: vec![KeySchemaElement {
//!         attribute_name: "artist".into(),
//!         key_type: KeyType::Hash,
//!     }],
//!     billing_mode: Some(BillingMode::PayPerRequest),
//!     ..CreateTable::default()
//! })?;
//! db.run(PutItem {
//!     table_name: "music".into(),
//!     item: Item::from([
//!         ("artist", AttributeValue::from("Miles")),
//!         ("born", AttributeValue::from(1926_i64)),
//!     ]),
//!     ..PutItem::default()
//! })?;
//! let answer = db.run(Query {
//!     table_name: "music".into(),
//!     key_condition_expression: Some("artist = :a".into()),
//!     expression_attribute_values: Some(Item::from([(":a", "Miles")])),
//!     ..Query::default()
//! })?;
//! assert_eq!(answer.count, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Opening
//!
//! | | |
//! |---|---|
//! | [`Embedded::open`] | a directory, made if it is missing; one process at a time |
//! | [`Embedded::in_memory`] | nothing is kept: for tests |
//! | [`Embedded::on`] | any [`Store`] and any [`Clock`]; with a [`VirtualClock`] a test decides when items expire |
//! | [`Embedded::open_for_repair`] | a directory whose stored models do not load, to correct or remove them |
//!
//! Models that were applied before are in force when the database is open: rows whose time passed while it
//! was closed expire with everything that follows from it. A handle is cheap to clone and can be used from
//! any number of threads. It provides [`models`](Embedded::models) and [`queues`](Embedded::queues). The
//! database closes with its last handle; [`Embedded::close`] does it in order and reports errors.
//!
//! Tables whose names begin with `_trestle` belong to Trestle. Programs read them and do not write them, except for parts of large
//! values, which a typed client puts by itself.
//!
//! # Calling
//!
//! - **On a thread**: [`Embedded::run`] blocks until the answer is available. A write is answered when it is
//!   as durable as [`StoreSettings::durability`] requires: by default, when it would survive a power cut.
//! - **In a task**: import [`DatabaseExt`] and `db.put_item(…).await`. No runtime is needed or assumed; reads
//!   run on the calling thread, writes wait for the commit that they share with others.
//! - **Against [`Database`]**: code that takes `&dyn Database` runs on this database and on any other
//!   endpoint with DynamoDB's operations.
//!
//! Failures are one type, [`Error`]: its [`ErrorKind`] is DynamoDB's exception, its message DynamoDB's text. A cancelled
//! transaction carries its reasons in the order of its items, a failed condition the item that failed it, if asked to.
//!
//! A program to start from is in `examples/embedded.rs`: `cargo run -p trestle --example embedded`.
//!
//! # With a model
//!
//! [`model!`] reads a model file when the program is compiled, and generates a struct for each entity and a
//! function for each access pattern. Programs build no keys, and code that the model does not allow does not
//! compile.
//!
//! ```
//! use trestle::typed::Timestamp;
//! use trestle::{Embedded, Options, Wait};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! use shop::{NewOrder, Order, OrderStatus, Shop};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Shop::apply_to(&Embedded::in_memory(Options::default())?)?;
//! let order = NewOrder {
//!     customer: "ada".into(),
//!     number: 1,
//!     placed: Timestamp::parse("2024-05-01T08:00:00.000Z")?,
//!     cents: 1250,
//! };
//! db.put(&order).if_not_exists().wait()?;
//!
//! // The order leaves one place of the index and takes another, in the same commit.
//! db.update_order(order.key())
//!     .set_status(OrderStatus::Paid)
//!     .only_if(Order::STATUS.equals(OrderStatus::Open))
//!     .wait()?;
//! let paid = db.orders_by_status(OrderStatus::Paid).collect().wait()?;
//! assert_eq!(paid.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! In a task it is `.await`; [`Wait`] is for threads. The guide is `docs/model/typed-client.md`, an
//! application is `examples/manhunt.rs`; the basis of the generated code is in [`typed`].
//!
//! Handlers of changes are in [`events`]; work that is done later, or retried, in [`queue`]; changes of the
//! key layout without downtime in [`migrate`]; processing every row again, for a new index or a changed
//! transformation, in [`reindex`].
//!
//! An attribute of type `large` holds more than an item: `db.write_large(&bytes)` before the row is put, `db.read_large(&row.payload)`
//! afterwards; `docs/model/typed-client.md` has the rest.
//!
//! # On a remote endpoint
//!
//! With the feature `remote`, a `Remote` is a [`Database`], too: Amazon DynamoDB, ScyllaDB Alternator,
//! DynamoDB Local, or `trestle serve`, over HTTP or HTTPS, signed with the credentials of the environment.
//! Code for [`Database`] runs there unchanged. A `Gateway` in front of it enforces models, as a directory
//! does, and any number of programs can have one:
//!
//! ```no_run
//! use std::sync::Arc;
//! use trestle::remote::{Remote, Settings};
//! use trestle::{Gateway, Wait};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! use shop::{OrderStatus, Shop};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = "https://dynamodb.eu-west-1.amazonaws.com";
//! let remote = Remote::new(Settings::from_environment(endpoint))?;
//! let db = Shop::apply_to(&Gateway::open(Arc::new(remote))?)?;
//! for order in db.orders_by_status(OrderStatus::Open).stream().wait() {
//!     println!("{}", order?.number);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Where the endpoint is a Trestle server, or gateway, that has the model, `Shop::on(remote).model_applied()`
//! is enough. Where neither knows the model, `Shop::on(remote)` reads and puts rows, and refuses writes that
//! need derived rows or keys.
//!
//! A program that works both with a directory and at an endpoint uses an [`AnyDatabase`], which also provides
//! queues, routes and reindexes.
//!
//! Failed requests are repeated where that is safe. A write that might count twice is sent once; if its
//! answer is lost, the error says that it is not known whether it was made.
//!
//! # An application with an HTTP API
//!
//! With the feature `app`, the module `app` has the common code of applications: errors with their HTTP
//! status, a page and its OpenAPI description, a port of this machine that is served until Ctrl-C, a log.
//!
//! # Deleting a collection
//!
//! `db.customer_with_orders("ada").delete().all()` deletes what an access pattern finds, in bounded steps that can be resumed,
//! with everything that follows from the rows; [`collection`] does the same for a partition or a key prefix of any table.
//!
//! # Features
//!
//! | feature | what it brings |
//! |---|---|
//! | `embedded` (default) | a database in this process, with its storage engine; includes `events` |
//! | `events` | `events`, `reindex` and `AnyDatabase`, for the database of `embedded` or `remote`; includes `queue` |
//! | `queue` | `queue`: queues on any [`Database`], and their workers |
//! | `remote` | `Remote` and `Gateway`; with `default-features = false` no storage engine is compiled |
//! | `app`, `objects` | what an application with an HTTP API needs, and files beside its rows; include `embedded` and `remote` |
//!
//! The oldest Rust that compiles it is the `rust-version` of its manifest. Only a release that changes the second number of the
//! version raises it.
//!
//! # What does not compile
//!
//! There is no setter for an immutable attribute:
//!
//! ```compile_fail
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! fn redate(update: shop::UpdateOrder<'_>) -> shop::UpdateOrder<'_> {
//!     update.set_placed("yesterday") // Attribute `placed` of entity `order` is immutable.
//! }
//! ```

#[cfg(all(feature = "events", any(feature = "embedded", feature = "remote")))]
mod any_database;
#[cfg(feature = "app")]
pub mod app;
mod apply;
#[cfg(feature = "remote")]
mod blocking;
#[cfg(all(feature = "events", feature = "remote"))]
mod endpoint;
#[cfg(all(feature = "events", any(feature = "embedded", feature = "remote")))]
pub mod events;
pub mod migrate;
pub mod models;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(all(feature = "events", any(feature = "embedded", feature = "remote")))]
pub mod reindex;
mod with_models;

#[cfg(all(feature = "events", any(feature = "embedded", feature = "remote")))]
pub use any_database::AnyDatabase;
pub use apply::{ApplyError, apply};
#[cfg(all(feature = "events", feature = "remote"))]
pub use endpoint::EndpointError;
pub use trestle_api as api;
pub use trestle_api::{Database, DatabaseExt, Error, ErrorKind, Operation, TouchRows, Touched};
pub use trestle_collection as collection;
#[cfg(feature = "embedded")]
pub use trestle_embedded::{
    Background, BlockSize, Completion, Durability, Embedded, EngineOptions, OpenError, OperationReads,
    Options, StorageReads, StoreSettings, TOUCHED_MAX,
};
#[cfg(any(feature = "embedded", feature = "remote"))]
pub use trestle_engine::CloseError;
pub use trestle_env::ids;
pub use trestle_env::{Clock, SystemClock, Timestamp, VirtualClock};
#[cfg(feature = "events")]
pub use trestle_events::{from_plain_json, plain_json};
#[cfg(feature = "remote")]
pub use trestle_gateway::{Gateway, GatewayError, PastWrites, PastWritesOptions, PastWritesStatus};
pub use trestle_item::{AttributeValue, Item, Map, Number, NumberError, ScalarType, ValueError};
pub use trestle_macros::model;
#[cfg(feature = "remote")]
pub use trestle_remote as remote;
#[cfg(feature = "remote")]
pub use trestle_remote::Remote;
#[cfg(feature = "embedded")]
pub use trestle_store::{FjallStore, MemoryStore, Store};
pub use trestle_typed as typed;
pub use trestle_typed::Wait;
pub use with_models::WithModels;
