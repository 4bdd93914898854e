//! The administration of a server: models with their routes, migrations, collections, routes, reindexes, and
//! the clock and faults for tests.

use super::faults;
use super::previews;
use super::reindexes::ServerReindexes;
use super::route_calls;
use super::routes::Routes;
use crate::administration::models::{self, Log};
use crate::administration::{collections, copies, touches};
use std::sync::Arc;
use trestle_admin::{
    AdminAnswer, AdminCall, AdminError, Administration, GatewayStatus, move_clock, read_clock,
};
use trestle_embedded::Embedded;
use trestle_env::VirtualClock;
use trestle_server::Faults;

/// Answers administration calls to a server.
pub(super) struct ServerAdministration {
    pub(super) db: Embedded,
    pub(super) routes: Arc<Routes>,
    pub(super) reindexes: Arc<ServerReindexes>,
    /// A clock that callers may move.
    pub(super) clock: Option<Arc<VirtualClock>>,
    /// Faults that callers may set.
    pub(super) faults: Option<Arc<Faults>>,
}

impl Administration for ServerAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let call = match route_calls::answer(&self.routes, call) {
            Ok(answered) => return answered,
            Err(call) => *call,
        };
        match call {
            AdminCall::DeleteCollection(call) => {
                collections::answer(&self.db, call).map(AdminAnswer::DeleteCollection)
            }
            AdminCall::PreviewWrite(call) => {
                previews::write(&call, |request| self.db.preview(request)).map(AdminAnswer::PreviewWrite)
            }
            AdminCall::TryRoute(call) => {
                previews::route(&self.db, &self.routes, call).map(AdminAnswer::TryRoute)
            }
            AdminCall::InferModel(call) => previews::model(&self.db, &call).map(AdminAnswer::InferModel),
            AdminCall::ReadGateway(_) => Ok(AdminAnswer::ReadGateway(GatewayStatus::default())),
            AdminCall::TouchPage(call) => touches::touch(&self.db, call).map(AdminAnswer::TouchPage),
            AdminCall::SetReindexVersion(call) => {
                touches::set_version(self.db.models(), call).map(AdminAnswer::SetReindexVersion)
            }
            AdminCall::ListPausedTables(_) => Ok(AdminAnswer::ListPausedTables(copies::paused(&self.db))),
            AdminCall::PauseWrites(call) => copies::pause(&self.db, &call).map(AdminAnswer::PauseWrites),
            AdminCall::ResumeWrites(call) => copies::resume(&self.db, &call).map(AdminAnswer::ResumeWrites),
            AdminCall::WriteKeptRows(call) => copies::write(&self.db, call).map(AdminAnswer::WriteKeptRows),
            call @ (AdminCall::ListReindexes(_)
            | AdminCall::ReadReindex(_)
            | AdminCall::StartReindex(_)
            | AdminCall::PauseReindex(_)
            | AdminCall::ResumeReindex(_)
            | AdminCall::CancelReindex(_)
            | AdminCall::ListReindexDeadLetters(_)
            | AdminCall::DropReindexDeadLetters(_)
            | AdminCall::ReplayReindex(_)
            | AdminCall::ListReindexGaps(_)
            | AdminCall::ResendReindex(_)) => self.reindexes.answer(call),
            other => match clock_and_faults(other, self.clock.as_deref(), self.faults.as_ref()) {
                Ok(answered) => answered,
                Err(other) => self.of_models(*other),
            },
        }
    }
}

/// Answers calls about the clock and the faults for tests; returns other calls.
pub(super) fn clock_and_faults(
    call: AdminCall,
    clock: Option<&VirtualClock>,
    faults: Option<&Arc<Faults>>,
) -> Result<Result<AdminAnswer, AdminError>, Box<AdminCall>> {
    Ok(match call {
        AdminCall::ReadClock(_) => read_clock(clock).map(AdminAnswer::ReadClock),
        AdminCall::MoveClock(call) => move_clock(clock, call).map(AdminAnswer::MoveClock),
        AdminCall::ListFaults(_) => faults::list(faults).map(AdminAnswer::ListFaults),
        AdminCall::SetFaults(call) => faults::set(faults, &call).map(AdminAnswer::SetFaults),
        other => return Err(Box::new(other)),
    })
}

/// Whether a call is answered only by a server with its own data: routes, collections, reindexes and
/// previews.
pub(super) fn server_only(call: &AdminCall) -> bool {
    !matches!(
        call,
        AdminCall::ListModels(_)
            | AdminCall::ReadModel(_)
            | AdminCall::DescribeModels(_)
            | AdminCall::ExplainAccess(_)
            | AdminCall::ApplyModel(_)
            | AdminCall::RepairModels(_)
            | AdminCall::RemoveModel(_)
            | AdminCall::ListMigrations(_)
            | AdminCall::PlanMigration(_)
            | AdminCall::StartMigration(_)
            | AdminCall::PauseMigration(_)
            | AdminCall::ResumeMigration(_)
            | AdminCall::FinishMigration(_)
            | AdminCall::RollBackMigration(_)
    )
}

impl ServerAdministration {
    /// When a version takes effect, its routes do, too.
    fn of_models(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let (routes, sources) = (&self.routes, self.routes.sources());
        let text = match &call {
            AdminCall::ApplyModel(call) => Some(&call.text),
            AdminCall::PlanMigration(call) => Some(&call.text),
            AdminCall::StartMigration(call) => call.text.as_ref(),
            _ => None,
        };
        if let Some(problems) = text.and_then(|text| sources.unsound(text)) {
            return Err(AdminError::unsound("the routes of the model", problems));
        }
        if let AdminCall::StartMigration(call) = &call {
            let planned = || sources.models().planned_model(None);
            let upcoming = call.text.clone().map_or_else(planned, Ok);
            // An error here also prevents the start, which reports it.
            let _ = upcoming.and_then(|text| sources.expect(&text));
        }
        let (name, follows) = (call.info().name, follows(&call));
        let answered = models::answer(sources.models(), call, &mut Log);
        if follows == Follows::IfDone && answered.is_ok() || follows == Follows::Always {
            routes.follow_models();
        }
        if answered.is_ok() && follows != Follows::Never {
            tracing::info!("{name}, as asked");
        }
        answered
    }
}

/// Whether routes follow the models after a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Never,
    IfDone,
    /// Even after a refusal, because a version that was expected will not take effect.
    Always,
}

fn follows(call: &AdminCall) -> Follows {
    match call {
        AdminCall::ApplyModel(call) if !call.dry_run => Follows::IfDone,
        AdminCall::RemoveModel(_) => Follows::IfDone,
        AdminCall::StartMigration(_) | AdminCall::RollBackMigration(_) => Follows::Always,
        _ => Follows::Never,
    }
}
