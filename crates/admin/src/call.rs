//! The table of calls, and the code generated from it.

use crate::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trestle_binding::{MigrationPlan, MigrationStatus, RepairReport, Report};
use trestle_events::Replayed;

/// The description of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallInfo {
    /// Its name: the last part of its path.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
}

/// A request with the type of its answer.
pub trait Call: Serialize + DeserializeOwned {
    /// The type of its answer.
    type Answer: Serialize + DeserializeOwned;
    /// Its description.
    const INFO: CallInfo;

    /// This request as one of all calls.
    fn into_call(self) -> AdminCall;

    /// The answer in an [`AdminAnswer`]; `None` if it belongs to another call.
    fn from_answer(answer: AdminAnswer) -> Option<Self::Answer>;
}

macro_rules! calls {
    ($($request:ident -> $answer:ty, $name:literal, $summary:literal;)*) => {
        /// Any call.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AdminCall {
            $(#[doc = $summary] $request($request),)*
        }

        /// The answer to any call, under the name of the call.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AdminAnswer {
            $(#[doc = concat!("The answer to [`", stringify!($request), "`].")] $request($answer),)*
        }

        impl AdminCall {
            /// All calls, in the order of the documentation.
            pub const ALL: &'static [CallInfo] = &[$(<$request as Call>::INFO,)*];

            /// The description of this call.
            #[must_use]
            pub fn info(&self) -> CallInfo {
                match self {
                    $(AdminCall::$request(_) => <$request as Call>::INFO,)*
                }
            }

            /// The call with this name and its request in JSON; an empty body is `{}`.
            pub fn from_json(name: &str, body: &[u8]) -> Result<Self, AdminError> {
                let body = or_empty(body);
                match name {
                    $($name => read::<$request>(body).map(AdminCall::$request),)*
                    _ => Err(unknown(name)),
                }
            }

            pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
                match self {
                    $(AdminCall::$request(request) => serde_json::to_vec(request),)*
                }
            }

            pub(crate) fn answer_from_json(&self, body: &[u8]) -> serde_json::Result<AdminAnswer> {
                match self {
                    $(AdminCall::$request(_) => serde_json::from_slice(body).map(AdminAnswer::$request),)*
                }
            }
        }

        impl AdminAnswer {
            /// The answer in JSON.
            pub fn to_json(&self) -> Result<Vec<u8>, AdminError> {
                let json = match self {
                    $(AdminAnswer::$request(answer) => serde_json::to_vec(answer),)*
                };
                json.map_err(AdminError::failed)
            }
        }

        $(impl Call for $request {
            type Answer = $answer;
            const INFO: CallInfo = CallInfo { name: $name, summary: $summary };

            fn into_call(self) -> AdminCall {
                AdminCall::$request(self)
            }

            fn from_answer(answer: AdminAnswer) -> Option<$answer> {
                match answer {
                    AdminAnswer::$request(answer) => Some(answer),
                    _ => None,
                }
            }
        })*
    };
}

calls! {
    ListModels -> ModelList, "list-models", "Which models are stored with the data.";
    ReadModel -> ModelText, "read-model", "The text of a model.";
    DescribeModels -> ModelDescriptions, "describe-models", "What the models say: tables, entities, key templates, effects and access patterns.";
    ExplainAccess -> AccessRequest, "explain-access", "The one request that an access pattern is, for given parameters.";
    PreviewWrite -> WritePreview, "preview-write", "Which rows a write would change, those that models derive included. Nothing is written.";
    InferModel -> ProposedModel, "infer-model", "Proposes a model from the rows of a table.";
    ApplyModel -> Report, "apply-model", "Makes the database what a model says, and enforces it from then on.";
    RepairModels -> RepairReport, "repair-models", "Brings derived rows back in line with the rows they are derived from.";
    RemoveModel -> ModelRemoved, "remove-model", "Forgets a model. Its tables and rows stay.";
    ListMigrations -> MigrationList, "list-migrations", "How migrations are doing.";
    PlanMigration -> MigrationPlan, "plan-migration", "Says what a migration to other keys would do.";
    StartMigration -> MigrationPlan, "start-migration", "Starts a migration: the new version takes effect, and rows move.";
    PauseMigration -> MigrationStatus, "pause-migration", "Pauses the sweep of a migration.";
    ResumeMigration -> MigrationStatus, "resume-migration", "Resumes the sweep of a migration.";
    FinishMigration -> MigrationStatus, "finish-migration", "Ends a migration that is verified.";
    RollBackMigration -> RolledBack, "roll-back-migration", "Goes back to the version before.";
    DeleteCollection -> DeletedRows, "delete-collection", "Deletes rows of a partition, of a key prefix or of an access pattern, in one bounded step.";
    ListPausedTables -> PausedTableList, "list-paused-tables", "Lists the tables whose writes are paused.";
    PauseWrites -> PausedTableList, "pause-writes", "Pauses writes to tables; reads continue.";
    ResumeWrites -> PausedTableList, "resume-writes", "Resumes writes to tables.";
    WriteKeptRows -> Value, "write-kept-rows", "Creates, changes or writes a table of Trestle's own that holds what models keep about rows.";
    ListRoutes -> RouteList, "list-routes", "How the routes are doing.";
    ReadRoutes -> RouteFileText, "read-routes", "The route file that was applied.";
    ApplyRoutes -> RouteList, "apply-routes", "Applies a route file; it replaces the one applied before.";
    TryRoute -> TriedRoute, "try-route", "Which of the last thousand changes of a table a route would take.";
    BackfillRoute -> BackfillStatus, "backfill-route", "Gives every row that a route takes to its target, in order with the changes.";
    CancelBackfill -> BackfillStatus, "cancel-backfill", "Ends a backfill before it is done.";
    ListDeadLetters -> DeadLetterList, "list-dead-letters", "A page of the changes that routes gave up.";
    ReadDeadLetter -> Value, "read-dead-letter", "One dead letter, whole.";
    ReplayDeadLetters -> Replayed, "replay-dead-letters", "Tries dead letters again.";
    MoveDeadLetters -> DeadLettersMoved, "move-dead-letters", "Gives dead letters to another route.";
    DropDeadLetters -> DeadLettersDropped, "drop-dead-letters", "Forgets dead letters for good.";
    ListReindexes -> ReindexList, "list-reindexes", "A page of the reindexes.";
    ReadReindex -> ReindexReport, "read-reindex", "How a reindex is doing.";
    StartReindex -> ReindexStarted, "start-reindex", "Starts a reindex: every row of a table is touched, or sent to the target of a route.";
    PauseReindex -> ReindexReport, "pause-reindex", "Pauses a reindex; workers stop after their current pages.";
    ResumeReindex -> ReindexReport, "resume-reindex", "Resumes a paused reindex.";
    CancelReindex -> ReindexReport, "cancel-reindex", "Gives a reindex up.";
    ListReindexDeadLetters -> ReindexLetterList, "list-reindex-dead-letters", "A page of the rows that a reindex gave up.";
    DropReindexDeadLetters -> DeadLettersDropped, "drop-reindex-dead-letters", "Forgets the rows that a reindex gave up.";
    ReplayReindex -> ReindexReplayed, "replay-reindex", "Tries the rows that a reindex gave up again.";
    ListReindexGaps -> ReindexGapList, "list-reindex-gaps", "A page of the rows that the destination of a reindex does not have.";
    ResendReindex -> ReindexReport, "resend-reindex", "Does rows of a reindex again.";
    TouchPage -> TouchedRows, "touch-rows", "Raises the version of rows, for a reindex that works in another process.";
    SetReindexVersion -> ReindexVersionSet, "set-reindex-version", "Lets rows that are inserted from now on have a version.";
    ReadGateway -> GatewayStatus, "read-gateway", "What a gateway knows of its endpoint.";
    ReadMetrics -> MetricsHistory, "read-metrics", "What the server did in the last hour, by operation.";
    ReadClock -> ClockTime, "read-clock", "The time of a virtual clock.";
    MoveClock -> ClockTime, "move-clock", "Moves a virtual clock.";
    ListFaults -> FaultList, "list-faults", "Which faults are injected into requests.";
    SetFaults -> FaultList, "set-faults", "Replaces the rules for injected faults.";
}

/// An empty body counts as `{}`.
fn or_empty(body: &[u8]) -> &[u8] {
    if body.trim_ascii().is_empty() { b"{}" } else { body }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, AdminError> {
    serde_json::from_slice(body)
        .map_err(|error| AdminError::invalid(format!("the request is not what the call takes: {error}")))
}

impl AdminCall {
    /// Refuses a request to [`BACKUP`] with a body: it has no parameters.
    pub fn check_empty(body: &[u8]) -> Result<(), AdminError> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        read::<Nothing>(or_empty(body)).map(drop)
    }
}

/// The answer to a call was that of another one.
pub(crate) fn stray<C: Call>() -> AdminError {
    let message = format!(
        "internal error: the answer to {} is of another call",
        C::INFO.name
    );
    debug_assert!(false, "{message}");
    AdminError::failed(message)
}

fn unknown(name: &str) -> AdminError {
    let names = AdminCall::ALL.iter().map(|info| info.name).chain([BACKUP]);
    let names: Vec<&str> = names.collect();
    AdminError::not_found(format!(
        "there is no call `{name}`; there is {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_survives_the_way_over_the_wire() {
        let call = ApplyModel {
            text: "model = \"shop\"".to_owned(),
            fill: true,
            ..ApplyModel::default()
        }
        .into_call();
        let json = call.to_json().unwrap();
        assert_eq!(AdminCall::from_json("apply-model", &json).unwrap(), call);
        assert_eq!(
            AdminCall::from_json("list-models", b"").unwrap(),
            ListModels {}.into_call()
        );
    }

    #[test]
    fn a_misspelt_member_or_call_is_named() {
        let refused = AdminCall::from_json("apply-model", br#"{"text": "", "dryrun": true}"#).unwrap_err();
        assert_eq!(refused.code, AdminErrorCode::Invalid);
        assert!(refused.message.contains("`dryrun`"), "{refused}");
        let refused = AdminCall::from_json("apply-models", b"").unwrap_err();
        assert_eq!(refused.code, AdminErrorCode::NotFound);
        assert!(AdminCall::check_empty(b"").is_ok() && AdminCall::check_empty(b"{}").is_ok());
        assert!(AdminCall::check_empty(br#"{"x": 1}"#).is_err());
        assert!(refused.message.contains("`apply-models`"), "{refused}");
        assert!(refused.message.contains("apply-model, "), "{refused}");
    }

    #[test]
    fn every_call_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = AdminCall::ALL.iter().map(|info| info.name).collect();
        assert_eq!(names.len(), AdminCall::ALL.len());
    }
}
