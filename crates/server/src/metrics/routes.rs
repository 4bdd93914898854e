//! The metrics of routes, for Prometheus.

use std::collections::BTreeMap;

use super::render::Page;
use trestle_admin::{RouteList, RouteState, RouteStatus};

/// One figure of a route: its name, its kind, its help, and its value, if known.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&RouteStatus) -> Option<f64>,
);

const FIGURES: [Figure; 10] = [
    ("route_delivered_total", "counter", "Changes delivered.", |s| {
        Some(s.delivered as f64)
    }),
    (
        "route_retried_total",
        "counter",
        "Further attempts to deliver a change.",
        |s| Some(s.retried as f64),
    ),
    ("route_waiting", "gauge", "Changes read and not done yet.", |s| {
        Some(s.waiting as f64)
    }),
    (
        "route_lag_records",
        "gauge",
        "Records behind the newest of the stream, as far as they have been counted.",
        |s| at_work(s, s.lag_records as f64),
    ),
    (
        "route_lag_seconds",
        "gauge",
        "Age of the oldest change that is not done yet.",
        |s| at_work(s, s.lag_ms as f64 / 1e3),
    ),
    (
        "route_on_hold",
        "gauge",
        "1 while the route delivers nothing because its target does not answer, 0 otherwise.",
        |s| Some(f64::from(u8::from(s.state == RouteState::OnHold))),
    ),
    (
        "route_parked",
        "gauge",
        "Changes that were refused and will be tried again.",
        |s| Some(s.parked as f64),
    ),
    (
        "route_gaps",
        "gauge",
        "Shards of which records were trimmed before they were read.",
        |s| Some(s.gaps.len() as f64),
    ),
    (
        "route_backfill_rows",
        "gauge",
        "Rows that the last backfill is done with.",
        |s| s.backfill.as_ref().map(|backfill| backfill.rows as f64),
    ),
    (
        "route_backfill_rows_expected",
        "gauge",
        "Rows that the table had when the last backfill began.",
        |s| s.backfill.as_ref().map(|backfill| backfill.total as f64),
    ),
];

/// The page of all routes; empty without any.
pub(crate) fn render(list: &RouteList) -> String {
    // A route that another gateway runs is counted there.
    let mut list = list.clone();
    list.routes
        .retain(|status| status.state != RouteState::AtAnotherGateway);
    let routes = &list.routes;
    let mut page = Page::default();
    for (name, kind, help, read) in FIGURES.iter().filter(|_| !routes.is_empty()) {
        page.head(name, kind, help);
        for status in routes {
            if let Some(figure) = read(status) {
                page.labelled(name, "route", &status.route, figure);
            }
        }
    }
    dead_letters(&list, &mut page);
    held(routes, &mut page);
    page.0
}

/// Dead letters by route, including routes that no longer exist.
fn dead_letters(list: &RouteList, page: &mut Page) {
    let here = list.routes.iter().map(|route| (&route.route, route.dead));
    let gone = list.gone.iter().map(|route| (&route.route, route.dead));
    let mut all = here.chain(gone).peekable();
    if all.peek().is_none() {
        return;
    }
    let name = "route_dead_letters";
    let help = "Changes that were given up, also those of routes that are gone.";
    page.head(name, "gauge", help);
    for (route, dead) in all {
        page.labelled(name, "route", route, dead as f64);
    }
}

/// Changes that are kept for routes beyond the retention of the streams, by table.
fn held(routes: &[RouteStatus], page: &mut Page) {
    let Some(max) = routes.iter().map(|route| route.held_bytes_max).max() else {
        return;
    };
    let name = "stream_held_bytes";
    let help =
        "Change records older than the stream's retention, kept because a route has not delivered them.";
    page.head(name, "gauge", help);
    // A route that is switched off has no data about its table.
    let at_work = routes.iter().filter(|route| !route.state.is_off());
    let by_table: BTreeMap<&str, u64> = at_work.map(|route| (&*route.table, route.held_bytes)).collect();
    for (table, bytes) in by_table {
        page.labelled(name, "table", table, bytes as f64);
    }
    let help = "The most bytes that are kept so, of all tables together.";
    page.single("stream_held_bytes_max", "gauge", help, max);
}

/// The lag of a route that is switched off is not known.
fn at_work(status: &RouteStatus, lag: f64) -> Option<f64> {
    (!status.state.is_off()).then_some(lag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(route: &str, state: RouteState) -> RouteStatus {
        RouteStatus {
            route: route.to_owned(),
            table: "orders".to_owned(),
            state,
            waiting: 2,
            lag_records: 7,
            lag_at_least: false,
            lag_ms: 1_500,
            delivered: 3,
            retried: 0,
            parked: 0,
            dead: 1,
            gaps: Vec::new(),
            held_bytes: 5,
            held_bytes_max: 100,
            on_hold: None,
            last_error: None,
            backfill: None,
        }
    }

    fn page(routes: &[RouteStatus]) -> String {
        render(&RouteList {
            routes: routes.to_vec(),
            gone: Vec::new(),
        })
    }

    #[test]
    fn the_dead_letters_of_routes_that_are_gone_are_counted_also_without_any_route() {
        let gone = trestle_admin::GoneRoute {
            route: "former".to_owned(),
            dead: 3,
        };
        for routes in [Vec::new(), vec![status("mail", RouteState::Running)]] {
            let figures = routes.len() + 1;
            let page = render(&RouteList {
                routes,
                gone: vec![gone.clone()],
            });
            assert!(
                page.contains("trestle_route_dead_letters{route=\"former\"} 3\n"),
                "{page}"
            );
            assert_eq!(
                page.matches("trestle_route_dead_letters{").count(),
                figures,
                "{page}"
            );
            assert_eq!(page.matches("# TYPE trestle_route_dead_letters gauge").count(), 1);
        }
    }

    #[test]
    fn a_backfill_shows_how_far_it_is_and_a_route_without_one_shows_nothing() {
        let backfill = trestle_admin::BackfillStatus {
            id: "b".to_owned(),
            state: trestle_admin::BackfillState::Running,
            rows: 250,
            total: 1_000,
            rate: None,
            began_ms: 1,
            ended_ms: None,
        };
        let page = page(&[
            status("mail", RouteState::Running),
            RouteStatus {
                backfill: Some(backfill),
                ..status("new", RouteState::Running)
            },
        ]);
        let has = |figure: &str| page.lines().any(|line| line.ends_with(figure));
        assert!(has(r#"route_backfill_rows{route="new"} 250"#), "{page}");
        assert!(has(r#"route_backfill_rows_expected{route="new"} 1000"#), "{page}");
        assert!(!page.contains(r#"route_backfill_rows{route="mail"}"#), "{page}");
    }

    #[test]
    fn a_route_on_hold_is_marked() {
        let page = page(&[
            status("mail", RouteState::Running),
            status("stuck", RouteState::OnHold),
        ]);
        let has = |figure: &str| page.lines().any(|line| line.ends_with(figure));
        assert!(has(r#"route_on_hold{route="mail"} 0"#), "{page}");
        assert!(has(r#"route_on_hold{route="stuck"} 1"#), "{page}");
    }

    #[test]
    fn a_route_that_is_switched_off_has_no_lag_but_still_its_dead_letters() {
        let page = page(&[
            status("mail", RouteState::Running),
            status("old", RouteState::Disabled),
        ]);
        let has = |figure: &str| page.lines().any(|line| line.ends_with(figure));
        assert!(has(r#"route_lag_records{route="mail"} 7"#), "{page}");
        assert!(has(r#"route_lag_seconds{route="mail"} 1.5"#), "{page}");
        assert!(has(r#"route_dead_letters{route="old"} 1"#), "{page}");
        assert!(has(r#"stream_held_bytes{table="orders"} 5"#), "{page}");
        assert!(has("stream_held_bytes_max 100"), "{page}");
        let lag_of_old = |line: &str| line.contains("lag") && line.contains(r#"route="old""#);
        assert!(!page.lines().any(lag_of_old), "{page}");
    }
}
