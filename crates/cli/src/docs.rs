//! `trestle docs`: the book, which is part of the binary.

use clap::Args;
use trestle_console::book_page;

use crate::exit::Failure;
use crate::model::line;

const SUMMARY: &str = "SUMMARY.md";
/// Documents of the repository that pages link to, as lines of a summary.
const BESIDE_THE_BOOK: &str = "
# Beside the book

- [Compatibility with DynamoDB and SQS](COMPAT.md)
- [Changelog](CHANGELOG.md)
";

/// Flags of `trestle docs`.
#[derive(Debug, Args)]
pub(crate) struct DocsFlags {
    /// The page to print, such as `start/python`, `python` or `../../COMPAT.md` [default: the list of pages]
    #[arg(value_name = "PAGE")]
    page: Option<String>,
}

pub(crate) fn docs(flags: &DocsFlags) -> Result<(), Failure> {
    let summary = text_of(SUMMARY)? + BESIDE_THE_BOOK;
    let text = match &flags.page {
        Some(wanted) => text_of(find(&summary, wanted)?)?,
        None => list(&summary),
    };
    line(text.trim_end());
    Ok(())
}

fn text_of(page: &str) -> Result<String, Failure> {
    let text = book_page(page).ok_or_else(|| {
        Failure::failed("this program was built without the book; its pages are in the folder docs of Trestle's repository")
    })?;
    text.map_err(|error| Failure::failed(format!("the page {page} cannot be read: {error}")))
}

/// Title and path of a page of the summary: `- [Title](path.md)`.
fn page(line: &str) -> Option<(&str, &str)> {
    let link = line.trim_start_matches("- ").strip_prefix('[')?;
    link.strip_suffix(')')?.split_once("](")
}

/// The path of a page, given its path or last part, with or without `.md`, or a link from another page.
fn find<'s>(summary: &'s str, wanted: &str) -> Result<&'s str, Failure> {
    let without_anchor = wanted.split('#').next().unwrap_or_default();
    let wanted = without_anchor.trim_start_matches("../").trim_end_matches(".md");
    let is_wanted = |path: &&str| {
        let path = path.trim_end_matches(".md");
        let last = path.rsplit('/').next().unwrap_or(path);
        path.eq_ignore_ascii_case(wanted) || last.eq_ignore_ascii_case(wanted)
    };
    let mut paths = summary.lines().filter_map(page).map(|(_, path)| path);
    paths.find(is_wanted).ok_or_else(|| {
        Failure::usage(format!(
            "there is no page {wanted}; `trestle docs` lists the pages"
        ))
    })
}

/// The pages below their headings, one per line.
fn list(summary: &str) -> String {
    let mut lines = vec!["`trestle docs PAGE` prints a page.".to_owned()];
    for line in summary.lines().skip(1) {
        match (line.strip_prefix("# "), page(line)) {
            (Some(heading), _) => lines.push(format!("\n{heading}")),
            (None, Some((title, path))) => {
                lines.push(format!("  {:<32} {title}", path.trim_end_matches(".md")));
            }
            (None, None) => {}
        }
    }
    lines.join("\n")
}
