//! `docs/SUMMARY.md` lists every page of the book once.

use super::links::{beside, link_targets};
use crate::repository::Repository;

const SUMMARY: &str = "docs/SUMMARY.md";

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let summary = repository.text(SUMMARY).unwrap_or_default();
    let listed: Vec<_> = link_targets(summary)
        .map(|target| beside(SUMMARY, target))
        .collect();
    let pages = repository
        .with_extension("md")
        .map(|(path, _)| path)
        .filter(|path| path.starts_with("docs/") && *path != SUMMARY);
    pages
        .filter_map(|page| {
            let times = listed.iter().filter(|entry| *entry == page).count();
            (times != 1).then(|| format!("{SUMMARY} lists {page} {times} times instead of once."))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(summary: &str) -> Vec<String> {
        faults(&Repository::of(&[
            (SUMMARY, summary),
            ("docs/start/rust.md", ""),
            ("README.md", ""),
        ]))
    }

    #[test]
    fn a_page_is_listed_once() {
        assert_eq!(faults_of("- [Rust](start/rust.md)\n"), Vec::<String>::new());
        assert_eq!(
            faults_of("# Summary\n"),
            ["docs/SUMMARY.md lists docs/start/rust.md 0 times instead of once."]
        );
        assert_eq!(faults_of("[a](start/rust.md)\n[b](start/rust.md)\n").len(), 1);
    }
}
