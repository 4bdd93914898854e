//! `trestle routes status`.

use super::letters::{self, LettersFlags};
use super::{ask, backfill, line, runs_routes, stored, table};
use crate::administration::print_json;
use crate::exit::Failure;
use crate::open;
use crate::runtime;
use clap::Args;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use trestle_admin::{Gap, GoneRoute, LastError, ListRoutes, OnHold, RouteList, RouteStatus};
use trestle_env::{Timestamp, iso_8601_millis};

/// Flags of `trestle routes status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Repeat every second until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: LettersFlags,
}

pub(super) fn status(flags: &StatusFlags) -> Result<(), Failure> {
    if !flags.watch {
        return look(flags);
    }
    runtime::until_told_or(|| {
        if io::stdout().is_terminal() && !flags.json {
            let _ = write!(io::stdout(), "\x1b[H\x1b[2J");
        }
        look(flags)?;
        Ok(false)
    })
}

fn look(flags: &StatusFlags) -> Result<(), Failure> {
    let server = &flags.place.server;
    if flags.place.state.is_some() || !runs_routes(server)? {
        return look_at_rows(flags);
    }
    let list = ask(server, ListRoutes {})?;
    if flags.json {
        return print_json(&list);
    }
    print(&list);
    Ok(())
}

/// Shows the stored state of `trestle routes run`.
fn look_at_rows(flags: &StatusFlags) -> Result<(), Failure> {
    let runtime = runtime::on_this_thread()?;
    let router = letters::router(&flags.place, &runtime, open::to_look)?;
    let unreadable = |error| Failure::failed(format!("the routes cannot be read: {error}"));
    let stored = stored::StoredList {
        routes: runtime.block_on(router.stored_routes()).map_err(unreadable)?,
        gone: runtime
            .block_on(router.stored_gone_routes())
            .map_err(unreadable)?,
    };
    if flags.json {
        return print_json(&stored);
    }
    stored::print(&stored);
    Ok(())
}

/// Prints the status of routes.
pub(super) fn print(list: &RouteList) {
    if list.routes.is_empty() {
        line("no routes; `trestle routes apply FILE` applies a route file");
    } else {
        print_routes(list);
    }
    print_gone(&list.gone);
}

/// Removed routes that have dead letters, and what to do with these.
pub(super) fn print_gone(gone: &[GoneRoute]) {
    for GoneRoute { route, dead } in gone {
        line(&format!(
            "{route} is gone; dead letters: {dead}. `trestle routes dead-letters move --route {route} --to NAME` gives them to \
             another route, `trestle routes dead-letters drop --route {route}` forgets them"
        ));
    }
}

fn print_routes(list: &RouteList) {
    let head = [
        "ROUTE",
        "TABLE",
        "STATE",
        "WAITING",
        "LAG",
        "DELIVERED",
        "RETRIED",
        "PARKED",
        "DEAD",
        "LAST ERROR",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(list.routes.iter().map(row));
    for text in table::lines(&rows) {
        line(&text);
    }
    for route in &list.routes {
        if let Some(hold) = &route.on_hold {
            line(&on_hold(&route.route, hold));
        }
        if let Some(backfill) = &route.backfill {
            line(&format!(
                "backfill of {}: {}",
                route.route,
                backfill::told(backfill)
            ));
        }
    }
    held(&list.routes).iter().for_each(|text| line(text));
    list.routes.iter().flat_map(gaps).for_each(|text| line(&text));
}

/// What a route may have missed, and what to do.
fn gaps(route: &RouteStatus) -> Vec<String> {
    let number = |sequence: &Option<String>| sequence.as_deref().unwrap_or("?").to_owned();
    let said = |gap: &Gap| {
        format!(
            "{}: changes of {} may be missing: shard {} of stream {}, after {} and before {}; `trestle routes backfill {}` sends every present row again",
            route.route,
            route.table,
            gap.shard,
            gap.stream,
            number(&gap.after),
            number(&gap.before),
            route.route,
        )
    };
    route.gaps.iter().map(said).collect()
}

/// The changes kept for routes beyond the retention of the streams, by table.
fn held(routes: &[RouteStatus]) -> Vec<String> {
    let by_table: BTreeMap<&str, &RouteStatus> = routes.iter().map(|route| (&*route.table, route)).collect();
    let said = |route: &&RouteStatus| {
        format!(
            "{}: {} of changes older than the stream's retention are kept for routes, of {} at most",
            route.table,
            bytes(route.held_bytes),
            bytes(route.held_bytes_max),
        )
    };
    let is_held = |route: &&RouteStatus| route.held_bytes > 0;
    by_table
        .into_values()
        .filter(is_held)
        .map(|route| said(&route))
        .collect()
}

/// Why a route is on hold, since when, and when its target is tried next.
pub(super) fn on_hold(route: &str, hold: &OnHold) -> String {
    let at = |ms| iso_8601_millis(Timestamp::from_millis(ms));
    let what = match hold.destinations {
        None => format!("{route} is"),
        Some(1) => format!("1 destination of {route} is"),
        Some(destinations) => format!("{destinations} destinations of {route} are"),
    };
    let probe = match hold.probing {
        true => "a probe is under way".to_owned(),
        false => format!("next probe at {}Z", at(hold.next_probe_ms)),
    };
    format!(
        "{what} on hold since {}Z, {probe}: {}",
        at(hold.since_ms),
        hold.reason.lines().next().unwrap_or_default()
    )
}

fn row(route: &RouteStatus) -> [String; 10] {
    let [waiting, lag] = behind(route);
    [
        route.route.clone(),
        route.table.clone(),
        route.state.name().to_owned(),
        waiting,
        lag,
        route.delivered.to_string(),
        route.retried.to_string(),
        route.parked.to_string(),
        route.dead.to_string(),
        route.last_error.as_ref().map_or("-".to_owned(), last_error),
    ]
}

/// The last error, its time, and whether it is over.
fn last_error(error: &LastError) -> String {
    let what = error.message.lines().next().unwrap_or_default();
    let at = iso_8601_millis(Timestamp::from_millis(error.at_ms));
    let over = if error.past {
        "; changes were taken since"
    } else {
        ""
    };
    format!("{what} (at {at}Z{over})")
}

/// How far a route is behind, in records and in time; unknown for a disabled route.
fn behind(route: &RouteStatus) -> [String; 2] {
    if route.state.is_off() {
        return ["-", "-"].map(str::to_owned);
    }
    let more = if route.lag_at_least { "+" } else { "" };
    [format!("{}{more}", route.lag_records), time(route.lag_ms)]
}

/// Bytes in their largest unit.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// A time in its largest unit.
fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}s", ms / 1_000),
        60_000..3_600_000 => format!("{}m", ms / 60_000),
        _ => format!("{}h", ms / 3_600_000),
    }
}
