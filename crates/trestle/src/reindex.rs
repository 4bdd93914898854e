//! Processes every row of a table again: for a new search index, or after a change of the code that transforms rows.
//!
//! A reindex *touches* rows: it raises a version attribute of each, never lowers it and changes nothing else, so that the
//! table's stream has one record of every row. Or it *sends* rows to the target of a route, and writes nothing. A reindex is stored with
//! the data, continues after a crash at the current page, and names the rows that failed.
//!
//! ```
//! use trestle::reindex::{ReindexState, StartReindex};
//! use trestle::typed::Timestamp;
//! use trestle::{Embedded, Options, Wait};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! use shop::{NewOrder, Shop};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Embedded::in_memory(Options::default())?;
//! let db = Shop::apply_to(&database)?;
//! for number in 1..=100 {
//!     let placed = Timestamp::parse("2024-05-01T08:00:00.000Z")?;
//!     db.put(&NewOrder { customer: "ada".into(), number, placed, cents: 1250 }).await?;
//! }
//!
//! let reindexer = database.reindexer();
//! // Without `force`, a reindex is refused while no route takes touches of the table.
//! let start = StartReindex { name: Some("first".into()), force: true, ..StartReindex::touch("shop") };
//! reindexer.start(start).await?;
//! let job = reindexer.work("first").await?;
//! assert_eq!(job.state, ReindexState::Done);
//! assert_eq!(reindexer.status("first").await?.counts.done, 100);
//! # Ok(())
//! # }
//! ```
//!
//! `Reindexer::new` takes any [`Database`](crate::Database), a remote endpoint too: any number of processes work on the
//! same reindex there. The guide is `docs/migrate/reindex.md`.

#[cfg(feature = "embedded")]
pub use trestle_embedded::EmbeddedHost;
pub use trestle_events::{RowSender, SentRow, Typer};
pub use trestle_reindex::*;
