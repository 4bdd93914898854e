//! Problems of a model file, each with its place.

use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The model cannot be used.
    Error,
    /// The model can be used, but may behave unexpectedly.
    Warning,
}

/// One thing that is wrong with a model file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The severity of a problem.
    pub severity: Severity,
    /// What is wrong, and with which entity, table or access pattern.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}: {severity}: {}", self.line, self.column, self.message)?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  help: {}", self.help)
        }
    }
}

/// A value and its byte offset in the file.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) at: usize,
}

impl<T> Placed<T> {
    pub(crate) fn new(value: T, at: usize) -> Self {
        Placed { value, at }
    }
}

/// Gathers the problems of one file, so that all of them are reported at once.
pub(crate) struct Problems<'t> {
    text: &'t str,
    found: Vec<(usize, Problem)>,
}

impl<'t> Problems<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Problems {
            text,
            found: Vec::new(),
        }
    }

    pub(crate) fn error(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        self.add(at, Severity::Error, message.into(), help.into());
    }

    pub(crate) fn warning(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        self.add(at, Severity::Warning, message.into(), help.into());
    }

    fn add(&mut self, at: usize, severity: Severity, message: String, help: String) {
        let (line, column) = line_and_column(self.text, at);
        let problem = Problem {
            line,
            column,
            severity,
            message,
            help,
        };
        // Two checks may report the same mistake.
        if !self.found.iter().any(|(_, known)| *known == problem) {
            self.found.push((at, problem));
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found
            .iter()
            .any(|(_, problem)| problem.severity == Severity::Error)
    }

    /// In the order of the file.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, problem)| (*at, problem.severity));
        self.found.into_iter().map(|(_, problem)| problem).collect()
    }
}

pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The known name that was probably meant.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = 1 + name.chars().count() / 4;
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// `did you mean `x`?`, or the list of known names.
pub fn suggestion<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there is none yet; declare it first".to_owned(),
        None => format!("there is {}", listed(known)),
    }
}

/// `a`, `b` and `c`, each in backticks.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The number of edits that turn one name into the other. Names in a model file are short; long ones are cut.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (at, left) in one.chars().take(64).enumerate() {
        let mut diagonal = at;
        let mut last = at + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(&two) {
            let above = *cell;
            let changed = diagonal + usize::from(!left.eq_ignore_ascii_case(right));
            last = changed.min(above + 1).min(last + 1);
            diagonal = above;
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        let text = "a\nöx\n";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 4), (2, 2));
        assert_eq!(line_and_column(text, 3), (2, 1));
        assert_eq!(line_and_column(text, 99), (3, 1));
    }

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        assert_eq!(nearest("atributes", ["attributes", "table"]), Some("attributes"));
        assert_eq!(nearest("colour", ["attributes", "table"]), None);
    }
}
