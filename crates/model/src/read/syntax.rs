//! The problem of a file that is not TOML. After a mistake the parser misreads much of what follows, so only
//! the first one is reported, at the place where it was probably made.

use toml::de::{DeTable, Error};

use crate::problem::{Problems, line_and_column};

/// The document, or `None` if the text is not TOML; then the mistake is among the problems.
pub(crate) fn parse<'t>(text: &'t str, problems: &mut Problems<'_>) -> Option<toml::Spanned<DeTable<'t>>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let place = |error: &Error| error.span().map_or(0, |span| span.start);
    let Some(first) = errors.iter().min_by_key(|error| place(error)) else {
        return Some(document);
    };
    let at = place(first);
    let ends_open =
        first.message().starts_with("unclosed array") || first.message().starts_with("unclosed inline");
    match open_at(text, at).filter(|open| ends_open || open.before_line_at(text, at)) {
        Some(open) => problems.error(open.at, open.message(), open.help(text, at)),
        None => problems.error(at, format!("not TOML: {}", first.message()), help(text, first)),
    }
    None
}

/// A bracket that is open at the place of a mistake.
struct Open {
    at: usize,
    bracket: char,
}

impl Open {
    fn message(&self) -> String {
        format!("not TOML: the `{}` that begins here is not closed", self.bracket)
    }

    /// Whether a mistake is at the beginning of a line. A mistake within a list over several lines is
    /// indented, and is reported at its own place.
    fn before_line_at(&self, text: &str, at: usize) -> bool {
        let (line, column) = line_and_column(text, at);
        column == 1 && line_and_column(text, self.at).0 < line
    }

    fn help(&self, text: &str, at: usize) -> String {
        let closing = if self.bracket == '[' { ']' } else { '}' };
        match text.get(at..).is_some_and(|rest| rest.trim().is_empty()) {
            true => format!("close it with `{closing}`"),
            false => format!(
                "close it with `{closing}` before line {}",
                line_and_column(text, at).0
            ),
        }
    }
}

/// The innermost bracket that is open at a place.
fn open_at(text: &str, end: usize) -> Option<Open> {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = text.get(..end)?;
    while let Some(c) = rest.chars().next() {
        let at = end - rest.len();
        let length = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_length(rest, c),
            '[' | '{' => {
                open.push(Open { at, bracket: c });
                1
            }
            ']' | '}' => {
                open.pop();
                1
            }
            c => c.len_utf8(),
        };
        rest = rest.get(length..)?;
    }
    open.pop()
}

/// The length of the string at the beginning of a text, including its quotes.
fn string_length(text: &str, quote: char) -> usize {
    let three = [quote; 3].iter().collect::<String>();
    let end = if text.starts_with(&three) {
        three
    } else {
        quote.to_string()
    };
    let mut at = end.len();
    while let Some(rest) = text.get(at..) {
        if rest.starts_with(&end) {
            return at + end.len();
        }
        match rest.chars().next() {
            Some('\\') if quote == '"' => at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            Some(c) => at += c.len_utf8(),
            None => break,
        }
    }
    text.len()
}

fn help(text: &str, error: &Error) -> String {
    let named = error.span().and_then(|span| text.get(span));
    match (error.message(), named) {
        ("duplicate key", Some(name)) => {
            format!("`{name}` is there twice; remove one, or give it another name")
        }
        _ => "correct the file's syntax".to_owned(),
    }
}
