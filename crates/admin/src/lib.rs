//! The administration of a database: models, migrations, collections of rows, copies, routes, dead letters, reindexes, and the clock and the
//! faults of tests, as plain requests and answers.
//!
//! A call is a struct such as [`ApplyModel`]; [`AdminCall::ALL`] lists them. Over HTTP it is `POST
//! /_trestle/apply-model` with the struct as a JSON object and the header [`HEADER`]; the answer is JSON, and
//! so is an [`AdminError`]. [`Administration`] answers calls in a process: in a server, in a command on a
//! directory, and in [`AdminClient`], which calls a server.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod administration;
mod call;
mod client;
mod clock;
mod collections;
mod copies;
mod error;
mod faults;
mod gateway;
mod http;
mod metrics;
mod migrations;
mod models;
mod previews;
mod reindexes;
mod routes;
mod touch_by_server;
mod touches;

pub use administration::{Administration, AdministrationExt};
pub use call::{AdminAnswer, AdminCall, Call, CallInfo};
pub use client::AdminClient;
pub use clock::{ClockTime, MoveClock, ReadClock, move_clock, read_clock};
pub use collections::{DeleteCollection, DeletedRows, StayingRow};
pub use copies::{
    ListPausedTables, PauseWrites, PausedTableList, PausedTableStatus, ResumeWrites, WriteKeptRows,
};
pub use error::{AdminError, AdminErrorCode};
pub use faults::{FaultList, FaultStatus, ListFaults, SetFaults};
pub use gateway::{GatewayStatus, ReadGateway};
pub use http::{BACKUP, HEADER, PREFIX};
pub use metrics::{MetricsHistory, MetricsSample, OperationSample, ReadMetrics, RouteSample, StorageSample};
pub use migrations::{
    FinishMigration, ListMigrations, MigrationList, PauseMigration, PlanMigration, ResumeMigration,
    RollBackMigration, RolledBack, StartMigration,
};
pub use models::{
    AccessRequest, ApplyModel, DescribeModels, ExplainAccess, InferModel, ListModels, ModelDescriptions,
    ModelList, ModelRemoved, ModelText, ProposedModel, ReadModel, RemoveModel, RepairModels,
};
pub use previews::{PreviewWrite, RowPreview, TriedRoute, TryRoute, WritePreview};
pub use reindexes::{
    CancelReindex, DropReindexDeadLetters, ListReindexDeadLetters, ListReindexGaps, ListReindexes,
    PauseReindex, ReadReindex, ReindexGapList, ReindexLetter, ReindexLetterList, ReindexList,
    ReindexReplayed, ReindexReport, ReindexStarted, ReindexSummary, ReplayReindex, ResendReindex,
    ResumeReindex, StartReindex,
};
pub use routes::{
    ApplyRoutes, BackfillRoute, CancelBackfill, DeadLetterList, DeadLettersDropped, DeadLettersMoved,
    DropDeadLetters, LetterSelection, ListDeadLetters, ListRoutes, MoveDeadLetters, ReadDeadLetter,
    ReadRoutes, ReplayDeadLetters, RouteFileText, RouteList,
};
pub use touch_by_server::TouchByServer;
pub use touches::{ReindexVersionSet, SetReindexVersion, TouchPage, TouchedRow, TouchedRows};
pub use trestle_binding::{MigrationPlan, MigrationStatus, ModelSummary, RepairReport, Report};
pub use trestle_events::{
    BackfillState, BackfillStatus, Gap, GoneRoute, LastError, OnHold, Replayed, RouteState, RouteStatus,
    Selection,
};
pub use trestle_reindex::{ReindexState, ReindexStatus, RowCounts, WorkerStatus};
