//! Tables, their rows and their models copied to another database while they are written, and the moment at which the other one
//! takes over.
//!
//! A [`CopyJob`] goes from one [`CopySide`] to another: a directory, a server of Trestle's or any endpoint, all over
//! [`Database`](trestle_api::Database). Its order: `plan` looks at both sides; `tables` makes the tables; `follow` begins with the
//! changes of each table before its first row is read; `rows` copies the rows, segment by segment; `verify` compares both sides;
//! `cut_over` ends it. How far it is, durably, is a `state` file.
//!
//! *Invariant*: whatever is written at the target for a key is what the source had at a moment after every change that was
//! followed before. A change only tells which row to read again (`follow`), and is followed when no page of rows that was read
//! before it is still under way (`under_way`). So rows never go back, and what was deleted stays so, whatever the order of shards.
//!
//! *Invariant*: rows are written as they are, derived ones included, where no model is in force. Models take effect at the target in
//! the cut-over, when it has everything (`cut_over`): nothing is derived twice.

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
