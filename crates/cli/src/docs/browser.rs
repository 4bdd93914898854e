//! The book as files of HTML, and the browser that shows them.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use super::html::{body, escaped};

const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    pre{overflow-x:auto;padding:.8rem;background:#8882;border-radius:4px}code{font:.9em ui-monospace,monospace}\
    table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid #8886;padding:.3rem .6rem;text-align:left;\
    vertical-align:top}th:empty{padding:0}img{max-width:100%;background:#fff}";

/// Whether a person at a desktop started this command.
pub(super) fn is_at_hand() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && (cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

/// Where the files are: below the user's cache. None if the user has no home.
pub(super) fn folder() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join(format!("trestle/book-{}", env!("CARGO_PKG_VERSION"))))
}

/// Asks the desktop to open a file; it does so on its own.
pub(super) fn open(file: &Path) -> io::Result<()> {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().map(drop)
}

/// Writes the book: `texts` are its pages and drawings, by their paths in the repository.
pub(super) fn write(folder: &Path, texts: &[(String, String)]) -> io::Result<()> {
    let is_there = |path: &str| texts.iter().any(|(own, _)| own == path);
    for (path, text) in texts {
        let file = folder.join(file_of(path));
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        match path.ends_with(".md") {
            true => fs::write(file, page(path, text, &is_there))?,
            false => fs::write(file, text)?,
        }
    }
    Ok(())
}

/// `docs/start/python.md` is `docs/start/python.html`.
pub(super) fn file_of(path: &str) -> String {
    path.strip_suffix(".md")
        .map_or_else(|| path.to_owned(), |path| format!("{path}.html"))
}

fn page(path: &str, text: &str, is_there: &dyn Fn(&str) -> bool) -> String {
    let links = |target: &str| {
        if target.starts_with("https://") || target.starts_with("http://") || target.starts_with('#') {
            return Some(target.to_owned());
        }
        let file = target.split('#').next().unwrap_or_default();
        let anchor = target.strip_prefix(file).unwrap_or_default();
        is_there(&beside(path, file)).then(|| format!("{}{anchor}", file_of(file)))
    };
    let title = text
        .lines()
        .find_map(|line| line.strip_prefix("# "))
        .unwrap_or(path);
    let to_root = "../".repeat(path.matches('/').count());
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{} – Trestle</title><style>{STYLE}</style></head><body>\n\
         <nav><a href=\"{to_root}docs/index.html\">The book</a> · <a href=\"{to_root}docs/SUMMARY.html\">All pages</a></nav>\n\
         {}</body></html>\n",
        escaped(title),
        body(text, &links),
    )
}

/// The path that a link leads to from a page.
fn beside(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_between_pages_lead_to_files_and_others_are_plain() {
        let texts = [
            (
                "pages/a/b.md",
                "# B\n\n[c](../c.md#d) [out](../../src/x.rs) [n](https://example.org) ![p](../p.svg)\n",
            ),
            ("pages/c.md", "# C\n"),
            ("pages/p.svg", "<svg/>"),
        ];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &texts).unwrap();
        let page = fs::read_to_string(folder.path().join("pages/a/b.html")).unwrap();
        let expected = "<p><a href=\"../c.html#d\">c</a> out <a href=\"https://example.org\">n</a> <img src=\"../p.svg\" alt=\"p\" /></p>";
        assert!(page.contains(expected), "{page}");
        assert!(page.contains("<a href=\"../../docs/index.html\">"), "{page}");
        assert!(folder.path().join("pages/c.html").exists() && folder.path().join("pages/p.svg").exists());
    }
}
