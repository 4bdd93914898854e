//! CSV as written by `cqlsh` and `dsbulk`: both escape quotes with a backslash, and each has its own rules
//! for backslashes.

use std::io::{self, BufRead};

use super::lines::read_line;

/// Which tool wrote a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `COPY … TO` of `cqlsh`. Backslashes of text are doubled, and then escaped again by the CSV writer of
    /// Python 3.10 and later.
    CopyEscapedTwice,
    /// The same with an older Python, whose CSV writer escapes only quotes.
    CopyEscapedOnce,
    /// `dsbulk unload`: escapes occur only in quotes.
    Dsbulk,
}

/// The special characters of a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvSettings {
    /// The character between two fields.
    pub delimiter: u8,
    /// The character around fields with special characters.
    pub quote: u8,
    /// The character before a literal quote. If it is the quote itself, literal quotes are doubled.
    pub escape: u8,
    /// Which tool wrote it.
    pub encoding: Encoding,
}

impl CsvSettings {
    /// The defaults of a tool.
    #[must_use]
    pub fn of(encoding: Encoding) -> Self {
        CsvSettings {
            delimiter: b',',
            quote: b'"',
            escape: b'\\',
            encoding,
        }
    }
}

/// The fields of a record.
#[derive(Clone, Debug, Default)]
pub struct CsvFields {
    text: Vec<u8>,
    ends: Vec<(usize, bool)>,
    /// Set if an escape precedes a character that is never escaped: the file is from another tool or version.
    pub(super) stray_escape: bool,
    /// Set if text follows a closing quote before the next delimiter.
    pub(super) behind_quote: bool,
}

impl CsvFields {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A field, and whether it was quoted. `None` for text that is not UTF-8.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<(&str, bool)> {
        let (end, quoted) = *self.ends.get(at)?;
        let start = at
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .map_or(0, |(end, _)| *end);
        let text = std::str::from_utf8(self.text.get(start..end)?).ok()?;
        Some((text, quoted))
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.stray_escape = false;
        self.behind_quote = false;
    }

    fn end_field(&mut self, quoted: bool) {
        self.ends.push((self.text.len(), quoted));
    }
}

/// Reads records.
#[derive(Debug)]
pub struct CsvReader<R> {
    input: R,
    pub(super) settings: CsvSettings,
    line: Vec<u8>,
    /// The bytes that were read.
    pub(super) offset: u64,
    /// The lines that were read.
    pub(super) lines: u64,
    /// The line at which the last record began.
    pub(super) record_line: u64,
}

/// The reader's state within a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After the closing quote.
    Closed,
}

impl<R: BufRead> CsvReader<R> {
    /// Reads from an input.
    pub fn new(input: R, settings: CsvSettings) -> Self {
        CsvReader {
            input,
            settings,
            line: Vec::new(),
            offset: 0,
            lines: 0,
            record_line: 0,
        }
    }

    pub(super) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Reads the next record; `false` at the end of the file. Empty lines are skipped.
    pub fn read(&mut self, fields: &mut CsvFields) -> io::Result<bool> {
        loop {
            fields.clear();
            self.line.clear();
            if !self.read_line()? {
                return Ok(false);
            }
            self.record_line = self.lines;
            if !matches!(self.line.as_slice(), b"\n" | b"\r\n") {
                self.record(fields)?;
                return Ok(true);
            }
        }
    }

    /// Adds a line to those of the record.
    fn read_line(&mut self) -> io::Result<bool> {
        let before = self.line.len();
        let is_read = read_line(&mut self.input, &mut self.line)?;
        self.offset += (self.line.len() - before) as u64;
        self.lines += u64::from(is_read);
        Ok(is_read)
    }

    fn record(&mut self, fields: &mut CsvFields) -> io::Result<()> {
        let mut state = State::Start;
        let mut quoted = false;
        let mut at = 0;
        loop {
            let Some(byte) = self.line.get(at).copied() else {
                // A quoted field continues in the next line.
                if state == State::Quoted && self.read_line()? {
                    continue;
                }
                fields.behind_quote |= state == State::Quoted;
                fields.end_field(quoted);
                return Ok(());
            };
            at += 1;
            let is_end = byte == b'\n' || (byte == b'\r' && self.line.get(at..) == Some(b"\n"));
            if state != State::Quoted && is_end {
                fields.end_field(quoted);
                return Ok(());
            }
            if state != State::Quoted && byte == self.settings.delimiter {
                fields.end_field(quoted);
                (state, quoted) = (State::Start, false);
            } else if state == State::Start && byte == self.settings.quote {
                (state, quoted) = (State::Quoted, true);
            } else if byte == self.settings.escape && self.escapes(state, at) {
                at += self.escaped(fields, at);
                state = if state == State::Start {
                    State::Plain
                } else {
                    state
                };
            } else if state == State::Quoted && byte == self.settings.quote {
                state = State::Closed;
            } else {
                fields.behind_quote |= state == State::Closed;
                fields.text.push(byte);
                state = if state == State::Start {
                    State::Plain
                } else {
                    state
                };
            }
        }
    }

    /// Whether the escape before `at` is valid.
    fn escapes(&self, state: State, at: usize) -> bool {
        let settings = &self.settings;
        if settings.escape == settings.quote {
            return state == State::Quoted && self.line.get(at) == Some(&settings.quote);
        }
        state == State::Quoted || settings.encoding != Encoding::Dsbulk
    }

    /// Takes the character after an escape; returns the number of its bytes.
    fn escaped(&self, fields: &mut CsvFields, at: usize) -> usize {
        let settings = &self.settings;
        let next = self.line.get(at).copied();
        let Some(next) = next.filter(|next| !matches!(next, b'\n' | b'\r')) else {
            fields.stray_escape |= settings.encoding == Encoding::CopyEscapedTwice;
            fields.text.push(settings.escape);
            return 0;
        };
        let is_quote = next == settings.quote;
        let is_escape = next == settings.escape;
        match settings.encoding {
            _ if is_quote => fields.text.push(next),
            Encoding::CopyEscapedTwice | Encoding::Dsbulk if is_escape => fields.text.push(next),
            // Both characters belong to the text.
            _ => {
                fields.stray_escape |= settings.encoding == Encoding::CopyEscapedTwice;
                fields.text.extend([settings.escape, next]);
            }
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, encoding: Encoding) -> Vec<Vec<(String, bool)>> {
        let mut reader = CsvReader::new(text.as_bytes(), CsvSettings::of(encoding));
        let mut fields = CsvFields::default();
        let mut records = Vec::new();
        while reader.read(&mut fields).unwrap() {
            let field = |at| {
                fields
                    .get(at)
                    .map(|(text, quoted)| (text.to_owned(), quoted))
                    .unwrap()
            };
            records.push((0..fields.len()).map(field).collect());
        }
        assert_eq!(reader.offset, text.len() as u64);
        records
    }

    fn texts(text: &str, encoding: Encoding) -> Vec<Vec<String>> {
        let records = read(text, encoding).into_iter();
        records
            .map(|record| record.into_iter().map(|(text, _)| text).collect())
            .collect()
    }

    #[test]
    fn records_end_at_lines_outside_of_quotes() {
        assert_eq!(
            texts("a,b\r\n\r\n\"1\n2\",\nlast,", Encoding::CopyEscapedTwice),
            [["a", "b"], ["1\n2", ""], ["last", ""]]
        );
    }

    #[test]
    fn a_quoted_empty_field_is_told_from_an_empty_one() {
        let records = read("\"\",,x\n", Encoding::Dsbulk);
        assert_eq!(
            records,
            [[
                (String::new(), true),
                (String::new(), false),
                ("x".to_owned(), false)
            ]]
        );
    }

    #[test]
    fn backslashes_mean_what_the_tool_means() {
        // The text of the column, in the form of cqlsh, is `a\\b"c`.
        assert_eq!(
            texts("a\\\\\\\\b\\\"c\n", Encoding::CopyEscapedTwice),
            [["a\\\\b\"c"]]
        );
        assert_eq!(
            texts("\"a\\\\b\\\"c\"\n", Encoding::CopyEscapedOnce),
            [["a\\\\b\"c"]]
        );
        assert_eq!(
            texts("a\\b,\"a\\\\b\\\"c\"\n", Encoding::Dsbulk),
            [["a\\b", "a\\b\"c"]]
        );
    }

    #[test]
    fn a_stray_escape_is_noticed() {
        let mut fields = CsvFields::default();
        let mut reader = CsvReader::new(
            "\"a\\nb\"\n".as_bytes(),
            CsvSettings::of(Encoding::CopyEscapedTwice),
        );
        assert!(reader.read(&mut fields).unwrap());
        assert!(fields.stray_escape);
    }

    /// Like Python's writer: a field with special characters is quoted, quotes and escapes are escaped.
    fn written(record: &[String]) -> String {
        let field = |text: &String| {
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            match text.contains([',', '\n', '\r']) || record.len() == 1 {
                true => format!("\"{escaped}\""),
                false => escaped,
            }
        };
        record.iter().map(field).collect::<Vec<_>>().join(",") + "\r\n"
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in prop::collection::vec(prop::collection::vec("[a,\"\\\\\n\ré ]{0,6}", 1..4), 0..6)) {
            let text: String = records.iter().map(|record| written(record)).collect();
            prop_assert_eq!(texts(&text, Encoding::CopyEscapedTwice), records);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop::sample::select(&b"a,\"\\\n\r\xc3"[..]), 0..40)) {
            for encoding in [Encoding::CopyEscapedTwice, Encoding::CopyEscapedOnce, Encoding::Dsbulk] {
                let mut reader = CsvReader::new(&bytes[..], CsvSettings::of(encoding));
                let mut fields = CsvFields::default();
                while reader.read(&mut fields).unwrap() {
                    for at in 0..fields.len() {
                        let _ = fields.get(at);
                    }
                }
            }
        }
    }
}
