//! `trestle routes status` for `trestle routes run`: the stored state of each route.

use super::backfill::told;
use super::status::print_gone;
use super::{line, table};
use serde::Serialize;
use trestle_admin::{Gap, GoneRoute};
use trestle_events::StoredRoute;

/// The stored state of routes.
#[derive(Serialize)]
pub(super) struct StoredList {
    pub(super) routes: Vec<StoredRoute>,
    pub(super) gone: Vec<GoneRoute>,
}

/// Prints the stored state of routes.
pub(super) fn print(stored: &StoredList) {
    if stored.routes.is_empty() {
        line("no routes ran here; `trestle routes run FILE` runs those of a file");
    } else {
        print_routes(&stored.routes);
    }
    print_gone(&stored.gone);
}

fn print_routes(routes: &[StoredRoute]) {
    let mut rows = vec![["ROUTE", "TABLE", "PARKED", "DEAD", "GAPS"].map(str::to_owned)];
    rows.extend(routes.iter().map(row));
    for text in table::lines(&rows) {
        line(&text);
    }
    for route in routes {
        if let Some(backfill) = &route.backfill {
            line(&format!("backfill of {}: {}", route.route, told(backfill)));
        }
        route.gaps.iter().for_each(|gap| line(&missed(route, gap)));
    }
}

fn row(route: &StoredRoute) -> [String; 5] {
    [
        route.route.clone(),
        route.table.clone(),
        route.parked.to_string(),
        route.dead.to_string(),
        route.gaps.len().to_string(),
    ]
}

/// What a route may have missed, and what to do.
fn missed(stored: &StoredRoute, gap: &Gap) -> String {
    let number = |sequence: &Option<String>| sequence.as_deref().unwrap_or("?").to_owned();
    let StoredRoute { route, table, .. } = stored;
    format!(
        "{route}: changes of {table} may be missing: shard {} of stream {}, after {} and before {}; `trestle routes run FILE --backfill \
         {route}` sends every present row again",
        gap.shard,
        gap.stream,
        number(&gap.after),
        number(&gap.before),
    )
}
