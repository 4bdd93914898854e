//! The metrics of running reindexes, for Prometheus.

use std::sync::Arc;

use super::render::Page;
use trestle_admin::{
    Administration, AdministrationExt, ListReindexes, ReadReindex, ReindexReport, ReindexStatus,
};

/// One figure of a reindex: its name, its kind, its help, and its value.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&ReindexStatus) -> u64,
);

const FIGURES: [Figure; 7] = [
    (
        "reindex_rows_read_total",
        "counter",
        "Rows that were read.",
        |status| status.counts.read,
    ),
    (
        "reindex_rows_done_total",
        "counter",
        "Rows that were raised to the version, or that the target took.",
        |status| status.counts.done,
    ),
    (
        "reindex_rows_waiting",
        "gauge",
        "Rows that are yet to be read, about.",
        |status| status.waiting,
    ),
    (
        "reindex_dead_letters",
        "gauge",
        "Rows that were given up.",
        |status| status.dead_letters,
    ),
    (
        "reindex_retries_total",
        "counter",
        "Attempts after the first one.",
        |status| status.counts.retries,
    ),
    (
        "reindex_throttled_total",
        "counter",
        "Calls that the database or the target answered with throttling, an error of its own, or not at all.",
        |status| status.counts.throttled,
    ),
    (
        "reindex_workers",
        "gauge",
        "Workers that have a part of the rows.",
        |status| status.workers.len() as u64,
    ),
];

/// The status of the running reindexes, without those whose status cannot be read.
pub(crate) async fn running(administration: &Arc<dyn Administration>) -> Vec<ReindexReport> {
    let administration = Arc::clone(administration);
    let look = move || {
        let running = administration.ask(ListReindexes {
            running: true,
            ..ListReindexes::default()
        });
        let running = running.map(|list| list.reindexes).unwrap_or_default();
        let names = running.into_iter().map(|summary| summary.name);
        let reports = names.filter_map(|name| administration.ask(ReadReindex { name }).ok());
        reports.collect()
    };
    // The rows of reindexes are read, which may take time.
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// The page of running reindexes; empty without any.
pub(crate) fn render(running: &[ReindexReport]) -> String {
    let mut page = Page::default();
    if running.is_empty() {
        return page.0;
    }
    for (name, kind, help, read) in FIGURES {
        page.head(name, kind, help);
        for ReindexReport { status, .. } in running {
            page.line(name, &labels(status), read(status) as f64);
        }
    }
    page.head(
        "reindex_held_up",
        "gauge",
        "1 while a reindex cannot continue and is retried, 0 otherwise.",
    );
    for ReindexReport { status, error } in running {
        let is_held_up = f64::from(u8::from(error.is_some()));
        page.line("reindex_held_up", &labels(status), is_held_up);
    }
    page.0
}

/// Names of reindexes and tables have no characters that need escaping.
fn labels(status: &ReindexStatus) -> String {
    format!("reindex=\"{}\",table=\"{}\"", status.name, status.table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_reindex_has_its_figures() {
        let report = serde_json::json!({
            "name": "works-7", "table": "works", "version": 7, "route": null, "state": "running", "rows": 10,
            "rows_are_estimated": true, "counts": {"read": 6, "done": 4, "retries": 2, "throttled": 3}, "waiting": 4,
            "dead_letters": 1, "gaps": 5, "percent": 60.0, "rate": 1.0, "seconds_left": 4, "held_up": null, "work_items": 2,
            "work_items_done": 1, "workers": [{"worker": "w", "work_item": "segment-0001", "until": 5}], "processes": 1,
            "started_at": 0, "ended_at": null, "error": "route index is disabled",
        });
        let page = render(&[serde_json::from_value(report).unwrap()]);
        for line in [
            r#"trestle_reindex_rows_read_total{reindex="works-7",table="works"} 6"#,
            r#"trestle_reindex_rows_done_total{reindex="works-7",table="works"} 4"#,
            r#"trestle_reindex_rows_waiting{reindex="works-7",table="works"} 4"#,
            r#"trestle_reindex_dead_letters{reindex="works-7",table="works"} 1"#,
            r#"trestle_reindex_retries_total{reindex="works-7",table="works"} 2"#,
            r#"trestle_reindex_throttled_total{reindex="works-7",table="works"} 3"#,
            r#"trestle_reindex_workers{reindex="works-7",table="works"} 1"#,
            r#"trestle_reindex_held_up{reindex="works-7",table="works"} 1"#,
        ] {
            assert!(page.lines().any(|found| found == line), "{line}: {page}");
        }
        assert_eq!(render(&[]), "");
    }
}
