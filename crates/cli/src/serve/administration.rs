//! The administration of a server: models that take their routes along, migrations, collections, routes, reindexes, and the clock
//! and faults of tests.

use super::faults;
use super::reindexes::ServerReindexes;
use super::routes::{Routes, RoutesError};
use crate::administration::models::{self, Log};
use crate::administration::{collections, copies};
use std::sync::Arc;
use trestle_admin::{
    AdminAnswer, AdminCall, AdminError, Administration, ApplyRoutes, DeadLetterList, DeadLettersDropped,
    DeadLettersMoved, ListDeadLetters, RouteFileText, RouteList, move_clock, read_clock,
};
use trestle_env::VirtualClock;
use trestle_server::Faults;

/// Dead letters on a page, unless asked for otherwise.
const PAGE: u32 = 100;
/// Dead letters on a page at most.
const PAGE_MAX: u32 = 1000;

/// Answers the callers of a server.
pub(super) struct ServerAdministration {
    pub(super) routes: Arc<Routes>,
    pub(super) reindexes: Arc<ServerReindexes>,
    /// A clock that callers may move.
    pub(super) clock: Option<Arc<VirtualClock>>,
    /// Faults that callers may set.
    pub(super) faults: Option<Arc<Faults>>,
}

impl Administration for ServerAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let routes = &self.routes;
        match call {
            AdminCall::ListRoutes(_) => Ok(AdminAnswer::ListRoutes(self.listed())),
            AdminCall::ReadRoutes(_) => {
                let text = routes.wait(routes.router().file())?;
                Ok(AdminAnswer::ReadRoutes(RouteFileText {
                    text: text.unwrap_or_default(),
                }))
            }
            AdminCall::ApplyRoutes(call) => self.apply_routes(call),
            AdminCall::BackfillRoute(call) => {
                let begun = routes.wait(routes.router().backfill(&call.route, call.rate))?;
                Ok(AdminAnswer::BackfillRoute(begun))
            }
            AdminCall::CancelBackfill(call) => {
                let cancelled = routes.wait(routes.router().cancel_backfill(&call.route))?;
                Ok(AdminAnswer::CancelBackfill(cancelled))
            }
            AdminCall::ListDeadLetters(call) => self.dead_letters(&call).map(AdminAnswer::ListDeadLetters),
            AdminCall::ReadDeadLetter(call) => {
                let letter = routes.wait(routes.router().dead_letter(&call.id))?;
                let missing = || AdminError::not_found(format!("there is no dead letter `{}`", call.id));
                Ok(AdminAnswer::ReadDeadLetter(letter.ok_or_else(missing)?.to_json()))
            }
            AdminCall::ReplayDeadLetters(call) => {
                let replayed = routes.wait(routes.router().replay(call.0.try_into()?))?;
                Ok(AdminAnswer::ReplayDeadLetters(replayed))
            }
            AdminCall::MoveDeadLetters(call) => {
                let (which, to) = call.split()?;
                let moved = routes.wait(routes.router().move_dead_letters(which, &to))?;
                Ok(AdminAnswer::MoveDeadLetters(DeadLettersMoved { moved }))
            }
            AdminCall::DropDeadLetters(call) => {
                let dropped = routes.wait(routes.router().drop_dead_letters(call.0.try_into()?))?;
                Ok(AdminAnswer::DropDeadLetters(DeadLettersDropped { dropped }))
            }
            AdminCall::DeleteCollection(call) => {
                collections::answer(routes.database(), call).map(AdminAnswer::DeleteCollection)
            }
            AdminCall::PauseWrites(call) => {
                copies::pause(routes.database(), &call).map(AdminAnswer::PauseWrites)
            }
            AdminCall::ResumeWrites(call) => {
                copies::resume(routes.database(), &call).map(AdminAnswer::ResumeWrites)
            }
            AdminCall::WriteKeptRows(call) => {
                copies::write(routes.database(), call).map(AdminAnswer::WriteKeptRows)
            }
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

/// Answers calls about the clock and the faults of tests; other calls are given back.
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

/// Whether a call is about what only a server with data of its own has: routes, collections and reindexes.
pub(super) fn server_only(call: &AdminCall) -> bool {
    !matches!(
        call,
        AdminCall::ListModels(_)
            | AdminCall::ReadModel(_)
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
    fn listed(&self) -> RouteList {
        RouteList {
            routes: self.routes.router().status(),
            gone: self.routes.router().gone_routes(),
        }
    }

    fn apply_routes(&self, call: ApplyRoutes) -> Result<AdminAnswer, AdminError> {
        let applied = match call.dry_run {
            true => self.routes.check(&call.text),
            false => self.routes.apply_text(call.text),
        };
        match applied {
            Ok(()) => Ok(AdminAnswer::ApplyRoutes(self.listed())),
            Err(RoutesError::Unsound(problems)) => Err(AdminError::unsound("the routes", problems)),
            Err(RoutesError::Failed(why)) => Err(AdminError::failed(why)),
        }
    }

    fn dead_letters(&self, call: &ListDeadLetters) -> Result<DeadLetterList, AdminError> {
        let limit = call.limit.unwrap_or(PAGE).min(PAGE_MAX);
        let (route, after) = (call.route.as_deref(), call.after.as_deref());
        let page = self
            .routes
            .wait(self.routes.router().dead_letters(route, after, limit))?;
        Ok(DeadLetterList {
            dead_letters: page.letters.iter().map(|letter| letter.to_json()).collect(),
            next: page.next,
        })
    }

    /// A version that takes effect takes its routes along.
    fn of_models(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let routes = &self.routes;
        let text = match &call {
            AdminCall::ApplyModel(call) => Some(&call.text),
            AdminCall::PlanMigration(call) => Some(&call.text),
            AdminCall::StartMigration(call) => call.text.as_ref(),
            _ => None,
        };
        if let Some(problems) = text.and_then(|text| routes.unsound(text)) {
            return Err(AdminError::unsound("the routes of the model", problems));
        }
        if let AdminCall::StartMigration(call) = &call {
            let planned = || routes.models().planned_model(None);
            let upcoming = call.text.clone().map_or_else(planned, Ok);
            // What stands in the way of this stands in the way of starting, and is said there.
            let _ = upcoming.and_then(|text| routes.expect(&text));
        }
        let (name, follows) = (call.info().name, follows(&call));
        let answered = models::answer(routes.models(), call, &mut Log);
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
    /// Also after a refusal: a version that was expected does not come.
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
