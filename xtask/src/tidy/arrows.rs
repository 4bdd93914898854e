//! Crates depend on one another only as the table in ARCHITECTURE.md allows.

use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};
use toml::Table;

const MAP: &str = "ARCHITECTURE.md";
const HEADING: &str = "may depend on";
/// Tests may use more than the crate itself does, so `dev-dependencies` are not arrows.
const SECTIONS: &[&str] = &["dependencies", "build-dependencies"];

type Arrows = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let Some(map) = repository.text(MAP) else {
        return vec![format!("{MAP} is missing, and with it the table of crates.")];
    };
    match drawn(repository) {
        Ok(drawn) => compare(&allowed(map, &drawn), &drawn),
        Err(fault) => vec![fault],
    }
}

/// Folder name of each crate to the folder names of the crates its manifest names.
fn drawn(repository: &Repository) -> Result<Arrows, String> {
    let mut arrows = Arrows::new();
    for (path, text) in repository.with_extension("toml") {
        let Some(crate_name) = crate_name(path) else {
            continue;
        };
        let manifest: Table = text
            .parse()
            .map_err(|error| format!("{path} is not valid TOML: {error}"))?;
        arrows.insert(crate_name, dependencies(&manifest));
    }
    Ok(arrows)
}

/// `crates/item` is called `item` in the table, and `apps/klayers` is called `app-klayers`.
fn crate_name(manifest: &str) -> Option<String> {
    let folder = manifest.strip_suffix("/Cargo.toml")?;
    match folder.split_once('/')? {
        ("crates", name) => Some(name.to_owned()),
        ("apps", name) => Some(format!("app-{name}")),
        _ => None,
    }
}

fn folder(crate_name: &str) -> String {
    match crate_name.strip_prefix("app-") {
        Some(app) => format!("apps/{app}"),
        None => format!("crates/{crate_name}"),
    }
}

fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let sections = SECTIONS
        .iter()
        .filter_map(|section| manifest.get(*section)?.as_table());
    sections
        .flat_map(Table::keys)
        .filter_map(|package| folder_of(package))
        .collect()
}

/// The package `trestle-item` lives in `crates/item`; the façade is just `trestle`.
fn folder_of(package: &str) -> Option<String> {
    match package {
        "trestle" => Some("trestle".to_owned()),
        _ => package.strip_prefix("trestle-").map(str::to_owned),
    }
}

/// Reads the rows under the heading; words that are not a crate's name are explanation.
fn allowed(map: &str, drawn: &Arrows) -> Arrows {
    let rows = map
        .lines()
        .skip_while(|line| !(line.starts_with('|') && line.contains(HEADING)));
    let mut arrows = Arrows::new();
    for row in rows.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        if let [name, .., targets] = cells.as_slice() {
            let targets = words(targets)
                .filter(|word| drawn.contains_key(*word))
                .map(str::to_owned)
                .collect();
            arrows.insert(name.trim_matches('`').to_owned(), targets);
        }
    }
    arrows
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
}

fn compare(allowed: &Arrows, drawn: &Arrows) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, targets) in drawn {
        let Some(permitted) = allowed.get(name) else {
            faults.push(format!("{} has no row in the table of {MAP}.", folder(name)));
            continue;
        };
        let unlisted = targets.difference(permitted);
        faults.extend(unlisted.map(|target| {
            let folder = folder(name);
            format!(
                "{folder} depends on {target}, but its row in {MAP} does not allow it; drop one or the other."
            )
        }));
    }
    let gone = allowed.keys().filter(|name| !drawn.contains_key(*name));
    faults.extend(gone.map(|name| format!("{MAP} has a row for {name}, but there is no {}.", folder(name))));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| crate | one sentence | may depend on |\n|---|---|---|\n| `item` | Values. | — |\n| `expr` | Expressions. | item (values only) |\n";

    fn repository(item: &str, expr: &str) -> Repository {
        Repository::of(&[
            (MAP, TABLE),
            ("crates/item/Cargo.toml", item),
            ("crates/expr/Cargo.toml", expr),
        ])
    }

    #[test]
    fn an_allowed_arrow_passes() {
        let found = faults(&repository(
            "",
            "[dependencies]\ntrestle-item.workspace = true\nserde = \"1\"",
        ));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn an_arrow_against_the_table_is_named() {
        let found = faults(&repository("[dependencies]\ntrestle-expr.workspace = true", ""));
        assert!(found[0].contains("crates/item depends on expr"), "{found:?}");
    }

    #[test]
    fn a_build_dependency_is_an_arrow_too() {
        let found = faults(&repository(
            "[build-dependencies]\ntrestle-expr = { path = \"../expr\" }",
            "",
        ));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_application_stands_on_what_its_row_says_and_nothing_below() {
        let with_app = Repository::of(&[
            (MAP, &format!("{TABLE}| app-shop | A shop. | expr |\n")),
            ("crates/item/Cargo.toml", ""),
            ("crates/expr/Cargo.toml", ""),
            (
                "apps/shop/Cargo.toml",
                "[dependencies]\ntrestle-expr.workspace = true\ntrestle-item.workspace = true",
            ),
        ]);
        let found = faults(&with_app);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("apps/shop depends on item"), "{found:?}");
    }

    #[test]
    fn rows_and_crates_must_match_one_to_one() {
        let lonely = Repository::of(&[
            (MAP, TABLE),
            ("crates/item/Cargo.toml", ""),
            ("crates/new/Cargo.toml", ""),
        ]);
        let found = faults(&lonely);
        assert!(
            found.iter().any(|fault| fault.contains("crates/new has no row")),
            "{found:?}"
        );
        assert!(
            found.iter().any(|fault| fault.contains("no crates/expr")),
            "{found:?}"
        );
    }
}
