//! `trestle docs`: the book, which is part of the binary, in a browser or in a terminal.

mod browser;
mod html;

use std::path::Path;

use clap::Args;
use trestle_console::{book_page, book_paths};

use crate::exit::Failure;
use crate::model::line;

const SUMMARY: &str = "SUMMARY.md";
const FIRST_PAGE: &str = "index.md";
/// Documents of the repository that pages link to, as lines of a summary.
const BESIDE_THE_BOOK: &str = "
# Beside the book

- [Compatibility with DynamoDB and SQS](COMPAT.md)
- [Changelog](CHANGELOG.md)
";

/// Flags of `trestle docs`.
#[derive(Debug, Args)]
pub(crate) struct DocsFlags {
    /// The page, such as `start/python`, `python` or `../../COMPAT.md` [default: the first page, or the list of pages if it is printed]
    #[arg(value_name = "PAGE")]
    page: Option<String>,
    /// Print the page; so does a command whose output is not a terminal of a desktop
    #[arg(long)]
    print: bool,
}

pub(crate) fn docs(flags: &DocsFlags) -> Result<(), Failure> {
    let summary = text_of(SUMMARY)? + BESIDE_THE_BOOK;
    let page = flags
        .page
        .as_deref()
        .map(|wanted| find(&summary, wanted))
        .transpose()?;
    let at_desktop = !flags.print && browser::is_at_hand();
    if let Some(folder) = browser::folder().filter(|_| at_desktop) {
        return show(&folder, page.unwrap_or(FIRST_PAGE));
    }
    let text = match page {
        Some(page) => text_of(page)?,
        None => list(&summary),
    };
    line(text.trim_end());
    Ok(())
}

/// Writes the book into a folder and opens a page of it.
fn show(folder: &Path, page: &str) -> Result<(), Failure> {
    let texts = book_paths().map(|path| Ok((in_repository(path), text_of(path)?)));
    let texts = texts.collect::<Result<Vec<_>, Failure>>()?;
    let file = folder.join(browser::file_of(&in_repository(page)));
    let instead = "`trestle docs --print` prints a page";
    browser::write(folder, &texts)
        .map_err(|error| Failure::failed(format!("{}: {error}; {instead}", folder.display())))?;
    browser::open(&file).map_err(|error| {
        Failure::failed(format!(
            "no browser can be started: {error}; the page is {}, and {instead}",
            file.display()
        ))
    })?;
    line(&format!("{} opens in the browser; {instead}", file.display()));
    Ok(())
}

/// The path of a page as links between pages mean it.
fn in_repository(page: &str) -> String {
    let is_beside = BESIDE_THE_BOOK.contains(&format!("({page})"));
    if is_beside {
        page.to_owned()
    } else {
        format!("docs/{page}")
    }
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
