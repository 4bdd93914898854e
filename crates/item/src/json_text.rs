//! Items as JSON text, straight from their stored form.
//!
//! The same text as `serde` makes of the values, without decoding them: most of an answer with many items is
//! this text.

use crate::Number;
use crate::codec::{Container, Visitor};
use crate::number::Text;
use crate::serde_json_form::to_base64;

/// Appends what it visits. Each value is followed by a comma, which the end of the enclosing container
/// removes.
pub(crate) struct JsonWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Whether the next value is a member of a set, which does not give its type.
    in_set: bool,
}

impl<'a> JsonWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, in_set: false }
    }

    /// A value that is a string in JSON.
    fn scalar(&mut self, opening: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if self.in_set {
            write(self.out);
            self.out.push(b',');
        } else {
            self.out.extend_from_slice(opening.as_bytes());
            write(self.out);
            self.out.extend_from_slice(b"},");
        }
    }
}

/// Closes a container: replaces the last value's comma, if there was one.
pub(crate) fn close(out: &mut Vec<u8>, closing: &[u8]) {
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.extend_from_slice(closing);
}

impl Visitor for JsonWriter<'_> {
    fn null(&mut self) {
        self.out.extend_from_slice(br#"{"NULL":true},"#);
    }

    fn truth(&mut self, truth: bool) {
        let text: &[u8] = if truth {
            br#"{"BOOL":true},"#
        } else {
            br#"{"BOOL":false},"#
        };
        self.out.extend_from_slice(text);
    }

    fn text(&mut self, text: &str) {
        self.scalar(r#"{"S":"#, |out| string(text, out));
    }

    fn number(&mut self, number: &Number) {
        self.scalar(r#"{"N":"#, |out| plain(Text::of(number).as_str(), out));
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.scalar(r#"{"B":"#, |out| plain(&to_base64(bytes), out));
    }

    fn begin(&mut self, container: Container, _count: usize) {
        let opening = match container {
            Container::Item => "{",
            Container::Map => r#"{"M":{"#,
            Container::List => r#"{"L":["#,
            Container::Texts => r#"{"SS":["#,
            Container::Numbers => r#"{"NS":["#,
            Container::Binaries => r#"{"BS":["#,
        };
        self.out.extend_from_slice(opening.as_bytes());
        self.in_set = is_set(container);
    }

    fn name(&mut self, name: &str) {
        string(name, self.out);
        self.out.push(b':');
    }

    fn end(&mut self, container: Container) {
        let closing: &[u8] = match container {
            Container::Item => b"},",
            Container::Map => b"}},",
            _ => b"]},",
        };
        close(self.out, closing);
        self.in_set = false;
    }
}

fn is_set(container: Container) -> bool {
    matches!(
        container,
        Container::Texts | Container::Numbers | Container::Binaries
    )
}

/// A string that needs no escapes.
fn plain(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((clean, from)) = rest.split_at_checked(clean_length(rest)) {
        out.extend_from_slice(clean);
        let Some((first, after)) = from.split_first() else {
            break;
        };
        escape(*first, out);
        rest = after;
    }
    out.push(b'"');
}

/// How many bytes at the start need no escaping. Most texts contain only such bytes, so this checks many
/// bytes at once.
fn clean_length(bytes: &[u8]) -> usize {
    const MANY: usize = 32;
    let is_clean = |chunk: &&[u8]| {
        !chunk
            .iter()
            .fold(false, |found, byte| found | needs_escape(*byte))
    };
    let clean = bytes.chunks_exact(MANY).take_while(is_clean).count() * MANY;
    let rest = bytes.get(clean..).unwrap_or_default();
    clean
        + rest
            .iter()
            .position(|byte| needs_escape(*byte))
            .unwrap_or(rest.len())
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let digit = |nibble: u8| HEX[usize::from(nibble & 0xF)];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[digit(byte >> 4), digit(byte)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
