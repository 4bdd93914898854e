//! Paths named in the documents exist, and no file contains a path of a particular machine.

use super::links::prose;
use crate::repository::Repository;

/// Results of a build or a run; documents may name them, but they are not in the repository.
const MADE: &[&str] = &["target", ".test-env", "trestle-data", "node_modules"];

/// A changelog describes the past; its paths may no longer exist.
const HISTORY: &str = "CHANGELOG.md";

pub(crate) fn missing_paths(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (document, text) in repository
        .with_extension("md")
        .filter(|(path, _)| !path.ends_with(HISTORY))
    {
        let spans = code_spans(text).filter(|span| names_path(repository, span));
        faults.extend(
            spans
                .filter(|span| !repository.has(span))
                .map(|span| missing(document, span)),
        );
    }
    faults
}

fn missing(document: &str, path: &str) -> String {
    format!("{document} names {path}, which does not exist.")
}

/// The text between single backticks, outside of fenced blocks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// A span counts as a path when it looks like one and starts with something at the root, or is a document.
fn names_path(repository: &Repository, span: &str) -> bool {
    let plain = span
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.-/@".contains(c));
    match span.split_once('/') {
        Some((first, _)) => plain && !first.is_empty() && !MADE.contains(&first) && repository.has(first),
        None => plain && span.ends_with(".md"),
    }
}

/// Written in two parts, so that this file does not name them itself.
const MACHINE_NAMES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("registry.npm", "js.org"),
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("pypi.", "org/simple"),
    concat!("files.python", "hosted.org"),
];

pub(crate) fn machine_names(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in repository.files() {
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = MACHINE_NAMES.iter().find(|name| line.contains(**name)) {
                let line = number + 1;
                faults.push(format!(
                    "{path}:{line} names {name}, which exists on one machine or network only."
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_in(text: &str) -> Vec<String> {
        missing_paths(&Repository::of(&[
            ("docs/guide.md", text),
            ("crates/item/src/lib.rs", ""),
            ("README.md", ""),
        ]))
    }

    #[test]
    fn a_path_that_exists_passes_as_file_and_as_folder() {
        assert_eq!(
            missing_in("See `crates/item/src/lib.rs` and `crates/item/`."),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_path_that_is_gone_is_named() {
        assert_eq!(missing_in("See `crates/item/src/gone.rs`.").len(), 1);
        assert_eq!(missing_in("See `ELSEWHERE.md`.").len(), 1);
    }

    #[test]
    fn other_code_and_made_files_are_no_claims() {
        assert_eq!(
            missing_in("`a/b`, `GET /`, `target/debug/x`, `crates/*`, <https://x.y/z>"),
            Vec::<String>::new()
        );
        assert_eq!(missing_in("```\n`crates/none`\n```"), Vec::<String>::new());
    }

    #[test]
    fn a_machine_path_is_found_with_its_line() {
        let text = format!("fine\ncd {}\n", concat!("/ro", "ot/x"));
        let found = machine_names(&Repository::of(&[("run.sh", &text)]));
        assert!(found[0].starts_with("run.sh:2"), "{found:?}");
    }
}
