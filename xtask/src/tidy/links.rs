//! Every relative link of a Markdown file leads to a file, and its anchor to a heading of that file. A path to a page of
//! the book that a program prints leads to a page.

use crate::repository::Repository;
use std::collections::BTreeMap;

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let documents = repository.with_extension("md");
    let mut faults: Vec<_> = documents
        .flat_map(|(document, text)| broken_links(repository, document, text))
        .collect();
    let sources = repository.with_extension("rs");
    faults.extend(sources.flat_map(|(source, text)| broken_pages(repository, source, text)));
    faults
}

fn broken_links(repository: &Repository, document: &str, text: &str) -> Vec<String> {
    let links = link_targets(text);
    links
        .filter_map(|target| {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => document.to_owned(),
                file => beside(document, file),
            };
            let fault = if !repository.has(&path) {
                format!("{document} links to {target}, which does not exist.")
            } else if !has_anchor(repository, &path, anchor) {
                format!("{document} links to {target}, but {path} has no heading `#{anchor}`.")
            } else {
                return None;
            };
            Some(fault)
        })
        .collect()
}

/// Anchors are checked only in Markdown; no other file has any.
fn has_anchor(repository: &Repository, path: &str, anchor: &str) -> bool {
    let text = repository.text(path).unwrap_or_default();
    anchor.is_empty() || (path.ends_with(".md") && anchors(text).iter().any(|found| found == anchor))
}

/// Messages and comments name pages as `docs/…/….md`.
fn broken_pages(repository: &Repository, source: &str, text: &str) -> Vec<String> {
    if source.starts_with("xtask/") {
        return Vec::new();
    }
    let pages = text.split("docs/").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-/.".contains(c)))?;
        let page = rest[..end].trim_end_matches('.');
        page.ends_with(".md").then(|| format!("docs/{page}"))
    });
    pages
        .filter(|page| !repository.has(page))
        .map(|page| format!("{source} names {page}, which does not exist."))
        .collect()
}

/// Lines outside of fenced blocks.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Relative targets of `[text](target)`, with their anchors.
pub(crate) fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    prose(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.is_empty() && !target.contains(':'))
}

/// A relative path as seen from the document's folder.
pub(crate) fn beside(document: &str, target: &str) -> String {
    let mut parts: Vec<_> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a document's headings, as GitHub and mdBook make them: a repeated heading gets a number.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let anchor = anchor(line.trim_start_matches('#').trim());
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            match *count {
                1 => anchor,
                again => format!("{anchor}-{}", again - 1),
            }
        })
        .collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(guide: &str) -> Vec<String> {
        faults(&Repository::of(&[
            ("docs/start/guide.md", guide),
            (
                "README.md",
                "# Top\n## What it does, `really`\n## Twice\n## Twice\n```\n# no heading\n```\n",
            ),
            ("docs/schema.json", "{}"),
        ]))
    }

    #[test]
    fn links_to_files_headings_and_addresses_pass() {
        let guide = "# Guide\n[a](../../README.md), [b](../schema.json), [c](#guide), [d](https://x.y/z#no), \
            [e](../../README.md#what-it-does-really), [f](../../README.md#twice-1)\n```\n[g](gone.md)\n```\n";
        assert_eq!(faults_of(guide), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_no_file_is_named() {
        assert_eq!(
            faults_of("[a](gone.md#top)"),
            ["docs/start/guide.md links to gone.md#top, which does not exist."]
        );
    }

    #[test]
    fn a_link_to_no_heading_is_named() {
        assert_eq!(faults_of("[a](../../README.md#no-heading)").len(), 1);
        assert_eq!(faults_of("[a](../../README.md#twice-2)").len(), 1);
        assert_eq!(faults_of("[a](../schema.json#x)").len(), 1);
        assert_eq!(faults_of("[a](#nothing)").len(), 1);
    }

    #[test]
    fn a_page_that_a_source_names_exists() {
        let repository = |source| Repository::of(&[("docs/a/b.md", ""), ("crates/x/src/lib.rs", source)]);
        assert_eq!(
            faults(&repository("// see docs/a/b.md, or `docs/a/b.md`.\n")),
            Vec::<String>::new()
        );
        assert_eq!(
            faults(&repository("// see docs/b.md\n")),
            ["crates/x/src/lib.rs names docs/b.md, which does not exist."]
        );
    }
}
