//! Prints the status of routes on standard error when it changes.

use crate::routes::backfill::told;
use crate::routes::say;
use std::collections::HashMap;
use trestle_env::{Timestamp, iso_8601_millis};
use trestle_events::RouteStatus;

/// The last printed status of each route.
#[derive(Default)]
pub(super) struct Report {
    said: HashMap<String, String>,
}

impl Report {
    /// Prints the status of each route, unless it is unchanged.
    pub(super) fn changes(&mut self, statuses: &[RouteStatus]) {
        for status in statuses {
            let line = line(status);
            if self.said.get(&status.route) != Some(&line) {
                // The reason may change with each probe; only the first is printed.
                let reason = status.on_hold.as_ref().map(|hold| format!(": {}", hold.reason));
                say(&format!("{line}{}", reason.unwrap_or_default()));
                self.said.insert(status.route.clone(), line);
            }
        }
    }
}

fn line(status: &RouteStatus) -> String {
    // Printed once per hold, for any number of failed probes.
    if let Some(hold) = &status.on_hold {
        let since = iso_8601_millis(Timestamp::from_millis(hold.since_ms));
        let (route, state) = (&status.route, status.state.name());
        let until = match hold.destinations {
            None => "until its target answers",
            Some(_) => "until all destinations answer; the others continue",
        };
        return format!("{route}: {state} since {since}Z, {until}");
    }
    let mut line = format!(
        "{}: {}, {} delivered",
        status.route,
        status.state.name(),
        status.delivered
    );
    for (count, name) in [
        (status.waiting, "waiting"),
        (status.retried, "retried"),
        (status.parked, "parked"),
        (status.dead, "dead"),
    ] {
        if count > 0 {
            line += &format!(", {count} {name}");
        }
    }
    if let Some(backfill) = &status.backfill {
        line += &format!("; backfill {}", told(backfill));
    }
    if !status.gaps.is_empty() {
        let (gaps, route) = (status.gaps.len(), &status.route);
        line += &format!(
            "; {gaps} gaps in which changes may be missing: --backfill {route} sends every present row"
        );
    }
    if let Some(error) = status.last_error.as_ref().filter(|error| !error.past) {
        let first = error.message.lines().next().unwrap_or_default();
        line += &format!("; last error: {first}");
    }
    line
}
