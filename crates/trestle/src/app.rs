//! Helpers for an application with an HTTP API; with the feature `app`, on axum 0.8.
//!
//! | | |
//! |---|---|
//! | [`run`] | a program's `main`: runtime, log on standard error, exit status |
//! | [`Loopback`] | a port of this machine, served until Ctrl-C or SIGTERM |
//! | [`site`] | routes with a page at `/`, a description at `/openapi.json`, and errors in JSON |
//! | [`routed`] | a router of a list of routes, whose paths may have an end that can be left out |
//! | [`shown`], [`created`] | answers in JSON |
//! | [`shown_unless_known`] | an answer in JSON with an `ETag`, sent only to clients that do not have it |
//! | [`ListPart`], [`listed`] | a list, a page at a time |
//! | [`OrNotFound`] | what is there, or a 404 |
//! | [`OrNothing`] | nothing for a key that the model refuses, so that an invalid id is a 404, too |
//! | `Objects`, `ObjectLocation` | files in a directory or in a bucket of S3, which can be marked as those of one owner, also given out over HTTP, and how a row names one; with the feature `objects` |
//! | `PublicFiles` | files with URLs, which are there when a GET of the URL gives their bytes; with the feature `objects` |
//! | `Webhooks` | documents in a queue, posted to every URL that wants them; with the feature `objects` |
//! | [`Lines`] | limits the concurrent calls to one receiver, so that a receiver that hangs delays only its own calls |
//! | [`Running`] | an application with its background work |
//! | [`Tokens`] | texts that are signed and expire, for links |
//! | [`Error`] | why a request failed, with its HTTP status; errors of the database become one with `?` |
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use axum::extract::{Json, Path, State};
//! use axum::response::Response;
//! use axum::{Router, routing::get};
//! use serde::Deserialize;
//! use trestle::app::{self, Loopback, OrNotFound as _, OrNothing as _};
//! use trestle::{Embedded, Options};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! use shop::{CustomerKey, NewCustomer, Shop};
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Named {
//!     name: String,
//!     email: String,
//! }
//!
//! async fn read(State(db): State<Shop<Embedded>>, Path(id): Path<String>) -> app::Result<Response> {
//!     let found = db.get(CustomerKey::new(&id)).await.or_nothing()?;
//!     app::shown(found.or_not_found(format_args!("customer {id}"))?)
//! }
//!
//! async fn add(
//!     State(db): State<Shop<Embedded>>,
//!     Path(id): Path<String>,
//!     Json(Named { name, email }): Json<Named>,
//! ) -> app::Result<Response> {
//!     let customer = NewCustomer { customer: id, name, email };
//!     db.put(&customer).if_not_exists().await?;
//!     app::created(customer)
//! }
//!
//! const PAGE: &str = "<!doctype html><title>Shop</title>";
//! const OPENAPI: &str = r#"{"openapi": "3.1.0"}"#;
//!
//! async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//!     let db = Shop::apply_to(&Embedded::open("data", Options::default())?)?;
//!     let routes = Router::new().route("/customers/{id}", get(read).put(add));
//!     let door = Loopback::listen(8080).await?;
//!     println!("shop serves {}", door.url());
//!     door.serve(app::site(routes, PAGE, OPENAPI).with_state(db)).await?;
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     app::run("info", serve())
//! }
//! ```

mod database_flags;
mod error;
#[cfg(feature = "objects")]
mod files;
mod found;
mod known;
mod lines;
mod listed;
mod loopback;
#[cfg(feature = "objects")]
mod numbered;
#[cfg(feature = "objects")]
mod object_location;
#[cfg(feature = "objects")]
mod objects;
#[cfg(feature = "objects")]
mod owner;
#[cfg(feature = "objects")]
mod public_files;
mod routed;
mod run;
mod running;
mod site;
mod tokens;
#[cfg(feature = "objects")]
mod webhooks;

pub use database_flags::{DatabaseError, DatabaseFlags};
pub use error::{Error, Result};
pub use found::{OrNotFound, OrNothing};
pub use known::{fingerprint, shown_unless_known};
pub use lines::{Lines, Turn, Underway};
pub use listed::{ListPart, listed};
pub use loopback::{GRACE, Loopback};
#[cfg(feature = "objects")]
pub use object_location::ObjectLocation;
#[cfg(feature = "objects")]
pub use objects::Objects;
#[cfg(feature = "objects")]
pub use public_files::{PublicFiles, url_below};
pub use routed::{Routes, paths_of, routed};
pub use run::run;
pub use running::Running;
pub use site::{created, shown, site};
pub use tokens::{Tokens, random_bytes};
#[cfg(feature = "objects")]
pub use webhooks::{Notice, Webhooks};
