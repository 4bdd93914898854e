//! One owner of an open database: engine, stored models, migrations, queues and routes.
//!
//! [`Embedded`] is the only way to open a database. It opens in one order: the engine is loaded, the stored
//! models and migrations are read and enforced, and only then does background work begin (expiry, trimming,
//! moving rows). So background work that became due while the database was closed is done under the models in
//! force. It closes in the reverse order.
//!
//! ```
//! use trestle_api::ListTables;
//! use trestle_embedded::{Embedded, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Embedded::in_memory(Options::default())?;
//! assert!(db.run(ListTables::default())?.table_names.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! The engine is never handed out, so there is one set of models, one set of queues and one router for each database.
//!
//! A directory that no process has open is verified, backed up and restored without opening a database:
//! [`verify_directory`], [`backup_directory`] and [`restore_directory`].

mod copying;
mod directory;
mod embedded;
mod held_space;
mod internal;
mod looking;
mod migration_log;
mod model_tables;
mod open;
mod opened;
mod options;
mod reindex;
mod reindex_version;
mod route_holds;
mod routes;
mod touch;
mod verify;

pub use directory::{
    RestoreError, VerifyError, backup_directory, check_backup, restore_directory, verify_directory,
};
pub use embedded::Embedded;
pub use open::OpenError;
pub use options::{Background, Options};
pub use reindex::EmbeddedHost;
pub use trestle_engine::{
    ArchiveError, BackupTotals, BlockSize, CloseError, Completion, Disagreement, Durability, HeldChanges,
    HeldTable, OperationReads, Options as EngineOptions, PausedTable, PreviewedRow, RecentChange,
    StorageReads, StoreSettings, TOUCHED_MAX, Watcher as StorageWatcher,
};
pub use trestle_events::{RemoteStreams, RouteSetup, RoutesAtWork};
pub use trestle_models::{
    ApplyOptions, Models, PlanOptions, RepairOptions, Standing, StartOptions, Unwatched, Watcher,
};
pub use trestle_store::{DirectoryAccess, ErrorKind as StoreErrorKind, MemoryStore, StoreError};
pub use verify::{Verified, VerifyOptions, VerifyWatcher, verify};
