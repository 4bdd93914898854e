//! Values in log lines: without line breaks and other control characters, and of limited length.

use std::fmt::{self, Debug, Display, Write};

/// Longer values are cut.
const CHARACTERS_MAX: usize = 2_000;

/// A value that is escaped and cut as it is written.
pub(super) struct Bounded<'a> {
    value: &'a dyn Debug,
    escapes: bool,
}

impl<'a> Bounded<'a> {
    /// For a line of text.
    pub(super) fn text(value: &'a dyn Debug) -> Self {
        Bounded { value, escapes: true }
    }

    /// For a format that escapes values.
    pub(super) fn cut(value: &'a dyn Debug) -> Self {
        Bounded {
            value,
            escapes: false,
        }
    }
}

impl Display for Bounded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Cutting {
            out: f,
            escapes: self.escapes,
            left: CHARACTERS_MAX,
        };
        match write!(out, "{:?}", self.value) {
            Err(_) if out.left == 0 => f.write_str("… (cut)"),
            written => written,
        }
    }
}

/// Writes this many characters, then fails, so that no more are formatted.
struct Cutting<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    escapes: bool,
    left: usize,
}

impl Write for Cutting<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            if self.escapes && breaks_lines(character) {
                write!(self.out, "{}", character.escape_default())?;
            } else {
                self.out.write_char(character)?;
            }
        }
        Ok(())
    }
}

/// Control characters, including those that set colours, and Unicode's line ends.
fn breaks_lines(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formatted as by `%value`.
    fn shown(text: &str) -> String {
        Bounded::text(&format_args!("{text}")).to_string()
    }

    #[test]
    fn a_line_break_cannot_forge_a_line() {
        let forged = "no table\n2026-11-16T08:00:00Z  INFO all is well\r\u{1b}[31m\u{2028}x";
        assert_eq!(
            shown(forged),
            r"no table\n2026-11-16T08:00:00Z  INFO all is well\r\u{1b}[31m\u{2028}x"
        );
    }

    #[test]
    fn a_long_value_is_cut() {
        let whole = "ä".repeat(CHARACTERS_MAX);
        assert_eq!(shown(&whole), whole);
        assert_eq!(shown(&(whole.clone() + "ä")), whole + "… (cut)");
    }

    #[test]
    fn a_format_that_escapes_by_itself_gets_the_value_as_it_is() {
        let text = format_args!("a\nb");
        assert_eq!(Bounded::cut(&text).to_string(), "a\nb");
    }
}
