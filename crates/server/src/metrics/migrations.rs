//! What migrations do, for Prometheus.

use super::render::Page;
use crate::migrations::MigrationFigures;

/// One figure of a migration: its name, its kind, its help, and how to read it.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&MigrationFigures) -> u64,
);

const FIGURES: [Figure; 4] = [
    (
        "migration_rows_moved_total",
        "counter",
        "Rows that a sweep has moved to another key.",
        |m| m.rows_moved,
    ),
    (
        "migration_rows_remaining",
        "gauge",
        "Rows that are still to be moved, about.",
        |m| m.rows_remaining,
    ),
    ("migration_rows_stuck", "gauge", "Rows that cannot move.", |m| {
        m.rows_stuck
    }),
    (
        "migration_double_reads_total",
        "counter",
        "Reads that looked into former places; no more of them once a migration is verified.",
        |m| m.double_reads,
    ),
];

/// The page of all migrations; empty without any.
pub(crate) fn render(migrations: &[MigrationFigures]) -> String {
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
    for MigrationFigures { model, state, .. } in migrations {
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
        let page = render(&[MigrationFigures {
            model: "shop".to_owned(),
            state: "sweeping",
            rows_moved: 7,
            rows_remaining: 3,
            rows_stuck: 1,
            double_reads: 9,
        }]);
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
