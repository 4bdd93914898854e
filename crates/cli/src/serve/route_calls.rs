//! Administration calls about running routes.

use super::routes::{Routes, RoutesError};
use trestle_admin::{
    AdminAnswer, AdminCall, AdminError, ApplyRoutes, DeadLetterList, DeadLettersDropped, DeadLettersMoved,
    ListDeadLetters, RouteFileText, RouteList,
};

/// The default number of dead letters on a page.
const PAGE: u32 = 100;
/// The maximum number of dead letters on a page.
const PAGE_MAX: u32 = 1000;

/// Answers a call about routes; returns other calls. Not for asynchronous tasks.
pub(super) fn answer(
    routes: &Routes,
    call: AdminCall,
) -> Result<Result<AdminAnswer, AdminError>, Box<AdminCall>> {
    Ok(match call {
        AdminCall::ListRoutes(_) => Ok(AdminAnswer::ListRoutes(listed(routes))),
        AdminCall::ReadRoutes(_) => routes.wait(routes.router().file()).map(|text| {
            AdminAnswer::ReadRoutes(RouteFileText {
                text: text.unwrap_or_default(),
            })
        }),
        AdminCall::ApplyRoutes(call) => apply(routes, call),
        AdminCall::BackfillRoute(call) => routes
            .wait(routes.router().backfill(&call.route, call.rate))
            .map(AdminAnswer::BackfillRoute),
        AdminCall::CancelBackfill(call) => routes
            .wait(routes.router().cancel_backfill(&call.route))
            .map(AdminAnswer::CancelBackfill),
        AdminCall::ListDeadLetters(call) => dead_letters(routes, &call).map(AdminAnswer::ListDeadLetters),
        AdminCall::ReadDeadLetter(call) => {
            let letter = routes.wait(routes.router().dead_letter(&call.id));
            let missing = || AdminError::not_found(format!("there is no dead letter `{}`", call.id));
            letter.and_then(|letter| Ok(AdminAnswer::ReadDeadLetter(letter.ok_or_else(missing)?.to_json())))
        }
        AdminCall::ReplayDeadLetters(call) => call.0.try_into().and_then(|which| {
            let replayed = routes.wait(routes.router().replay(which))?;
            Ok(AdminAnswer::ReplayDeadLetters(replayed))
        }),
        AdminCall::MoveDeadLetters(call) => call.split().and_then(|(which, to)| {
            let moved = routes.wait(routes.router().move_dead_letters(which, &to))?;
            Ok(AdminAnswer::MoveDeadLetters(DeadLettersMoved { moved }))
        }),
        AdminCall::DropDeadLetters(call) => call.0.try_into().and_then(|which| {
            let dropped = routes.wait(routes.router().drop_dead_letters(which))?;
            Ok(AdminAnswer::DropDeadLetters(DeadLettersDropped { dropped }))
        }),
        other => return Err(Box::new(other)),
    })
}

/// Whether a call is about routes.
pub(super) fn is_known(call: &AdminCall) -> bool {
    matches!(
        call,
        AdminCall::ListRoutes(_)
            | AdminCall::ReadRoutes(_)
            | AdminCall::ApplyRoutes(_)
            | AdminCall::BackfillRoute(_)
            | AdminCall::CancelBackfill(_)
            | AdminCall::ListDeadLetters(_)
            | AdminCall::ReadDeadLetter(_)
            | AdminCall::ReplayDeadLetters(_)
            | AdminCall::MoveDeadLetters(_)
            | AdminCall::DropDeadLetters(_)
    )
}

fn listed(routes: &Routes) -> RouteList {
    RouteList {
        routes: routes.router().status(),
        gone: routes.router().gone_routes(),
    }
}

fn apply(routes: &Routes, call: ApplyRoutes) -> Result<AdminAnswer, AdminError> {
    let applied = match call.dry_run {
        true => routes.check(&call.text),
        false => routes.apply_text(call.text),
    };
    match applied {
        Ok(()) => Ok(AdminAnswer::ApplyRoutes(listed(routes))),
        Err(RoutesError::Unsound(problems)) => Err(AdminError::unsound("the routes", problems)),
        Err(RoutesError::Failed(why)) => Err(AdminError::failed(why)),
    }
}

fn dead_letters(routes: &Routes, call: &ListDeadLetters) -> Result<DeadLetterList, AdminError> {
    let limit = call.limit.unwrap_or(PAGE).min(PAGE_MAX);
    let (route, after) = (call.route.as_deref(), call.after.as_deref());
    let page = routes.wait(routes.router().dead_letters(route, after, limit))?;
    Ok(DeadLetterList {
        dead_letters: page.letters.iter().map(|letter| letter.to_json()).collect(),
        next: page.next,
    })
}
