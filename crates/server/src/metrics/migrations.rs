//! The metrics of migrations, for Prometheus.

use super::render::Page;
use trestle_admin::MigrationStatus;

/// One figure of a migration: its name, its kind, its help, and its value.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&MigrationStatus) -> u64,
);

const FIGURES: [Figure; 4] = [
    (
        "migration_rows_moved_total",
        "counter",
        "Rows that a sweep has moved to another key. Rows that writes moved are not counted.",
        |m| m.rows_moved,
    ),
    (
        "migration_rows_remaining",
        "gauge",
        "Rows that are still to be moved, about: rows that writes moved or deleted count until the sweep is through.",
        |m| m.rows_remaining,
    ),
    ("migration_rows_stuck", "gauge", "Rows that cannot move.", |m| {
        m.stuck.rows
    }),
    (
        "migration_double_reads_total",
        "counter",
        "Reads that also looked under old keys; none once a migration is verified.",
        |m| m.double_reads,
    ),
];

/// The page of all migrations; empty without any.
pub(crate) fn render(migrations: &[MigrationStatus]) -> String {
    let mut page = Page::default();
    if migrations.is_empty() {
        return page.0;
    }
    for (name, kind, help, read) in FIGURES {
        page.head(name, kind, help);
        for migration in migrations {
            page.labelled(name, "model", &migration.model, read(migration) as f64);
        }
    }
    page.head(
        "migration_state",
        "gauge",
        "1 for the state a migration is in: planned, dual, sweeping, verifying, verified, done, rolling-back, rolled-back.",
    );
    for MigrationStatus { model, state, .. } in migrations {
        let state = state.as_str();
        page.line(
            "migration_state",
            &format!("model=\"{model}\",state=\"{state}\""),
            1.0,
        );
    }
    page.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_has_its_figures_and_its_state() {
        let status = serde_json::json!({
            "model": "shop", "state": "sweeping", "paused": false, "held_up": true, "from_version": 1, "to_version": 2,
            "rolled_back_as": null, "rate": 2000, "finishes_by_itself": false, "done": 0.7, "rows_moved": 7,
            "rows_remaining": 3, "rows_per_second": null, "seconds_left": null, "double_reads": 9,
            "stuck": { "rows": 1, "shown": [] }, "error": null, "tables": [], "planned": "", "started": null,
            "changed": "", "next": "",
        });
        let page = render(&[serde_json::from_value(status).unwrap()]);
        for line in [
            r#"trestle_migration_rows_moved_total{model="shop"} 7"#,
            r#"trestle_migration_rows_remaining{model="shop"} 3"#,
            r#"trestle_migration_rows_stuck{model="shop"} 1"#,
            r#"trestle_migration_double_reads_total{model="shop"} 9"#,
            r#"trestle_migration_state{model="shop",state="sweeping"} 1"#,
        ] {
            assert!(page.lines().any(|found| found == line), "{line}: {page}");
        }
        assert_eq!(render(&[]), "");
    }
}
