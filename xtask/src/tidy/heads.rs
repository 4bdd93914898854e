//! The documentation of a library that can be published begins with an example, or says that it is an internal part.

use crate::repository::Repository;

/// How a crate says that programs do not use it directly.
const INTERNAL: &str = "An internal part of Trestle: programs use the crate `trestle`.";
/// Fences of Rust code that rustdoc compiles.
const EXAMPLES: &[&str] = &["```", "```no_run", "```rust"];

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let libraries = repository
        .files()
        .filter(|(path, _)| is_library(repository, path));
    libraries
        .filter(|(_, text)| !has_example(text) && !head(text).any(|line| line == INTERNAL))
        .map(|(path, _)| format!("{path} begins with neither an example nor the line \"{INTERNAL}\""))
        .collect()
}

fn is_library(repository: &Repository, path: &str) -> bool {
    let folder = path
        .strip_suffix("/src/lib.rs")
        .filter(|folder| folder.starts_with("crates/"));
    let manifest = folder.and_then(|folder| repository.text(&format!("{folder}/Cargo.toml")));
    manifest.is_some_and(|manifest| !manifest.contains("publish = false"))
}

fn has_example(text: &str) -> bool {
    // A fence that closes a block looks like one that opens one, so only every second one counts.
    let fences = head(text).filter(|line| line.starts_with("```"));
    fences.step_by(2).any(|fence| EXAMPLES.contains(&fence))
}

/// The lines of the crate's own documentation.
fn head(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(manifest: &str, library: &str) -> Vec<String> {
        faults(&Repository::of(&[
            ("crates/item/Cargo.toml", manifest),
            ("crates/item/src/lib.rs", library),
        ]))
    }

    #[test]
    fn an_example_or_the_line_is_enough_and_a_private_crate_needs_neither() {
        for library in [
            "//! Items.\n//! ```\n//! item();\n//! ```\n",
            &format!("//! Items.\n//! {INTERNAL}\n"),
        ] {
            assert_eq!(faults_of("", library), Vec::<String>::new(), "{library}");
        }
        assert_eq!(faults_of("publish = false", "//! Items.\n"), Vec::<String>::new());
    }

    #[test]
    fn a_library_without_them_is_named() {
        for library in [
            "//! Items.\n",
            "//! ```toml\n//! [item]\n//! ```\n",
            "//! Items.\n\n/// ```\n/// item();\n/// ```\npub fn item() {}\n",
        ] {
            assert_eq!(faults_of("", library).len(), 1, "{library}");
        }
    }
}
