//! Copies tables, rows and models to another database while clients write, compares both sides, and cuts
//! over.
//!
//! A [`CopyJob`] copies from one [`CopySide`] to another: a directory, a Trestle server or any endpoint, all
//! through [`Database`](trestle_api::Database). In order: `plan` checks both sides; `tables` creates the
//! tables; `follow` begins with the changes of each table before its first row is read; `rows` copies the
//! rows, segment by segment; `verify` compares both sides; `cut_over` ends the copy. A `state` file stores
//! the progress.
//!
//! *Invariant*: the row written at the target for a key is a state of the source after every change that was
//! followed before. A change only determines which row is read again (`follow`), and is followed when no page
//! of rows that was read before it is still under way (`under_way`). So rows never return to an earlier
//! state, and deleted rows stay deleted, in any order of shards.
//!
//! *Invariant*: rows are written unchanged, including derived ones, while no model is in force. Models take
//! effect at the target in the cut-over, when it has everything (`cut_over`): nothing is derived twice.
//!
//! ```
//! use std::sync::Arc;
//! use trestle_copy::{CopyJob, CopyProgress, CopySettings, CopySide, SideKind};
//! use trestle_embedded::{Embedded, Options};
//! # use trestle_api::{AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType};
//! # use trestle_item::ScalarType;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (old, new) = (Embedded::in_memory(Options::default())?, Embedded::in_memory(Options::default())?);
//! # old.run(CreateTable {
//! #     table_name: "music".into(),
//! #     attribute_definitions: vec![AttributeDefinition { attribute_name: "artist".into(), attribute_type: ScalarType::S }],
//! #     key_schema: vec![KeySchemaElement { attribute_name: "artist".into(), key_type: KeyType::Hash }],
//! #     billing_mode: Some(BillingMode::PayPerRequest),
//! #     ..CreateTable::default()
//! # })?;
//! let side = |name: &str, database: &Embedded| CopySide {
//!     name: name.to_owned(),
//!     kind: SideKind::Directory,
//!     database: database.for_copy(),
//!     administration: None,
//! };
//! let job = CopyJob {
//!     from: side("old", &old),
//!     to: side("new", &new),
//!     settings: CopySettings::default(),
//!     progress: Arc::new(CopyProgress::default()),
//! };
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let plan = job.plan(None).await?;
//! assert_eq!(plan.tables[0].table, "music");
//! # Ok::<_, trestle_copy::CopyError>(())
//! # })?;
//! # Ok(())
//! # }
//! ```

mod cut_over;
mod error;
mod follow;
mod job;
mod key;
mod patience;
mod plan;
mod progress;
mod rows;
mod side;
mod state;
mod tables;
mod under_way;
mod verify;
mod write;

pub use error::CopyError;
pub use job::{CopyEnd, CopyJob, CopyOrder, CopyReport, CopySettings};
pub use plan::{CopyPlan, PlannedTable};
pub use progress::{CopyProgress, CopyStatus};
pub use side::{CopySide, SideKind};
pub use state::{CopyPhase, CopyState, StateFile};
pub use verify::{RowDifference, TableVerified};
