//! What routes do, for Prometheus.

use super::render::Page;
use trestle_events::{RouteState, RouteStatus};

/// One figure of a route: its name, its kind, its help, and how to read it.
type Figure = (&'static str, &'static str, &'static str, fn(&RouteStatus) -> f64);

/// Of a route that is switched off, nobody knows how far it is behind.
const OF_ROUTES_AT_WORK: [&str; 2] = ["route_lag_records", "route_lag_seconds"];

const FIGURES: [Figure; 7] = [
    ("route_delivered_total", "counter", "Changes delivered.", |s| {
        s.delivered as f64
    }),
    (
        "route_retried_total",
        "counter",
        "Further attempts to deliver a change.",
        |s| s.retried as f64,
    ),
    ("route_waiting", "gauge", "Changes read and not done yet.", |s| {
        s.waiting as f64
    }),
    (
        "route_lag_records",
        "gauge",
        "Records behind the newest of the stream, as far as they have been counted.",
        |s| s.lag_records as f64,
    ),
    (
        "route_lag_seconds",
        "gauge",
        "Age of the oldest change that is not done yet.",
        |s| s.lag_ms as f64 / 1e3,
    ),
    (
        "route_parked",
        "gauge",
        "Changes that were refused and will be tried again.",
        |s| s.parked as f64,
    ),
    (
        "route_dead_letters",
        "gauge",
        "Changes that were given up.",
        |s| s.dead as f64,
    ),
];

/// The page of all routes; empty without any.
pub(crate) fn render(routes: &[RouteStatus]) -> String {
    let mut page = Page::default();
    for (name, kind, help, read) in FIGURES.iter().filter(|_| !routes.is_empty()) {
        page.head(name, kind, help);
        let is_known =
            |status: &&RouteStatus| status.state != RouteState::Disabled || !OF_ROUTES_AT_WORK.contains(name);
        for status in routes.iter().filter(is_known) {
            page.labelled(name, "route", &status.route, read(status));
        }
    }
    page.0
}
