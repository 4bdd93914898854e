//! `cargo xtask book` builds the book in `docs` with mdBook.
//!
//! Pages link to documents and files outside of `docs`, which mdBook cannot read from there. So the book is
//! built from a copy in which each file keeps its path from the root. The README is the first page; other
//! documents outside of `docs` are the last ones.

use crate::repository::Repository;
use crate::tidy::links::{beside, link_targets};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

const FIRST: &str = "README.md";
const SUMMARY: &str = "docs/SUMMARY.md";
const SETTINGS: &str = "docs/book.toml";
/// From the root of the repository.
const COPY: &str = "target/book-source";
const BOOK: &str = "target/book";

/// Builds the book; an error says what to do.
pub(crate) fn build(root: &Path, repository: &Repository) -> Result<(), String> {
    let copy = root.join(COPY);
    write_copy(root, &copy, repository)
        .map_err(|error| format!("The pages could not be copied to {COPY}: {error}."))?;
    let built = Command::new("mdbook")
        .arg("build")
        .arg(&copy)
        .arg("--dest-dir")
        .arg(root.join(BOOK))
        .status();
    match built {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("mdbook ended with {status}.")),
        Err(error) => Err(format!(
            "mdbook cannot be run: {error}. Install it with `cargo install mdbook --locked`."
        )),
    }
}

fn write_copy(root: &Path, copy: &Path, repository: &Repository) -> io::Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    let files = files(repository);
    for file in &files {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().unwrap_or(copy))?;
        fs::copy(root.join(file), to)?;
    }
    fs::copy(root.join(SETTINGS), copy.join("book.toml"))?;
    fs::write(copy.join("SUMMARY.md"), summary(repository, &files))
}

/// The README, everything in `docs`, and every file that a link leads to from there, directly or through other documents.
fn files(repository: &Repository) -> BTreeSet<&str> {
    let mut open: Vec<&str> = repository
        .files()
        .map(|(path, _)| path)
        .filter(|path| *path == FIRST || path.starts_with("docs/"))
        .collect();
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !found.insert(path) || !path.ends_with(".md") {
            continue;
        }
        let targets = link_targets(repository.text(path).unwrap_or_default());
        let linked = targets.map(|target| beside(path, target.split('#').next().unwrap_or_default()));
        open.extend(linked.flat_map(|linked| below(repository, &linked)));
    }
    found
}

/// The file of this path, or the files of the folder.
fn below<'r>(repository: &'r Repository, linked: &str) -> Vec<&'r str> {
    let paths = repository.files().map(|(path, _)| path);
    let is_linked = |path: &&str| {
        path.strip_prefix(linked)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    paths.filter(is_linked).collect()
}

/// The summary of the book as seen from the root, with the documents outside of `docs`.
fn summary(repository: &Repository, files: &BTreeSet<&str>) -> String {
    let pages = repository.text(SUMMARY).unwrap_or_default();
    let first = format!("[{}]({FIRST})\n\n[", title(repository, FIRST));
    let mut summary = pages.replace("](", "](docs/").replacen('[', &first, 1);
    summary.push_str("\n# Repository\n\n");
    let outside = files
        .iter()
        .filter(|path| path.ends_with(".md") && **path != FIRST && !path.starts_with("docs/"));
    for path in outside {
        // Writing to a string cannot fail.
        let _ = writeln!(summary, "- [{}]({path})", title(repository, path));
    }
    summary
}

fn title<'r>(repository: &'r Repository, path: &'r str) -> &'r str {
    let text = repository.text(path).unwrap_or_default();
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_documents_are_pages_and_linked_files_are_copied() {
        let repository = Repository::of(&[
            (
                SUMMARY,
                "# Summary\n\n[Book](index.md)\n\n- [Guide](start/guide.md)\n",
            ),
            (FIRST, "# Trestle\n"),
            (
                "docs/start/guide.md",
                "[a](../../COMPAT.md#x) [b](../schema.json)",
            ),
            ("docs/schema.json", "{}"),
            ("COMPAT.md", "# Compatibility\n[c](cases/one.json)"),
            ("cases/one.json", "{}"),
            ("NOTES.md", "not linked"),
        ]);
        let files = files(&repository);
        assert!(files.contains("cases/one.json"), "{files:?}");
        assert!(!files.contains("NOTES.md"), "{files:?}");
        assert_eq!(
            summary(&repository, &files),
            "# Summary\n\n[Trestle](README.md)\n\n[Book](docs/index.md)\n\n- [Guide](docs/start/guide.md)\n\n# Repository\n\n- [Compatibility](COMPAT.md)\n"
        );
    }
}
