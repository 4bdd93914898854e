//! Every command in a document runs in a test, or the document says why not: a block `sh` is on a page that `test_guide.py` follows, and a
//! block `sh not-run: REASON` has a reason.

use crate::repository::Repository;

const TEST: &str = "tests/clients/python/test_guide.py";
/// How the test names a page that it follows.
const FOLLOWED: &str = "self.follow(\"";
const NOT_RUN: &str = "not-run:";

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let test = repository.text(TEST).unwrap_or_default();
    let followed: Vec<&str> = test
        .split(FOLLOWED)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let documents = repository.with_extension("md");
    documents
        .flat_map(|(document, text)| fences(text).map(move |fence| (document, fence)))
        .filter(|(document, fence)| !is_accounted_for(fence, followed.contains(document)))
        .map(|(document, fence)| {
            format!(
                "{document}: the block `{fence}` is not run. Follow the page in {TEST}, or write `sh {NOT_RUN} REASON`."
            )
        })
        .collect()
}

/// The text after the backticks of each fence that opens a block of shell commands.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    let fences = text.lines().filter_map(|line| line.strip_prefix("```"));
    fences.filter(|fence| ["sh", "bash", "shell"].contains(&fence.split(' ').next().unwrap_or_default()))
}

fn is_accounted_for(fence: &str, is_followed: bool) -> bool {
    match fence.split_once(NOT_RUN) {
        Some((_, reason)) => !reason.trim().is_empty(),
        None => is_followed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(fence: &str) -> Vec<String> {
        let page = format!("```{fence}\ntrestle serve\n```\n");
        faults(&Repository::of(&[
            (TEST, "self.follow(\"docs/followed.md\", seconds=9)"),
            ("docs/followed.md", "```sh\ntrestle serve\n```\n"),
            ("docs/page.md", &page),
        ]))
    }

    #[test]
    fn a_block_of_a_followed_page_or_with_a_reason_passes() {
        for fence in ["sh not-run: needs a cluster", "toml", "console", ""] {
            assert_eq!(faults_of(fence), Vec::<String>::new(), "{fence}");
        }
    }

    #[test]
    fn a_block_that_no_test_runs_is_named() {
        for fence in ["sh", "sh serve", "sh setup", "bash", "sh not-run:"] {
            assert_eq!(faults_of(fence).len(), 1, "{fence}");
        }
    }
}
