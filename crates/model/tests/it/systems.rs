//! The models of the five systems load, and the explanation of each access pattern equals its file under
//! `tests/explain`. `UPDATE_EXPLAIN=1 cargo test -p trestle-model` rewrites the files.

use crate::rows::{system, system_text};
use trestle_model::{Operation, Severity, load};

const SYSTEMS: [&str; 5] = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"];

#[test]
fn every_system_passes_the_check() {
    for name in SYSTEMS {
        let loaded = load(&system_text(name));
        let errors: Vec<_> = loaded
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        assert_eq!(loaded.model.unwrap().name(), name);
    }
}

#[test]
fn warnings_are_only_those_that_are_meant() {
    let mut warnings = Vec::new();
    for name in SYSTEMS {
        let problems = load(&system_text(name)).problems;
        warnings.extend(
            problems
                .into_iter()
                .map(|problem| format!("{name}: {}", problem.message)),
        );
    }
    assert_eq!(
        warnings,
        [
            "klayers: entity `layer`: key `sk` = \"lyrVrsn#v{lyrVrsn}\" sorts the number `lyrVrsn` as text: 10 comes \
             before 9",
            "reindexer: access `all_records` scans table `source`: it does not say what `id` is",
            "reindexer: access `shards` scans table `tracker`: it does not say what `shardId` is",
            "warehouse: access `packages` scans table `Package`: it does not say what `name` is",
        ]
    );
}

#[test]
fn every_access_pattern_is_explained_as_recorded() {
    for name in SYSTEMS {
        let model = system(name);
        let said: Vec<String> = model
            .access_patterns()
            .iter()
            .map(|pattern| pattern.explain().to_string())
            .collect();
        let said = said.join("\n");
        let path = format!("{}/tests/explain/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_EXPLAIN").is_some() {
            std::fs::write(&path, &said).unwrap();
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(said == recorded, "{path} differs from:\n{said}");
    }
}

#[test]
fn only_what_says_so_scans() {
    for name in SYSTEMS {
        let model = system(name);
        let scans = model
            .access_patterns()
            .iter()
            .filter(|pattern| pattern.operation() == Operation::Scan);
        let scans: Vec<&str> = scans.map(|pattern| pattern.name()).collect();
        let expected: &[&str] = match name {
            "reindexer" => &["all_records", "shards"],
            "warehouse" => &["packages"],
            _ => &[],
        };
        assert_eq!(scans, expected, "{name}");
    }
}
