//! Pages of the book as HTML: the Markdown that they use, and no more.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Lines;

/// Where a link or a picture of a page leads; `None` if it is not part of the book.
pub(super) type Links<'p> = &'p dyn Fn(&str) -> Option<String>;

/// The blocks of a page.
pub(super) fn body(markdown: &str, links: Links<'_>) -> String {
    let mut out = String::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let (tag, text) = match line {
            _ if line.trim().is_empty() => continue,
            _ if line.starts_with("```") => ("pre", code(&mut lines)),
            _ if line.starts_with('|') => ("table", table(line, &mut lines, links)),
            _ if item(line).is_some() => (list_tag(line), list(line, &mut lines, links)),
            _ => match heading(line) {
                Some((level, text)) => {
                    let (id, text) = (anchor(text), inline(text, links));
                    put(
                        &mut out,
                        format_args!("<h{level} id=\"{id}\">{text}</h{level}>\n"),
                    );
                    continue;
                }
                None => ("p", inline(&paragraph(line, &mut lines), links)),
            },
        };
        put(&mut out, format_args!("<{tag}>{text}</{tag}>\n"));
    }
    out
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6)
        .contains(&level)
        .then(|| text.strip_prefix(' '))?
        .map(|text| (level, text))
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

fn code(lines: &mut Peekable<Lines<'_>>) -> String {
    let text: Vec<_> = lines.take_while(|line| !line.starts_with("```")).collect();
    format!("<code>{}</code>", escaped(&text.join("\n")))
}

fn table(first: &str, lines: &mut Peekable<Lines<'_>>, links: Links<'_>) -> String {
    let mut rows = row(first, "th", links);
    // The line below the head only says how columns are aligned.
    lines.next_if(|line| line.starts_with("|--"));
    while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
        rows += &row(line, "td", links);
    }
    rows
}

fn row(line: &str, tag: &str, links: Links<'_>) -> String {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line).replace("\\|", "\u{0}");
    let cells = line.split('|').map(|cell| cell.trim().replace('\u{0}', "|"));
    let cells: String = cells
        .map(|cell| format!("<{tag}>{}</{tag}>", inline(&cell, links)))
        .collect();
    format!("<tr>{cells}</tr>\n")
}

/// The text of an item of a list: `- text` or `1. text`.
fn item(line: &str) -> Option<&str> {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = numbered.len() < line.len();
    line.strip_prefix("- ")
        .or_else(|| numbered.strip_prefix(". ").filter(|_| is_numbered))
}

fn list_tag(line: &str) -> &'static str {
    if line.starts_with('-') { "ul" } else { "ol" }
}

fn list(first: &str, lines: &mut Peekable<Lines<'_>>, links: Links<'_>) -> String {
    let mut items = vec![item(first).unwrap_or_default().to_owned()];
    while let Some(line) = lines.next_if(|line| item(line).is_some() || line.starts_with("  ")) {
        match (item(line), items.last_mut()) {
            (None, Some(last)) => *last = format!("{last} {}", line.trim()),
            (text, _) => items.push(text.unwrap_or_default().to_owned()),
        }
    }
    let items = items.iter();
    items
        .map(|text| format!("<li>{}</li>\n", inline(text, links)))
        .collect()
}

fn paragraph(first: &str, lines: &mut Peekable<Lines<'_>>) -> String {
    let mut text = first.to_owned();
    let goes_on =
        |line: &&str| !line.trim().is_empty() && !line.starts_with(['|', '#']) && !line.starts_with("```");
    while let Some(line) = lines.next_if(|line| goes_on(line) && item(line).is_none()) {
        text = format!("{text}\n{line}");
    }
    text
}

/// Text with code, links, pictures, bold and italic words.
fn inline(text: &str, links: Links<'_>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        let after = rest.get(next.len_utf8()..).unwrap_or_default();
        rest = match span(rest, links) {
            Some((html, after)) => {
                out += &html;
                after
            }
            None => {
                out += &escaped(&next.to_string());
                after
            }
        };
    }
    out
}

/// What begins here, and what follows it.
fn span<'t>(text: &'t str, links: Links<'_>) -> Option<(String, &'t str)> {
    if text.starts_with('`') {
        let inner = text.trim_start_matches('`');
        let (code, after) = inner.split_once(text.strip_suffix(inner)?)?;
        return Some((format!("<code>{}</code>", escaped(code)), after));
    }
    if let Some(bold) = text.strip_prefix("**") {
        let (bold, after) = bold.split_once("**")?;
        return Some((format!("<strong>{}</strong>", inline(bold, links)), after));
    }
    if let Some(italic) = text.strip_prefix('*').filter(|rest| !rest.starts_with(' ')) {
        let (italic, after) = italic.split_once('*')?;
        return Some((format!("<em>{}</em>", inline(italic, links)), after));
    }
    if let Some(picture) = text.strip_prefix("![") {
        let (name, target, after) = link(picture)?;
        let shown = links(target).map(|at| format!("<img src=\"{at}\" alt=\"{}\">", escaped(name)));
        return Some((
            shown.unwrap_or_else(|| format!("<em>(picture: {})</em>", escaped(name))),
            after,
        ));
    }
    if let Some(text) = text.strip_prefix('[') {
        let (name, target, after) = link(text)?;
        let name = inline(name, links);
        let linked = links(target).map(|at| format!("<a href=\"{at}\">{name}</a>"));
        return Some((linked.unwrap_or(name), after));
    }
    let key = ["<kbd>", "</kbd>"]
        .into_iter()
        .find(|key| text.starts_with(key))?;
    Some((key.to_owned(), text.strip_prefix(key)?))
}

/// Text, target and what follows of `text](target)…`.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    Some((name, target, after))
}

pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(markdown: &str) -> String {
        body(markdown, &|target| {
            (!target.contains("gone")).then(|| target.replace(".md", ".html"))
        })
    }

    #[test]
    fn blocks_of_a_page() {
        let page = "# A page, `x`\n\nFirst\nsecond.\n\n- one\n  more\n- two\n\n1. three\n\n```sh\na < b\n\n# c\n```\n";
        assert_eq!(
            body_of(page),
            "<h1 id=\"a-page-x\">A page, <code>x</code></h1>\n<p>First\nsecond.</p>\n<ul><li>one more</li>\n<li>two</li>\n</ul>\n\
             <ol><li>three</li>\n</ol>\n<pre><code>a &lt; b\n\n# c</code></pre>\n"
        );
    }

    #[test]
    fn a_table_with_a_bar_in_a_cell() {
        assert_eq!(
            body_of("| a | b |\n|---|---|\n| `x\\|y` | |\n"),
            "<table><tr><th>a</th><th>b</th></tr>\n<tr><td><code>x|y</code></td><td></td></tr>\n</table>\n"
        );
    }

    #[test]
    fn words_of_a_line() {
        assert_eq!(
            body_of(
                "**b** *i* [`c`](x.md#y) [d](gone.rs) ![p](p.svg) ![q](gone.png) 2 * 3 <kbd>K</kbd> ```a`b``` [e"
            ),
            "<p><strong>b</strong> <em>i</em> <a href=\"x.html#y\"><code>c</code></a> d <img src=\"p.svg\" alt=\"p\"> \
             <em>(picture: q)</em> 2 * 3 <kbd>K</kbd> <code>a`b</code> [e</p>\n"
        );
    }
}
