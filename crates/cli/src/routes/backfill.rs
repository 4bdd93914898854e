//! `trestle routes backfill`: delivers every row that a route takes to its target.

use super::status::on_hold;
use super::{ask, line, say};
use crate::administration::{RunningServer, START_ONE, print_json};
use crate::bar::{Bar, drawn};
use crate::exit::Failure;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::Args;
use trestle_admin::{
    AdminErrorCode, AdministrationExt, BackfillRoute, BackfillState, BackfillStatus, Call, CancelBackfill,
    ListRoutes,
};

/// Flags of `trestle routes backfill`.
#[derive(Debug, Args)]
pub(crate) struct BackfillFlags {
    /// The route
    name: String,
    /// Maximum of rows per second; no limit unless given
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Do not wait until it is done; `trestle routes status` shows the progress
    #[arg(long)]
    detach: bool,
    /// End the backfill that is running
    #[arg(long, conflicts_with_all = ["rate", "detach"])]
    cancel: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub(super) fn backfill(flags: &BackfillFlags) -> Result<(), Failure> {
    let route = flags.name.clone();
    let mut parked = 0;
    let status = if flags.cancel {
        call(flags, CancelBackfill { route })?
    } else {
        let rate = flags.rate;
        let begun = call(flags, BackfillRoute { route, rate })?;
        if flags.detach {
            begun
        } else {
            followed(flags, begun, &mut parked)?
        }
    };
    if flags.json {
        return print_json(&status);
    }
    line(&format!("backfill of {}: {}", flags.name, told(&status)));
    if let Some(text) = what_is_left(&flags.name, &status, parked) {
        say(&text);
    }
    Ok(())
}

/// What the route still has to do when the command ends, and how to check it.
fn what_is_left(route: &str, status: &BackfillStatus, parked: u64) -> Option<String> {
    match status.state {
        BackfillState::Running => Some(format!(
            "it continues in the server: `trestle routes status` shows the progress, `trestle routes backfill {route} --cancel` ends \
             it"
        )),
        BackfillState::Done if parked > 0 => Some(format!(
            "{parked} rows or changes of {route} are parked: they were refused, or their destination does not answer. They are tried \
             again; `trestle routes status` shows them"
        )),
        BackfillState::Done | BackfillState::Cancelled => None,
    }
}

/// Calls the server. At another endpoint, backfills are started by flags of the process that runs the routes.
fn call<C: Call>(flags: &BackfillFlags, call: C) -> Result<C::Answer, Failure> {
    let answer = RunningServer::new(&flags.server, START_ONE)?.ask(call);
    answer.map_err(|mut error| {
        if error.code == AdminErrorCode::NoAdministration {
            let name = &flags.name;
            let flag = if flags.cancel {
                "cancel-backfill"
            } else {
                "backfill"
            };
            error.message +=
                &format!("; if `trestle routes run` runs {name} there, start it again with --{flag} {name}");
        }
        error.into()
    })
}

/// Polls until the backfill has ended, or the command is stopped, after which it continues. Also returns how
/// many changes of the route are parked.
fn followed(
    flags: &BackfillFlags,
    begun: BackfillStatus,
    parked: &mut u64,
) -> Result<BackfillStatus, Failure> {
    let mut bar = Bar::new();
    let mut last = begun;
    runtime::until_told_or(|| {
        let routes = ask(&flags.server, ListRoutes {})?.routes;
        let gone = || Failure::failed("the backfill is gone: its route was removed, or another one began");
        let route = routes.into_iter().find(|route| route.route == flags.name);
        let route = route.ok_or_else(gone)?;
        let backfill = route.backfill.filter(|backfill| backfill.id == last.id);
        last = backfill.ok_or_else(gone)?;
        *parked = route.parked;
        let hold = route.on_hold.map(|hold| on_hold(&flags.name, &hold));
        // Changes are shown at once, including the start and end of a hold.
        let state = format!("{} {}", last.state.name(), hold.is_some());
        bar.show(&state, || {
            let (bar, percent) = (drawn(done(&last)), done(&last) * 100.0);
            let hold = hold.map(|hold| format!("; {hold}")).unwrap_or_default();
            format!("{bar} {percent:5.1} %  {}{hold}", told(&last))
        });
        Ok(last.state != BackfillState::Running)
    })?;
    bar.clear();
    Ok(last)
}

/// The finished part, from 0 to 1. The table may have grown since the rows were counted.
fn done(status: &BackfillStatus) -> f64 {
    match status.state {
        BackfillState::Done => 1.0,
        _ => (status.rows as f64 / status.total.max(1) as f64).min(1.0),
    }
}

/// The status, in words.
pub(super) fn told(status: &BackfillStatus) -> String {
    let (state, rows) = (status.state.name(), status.rows);
    let of = match status.state {
        BackfillState::Done => String::new(),
        _ => format!(" of {}", status.total),
    };
    let rate = status.rate.map(|rate| format!(", at most {rate} a second"));
    format!("{state}, {rows}{of} rows{}", rate.unwrap_or_default())
}
