//! One word, one thing: a type in the glossary of ARCHITECTURE.md is defined once, and a retired name not at all.

use std::collections::BTreeMap;

use crate::repository::Repository;

const MAP: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Glossary";
/// The beginning of the line with the names that types no longer have.
const RETIRED: &str = "Retired names of types:";

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let map = repository.text(MAP).unwrap_or_default();
    let Some(glossary) = section(map) else {
        return vec![format!("{MAP} has no section `{HEADING}`.")];
    };
    let definitions = definitions(repository);
    let defined_in = |name: &str| definitions.get(name).map(Vec::as_slice).unwrap_or_default();
    let mut faults = Vec::new();
    let mut listed: Vec<&str> = Vec::new();
    for (word, types) in rows(glossary) {
        if listed
            .last()
            .is_some_and(|last| last.to_lowercase() >= word.to_lowercase())
        {
            faults.push(format!(
                "{MAP}: the word `{word}` is in the glossary twice or out of order."
            ));
        }
        listed.push(word);
        for name in types {
            match defined_in(name) {
                [_] => {}
                [] => faults.push(format!("{MAP} lists the type {name}, which no crate defines.")),
                several => faults.push(format!(
                    "The type {name} of the glossary is defined more than once: {}. Rename all but one.",
                    several.join(", ")
                )),
            }
        }
    }
    for name in retired(glossary) {
        let found = defined_in(name);
        if !found.is_empty() {
            faults.push(format!(
                "{} defines a type {name}, a retired name; the glossary in {MAP} has the word to use.",
                found.join(", ")
            ));
        }
    }
    if listed.is_empty() {
        faults.push(format!(
            "The glossary of {MAP} has no rows; has its form changed?"
        ));
    }
    faults
}

fn section(map: &str) -> Option<&str> {
    let begin = map.find(HEADING)? + HEADING.len();
    let rest = map.get(begin..)?;
    rest.get(..rest.find("\n## ").unwrap_or(rest.len()))
}

/// Each word with the types of its last column.
fn rows(glossary: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let lines = glossary.lines().filter(|line| line.starts_with('|'));
    // Without the heading of the columns and the line below it.
    lines.skip(2).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let types = cells.last().map(|cell| types(cell));
        (
            cells.first().copied().unwrap_or_default(),
            types.unwrap_or_default(),
        )
    })
}

fn retired(glossary: &str) -> Vec<&str> {
    let line = glossary.lines().find(|line| line.starts_with(RETIRED));
    line.map(types).unwrap_or_default()
}

/// The names of types between backticks; a path such as `events::Change` does not count.
fn types(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_type = |name: &&str| {
        name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric())
    };
    quoted.filter(is_type).collect()
}

/// The types that crates define, each with its files.
fn definitions(repository: &Repository) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in repository.with_extension("rs") {
        let parts = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
        if !parts.is_some_and(|(_, file)| file.starts_with("src/")) {
            continue;
        }
        for name in text.lines().filter_map(defined) {
            found.entry(name).or_default().push(path);
        }
    }
    found
}

/// The type that a line defines, at the outermost level of a file or, in a macro, publicly.
fn defined(line: &str) -> Option<&str> {
    let is_inner = line.starts_with(char::is_whitespace);
    let mut words = line.split_whitespace().peekable();
    let is_public = words.next_if(|word| word.starts_with("pub")).is_some();
    if is_inner && !is_public {
        return None;
    }
    matches!(words.next(), Some("struct" | "enum" | "trait" | "type" | "union")).then_some(())?;
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric());
    name.get(..end.unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "## Glossary\n\nRetired names of types: `Place`.\n\n\
        | word | meaning | type |\n|---|---|---|\n\
        | checkpoint | … | `Checkpoint` |\n| tail | … | `Tail`, `other::Path` |\n\n## Next\n\n| a | b | `C` |\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(MAP, GLOSSARY)];
        all.extend(files);
        faults(&Repository::of(&all))
    }

    #[test]
    fn each_type_of_the_glossary_is_defined_once() {
        let one = ("crates/a/src/x.rs", "pub(crate) struct Checkpoint {\n");
        let tail = ("crates/a/src/y.rs", "pub struct Tail<'a>(&'a str);\n");
        assert_eq!(found(&[one, tail]), [""; 0]);
        let again = ("crates/b/src/z.rs", "enum Checkpoint {\n");
        assert!(found(&[one, tail, again])[0].contains("crates/a/src/x.rs, crates/b/src/z.rs"));
        assert!(found(&[one])[0].contains("Tail"));
        // Items inside other items, or outside of `src`, do not count.
        let inner = (
            "crates/b/src/z.rs",
            "    struct Checkpoint;\n    type Tail = u8;\n",
        );
        let test = ("crates/b/tests/z.rs", "struct Checkpoint;\n");
        assert_eq!(found(&[one, tail, inner, test]), [""; 0]);
    }

    #[test]
    fn a_retired_name_does_not_come_back() {
        let files = [
            (
                "crates/a/src/x.rs",
                "struct Checkpoint;\nstruct Tail;\nstruct Places;\n",
            ),
            ("crates/events/src/y.rs", "enum Place<'a> {\n"),
            ("crates/model/src/y.rs", "enum Place {\n"),
        ];
        let faults = found(&files);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("crates/events/src/y.rs"));
    }

    #[test]
    fn words_are_in_order_and_there_is_a_glossary() {
        let swapped = GLOSSARY.replace("| tail |", "| any |");
        let files = [
            (MAP, &*swapped),
            ("crates/a/src/x.rs", "struct Checkpoint;\nstruct Tail;\n"),
        ];
        assert!(faults(&Repository::of(&files))[0].contains("out of order"));
        assert!(faults(&Repository::of(&[(MAP, "# Map\n")]))[0].contains("no section"));
    }
}
