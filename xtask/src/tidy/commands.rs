//! Commands of the binary that documents name exist, and so do their flags. `docs/reference/cli.md` lists
//! them; the binary prints it.

use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};

const REFERENCE: &str = "docs/reference/cli.md";
const SERVER_FLAGS: &str = "Flags that name a server";
/// A changelog names commands of earlier builds.
const HISTORY: &str = "CHANGELOG.md";

/// The flags of each command, by its words: `trestle model check`.
type Commands<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let Some(reference) = repository.text(REFERENCE) else {
        return Vec::new();
    };
    let commands = commands(reference);
    let documents = repository
        .with_extension("md")
        .filter(|(path, _)| *path != REFERENCE && *path != HISTORY);
    documents
        .flat_map(|(document, text)| invocations(text).map(move |line| (document, line)))
        .filter_map(|(document, line)| Some(format!("{document}: `{line}`: {}", fault(&commands, line)?)))
        .collect()
}

fn commands(reference: &str) -> Commands<'_> {
    let sections = || reference.split("\n## ").filter_map(|part| part.split_once('\n'));
    let server = sections().find(|(title, _)| *title == SERVER_FLAGS);
    let shared: BTreeSet<_> = server.map(|(_, text)| flags(text)).unwrap_or_default();
    let commands = sections().filter(|(title, _)| title.starts_with("trestle "));
    commands
        .map(|(title, text)| {
            let mut own = flags(text);
            if text.contains(SERVER_FLAGS) || text.contains("#flags-that-name-a-server") {
                own.extend(&shared);
            }
            (title, own)
        })
        .collect()
}

/// The flags in the first column of a section's table.
fn flags(text: &str) -> BTreeSet<&str> {
    let cells = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells
        .flat_map(|cell| cell.split([' ', ',']))
        .filter(|word| word.starts_with("--"))
        .collect()
}

/// Texts in a block or between backticks that begin with `trestle `, up to characters that the shell
/// interprets.
fn invocations(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.trim_start_matches("$ "));
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    lines
        .chain(spans)
        .filter(|line| line.starts_with("trestle "))
        .filter_map(|line| line.split(['#', '|', '>', '&', ';', '\\', '(']).next())
        .map(str::trim_end)
        .filter(|line| !line.contains('…'))
}

fn fault(commands: &Commands<'_>, line: &str) -> Option<String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let name = |length: usize| words[..length.min(words.len())].join(" ");
    // A sentence of a fenced message may begin with the program's name, and a lone dash is a flag of DynamoDB Local's.
    if words.get(1).is_none_or(|word| word.starts_with('-')) {
        return None;
    }
    let known = (2..=4)
        .rev()
        .find_map(|length| commands.get(name(length).as_str()));
    let Some(flags) = known else {
        return Some(format!("{REFERENCE} has no such command."));
    };
    let unknown = words
        .iter()
        .filter(|word| word.starts_with("--"))
        .map(|word| word.split(['=', ',']).next().unwrap_or_default())
        .find(|flag| !flags.contains(flag));
    unknown.map(|flag| format!("{REFERENCE} has no flag {flag} of this command."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLI: &str = "# Command line\n\n## Flags that name a server\n\n| `--endpoint URL` | x |\n\n## trestle model\n\n\
        ## trestle model apply\n\n| `FILE` | x |\n| `--fill` | x |\n\nIt also takes the [flags](#flags-that-name-a-server).\n\n\
        ## trestle verify\n\n| `-j, --json` | x |\n";

    fn faults_of(page: &str) -> Vec<String> {
        faults(&Repository::of(&[(REFERENCE, CLI), ("docs/page.md", page)]))
    }

    #[test]
    fn commands_and_flags_that_exist_pass() {
        let page = "`trestle model apply FILE --fill --endpoint http://x`, `trestle -inMemory`\n\
            ```sh\ntrestle verify ./data --json   # --not-a-flag\n$ trestle verify ./data | grep --count x\n```\n";
        assert_eq!(faults_of(page), Vec::<String>::new());
    }

    #[test]
    fn a_command_or_flag_that_does_not_exist_is_named() {
        assert_eq!(
            faults_of("`trestle verify --endpoint URL`"),
            [
                "docs/page.md: `trestle verify --endpoint URL`: docs/reference/cli.md has no flag --endpoint of this command."
            ]
        );
        assert_eq!(faults_of("```sh\ntrestle verfy ./data\n```\n").len(), 1);
    }
}
