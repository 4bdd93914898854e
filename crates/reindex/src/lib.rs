//! Processes every row of a table again: touches it, so that the table's stream has a record of it, or sends
//! it to the target of a route.
//!
//! A [`Reindex`] is a named job over one table of any [`Database`](trestle_api::Database). It is stored as
//! rows of an ordinary table (`state_table`), divided into work items (`plan`), and processed by any number
//! of workers in any number of processes (`worker`). Each worker chooses an item (`work_pool`) and holds a
//! lease of it meanwhile (`work_item`). Rows that fail are tried again individually (`rows`) and finally
//! become dead letters (`row_letter`).
//!
//! ```no_run
//! use trestle_reindex::{ReindexError, Reindexer, StartReindex};
//!
//! # async fn example(reindexer: Reindexer) -> Result<(), ReindexError> {
//! let started = reindexer.start(StartReindex::touch("orders")).await?;
//! let done = reindexer.work(&started.job.name).await?;
//! println!("{}: {:?}", done.name, done.state);
//! # Ok(())
//! # }
//! ```

mod budget;
mod counts;
mod error;
mod gap_page;
mod gaps;
mod handler;
mod host;
mod job;
mod job_rows;
mod page;
mod plan;
mod process;
mod reindexer;
mod resend;
mod retry;
mod row_letter;
mod rows;
mod sort_range;
mod split;
mod start;
mod state_table;
mod status;
mod touch;
mod work_item;
mod work_pool;
mod worker;
mod workers;
mod yielding;

pub use budget::Units;
pub use counts::RowCounts;
pub use error::ReindexError;
pub use gap_page::GapPage;
pub use gaps::{Against, KnownIds, OnGap};
pub use host::{EndpointHost, ReindexHost};
pub use job::{
    EntityFilter, KeyPart, Reindex, ReindexBudget, ReindexMode, ReindexScope, ReindexState, WorkBegun,
};
pub use reindexer::{ReindexSetup, Reindexer};
pub use row_letter::RowLetter;
pub use start::{ReindexDestination, StartReindex, StartedReindex};
pub use status::{ReindexStatus, WorkerStatus};
pub use touch::{Touch, TouchByUpdate, TouchFuture, TouchResult};
pub use workers::ReindexWorkers;
pub use yielding::LiveTraffic;
