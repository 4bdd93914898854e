//! `trestle docs`: the book without a network.

use crate::running::run;
use std::path::Path;

/// Documents that pages link to; an installed program has no other way to show them.
const BESIDE_THE_BOOK: [&str; 2] = ["COMPAT", "CHANGELOG"];

fn printed(args: &[&str]) -> String {
    let output = run(Path::new("."), args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_page_is_listed_and_printed_as_it_is() {
    let list = printed(&["docs"]);
    let pages: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .collect();
    assert!(pages.len() > 30 && pages.contains(&"start/python"), "{list}");
    assert!(BESIDE_THE_BOOK.iter().all(|page| pages.contains(page)), "{list}");
    for page in pages {
        let folder = if BESIDE_THE_BOOK.contains(&page) {
            ""
        } else {
            "docs/"
        };
        let path = format!("{}/../../{folder}{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(printed(&["docs", page]) == text, "{page}");
    }
}

#[test]
fn a_page_is_found_by_its_last_part() {
    assert!(printed(&["docs", "python"]).starts_with("# Five minutes with Python"));
    assert!(printed(&["docs", "glossary.md"]).starts_with("# Glossary"));
}

#[test]
fn a_page_is_found_by_the_link_of_another_page() {
    assert!(printed(&["docs", "../../COMPAT.md#queues"]).starts_with("# Compatibility with DynamoDB"));
    assert!(printed(&["docs", "../reference/routes.md"]).starts_with("# Routes"));
    assert!(printed(&["docs", "changelog"]).starts_with("# Changelog"));
}

#[test]
fn an_unknown_page_is_an_error_that_says_how_to_list_them() {
    let output = run(Path::new("."), &["docs", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "trestle: there is no page nothing; `trestle docs` lists the pages\n"
    );
}
