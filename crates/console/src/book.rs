//! The book: the pages in `docs` of the repository and the other documents that they link to, as Markdown.

use std::io;

use crate::unzip;

/// The text of a page by its path in the book, such as `start/python.md`; `SUMMARY.md` lists the pages in order, without `COMPAT.md` and
/// `CHANGELOG.md`. `None` if there is no such page. A build of this crate outside of the repository has no pages.
pub fn book_page(path: &str) -> Option<io::Result<String>> {
    let (.., gzip) = PAGES.iter().find(|(name, ..)| *name == path)?;
    let text = unzip(gzip).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    Some(text)
}

/// Path, `ETag` and compressed text of each page.
static PAGES: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/book.rs"));
