//! The log of `native/recorder.c`: every change to a directory, in order, with its bytes.

use std::path::Path;

/// A whole log in memory. Events borrow from it.
#[derive(Debug)]
pub struct Recording {
    bytes: Vec<u8>,
}

/// One call of the recorded program.
#[allow(missing_docs, reason = "the fields say what they are")]
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A file or folder was opened, perhaps created or emptied by that.
    Open { fd: i64, flags: i64, path: &'a str },
    /// A descriptor got a second number.
    Dup { old: i64, new: i64 },
    /// A descriptor is given back.
    Close { fd: i64 },
    /// Bytes were written.
    Write { fd: i64, offset: u64, data: &'a [u8] },
    /// A file's length was set.
    Truncate { fd: i64, length: u64 },
    /// A sync begins: later changes need not be covered by it.
    Sync { fd: i64, thread: i64 },
    /// That sync has succeeded.
    Synced { fd: i64, thread: i64 },
    /// A file or folder was renamed.
    Rename { from: &'a str, to: &'a str },
    /// A file got a second name.
    Link { from: &'a str, to: &'a str },
    /// A file or an empty folder lost its name.
    Unlink { path: &'a str },
    /// A folder was created.
    MakeFolder { path: &'a str },
}

impl Recording {
    /// Reads the log. A record that the recorder's end cut short is left out.
    pub fn read(log: &Path) -> Self {
        Recording {
            bytes: std::fs::read(log).unwrap(),
        }
    }

    /// All events, each with the length of the log up to its end.
    pub fn events(&self) -> Vec<(u64, Event<'_>)> {
        let mut events = Vec::new();
        let mut rest = self.bytes.as_slice();
        while let Some((event, after)) = next(rest) {
            rest = after;
            events.push(((self.bytes.len() - rest.len()) as u64, event));
        }
        events
    }
}

fn next(bytes: &[u8]) -> Option<(Event<'_>, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, rest) = bytes.split_at(end);
    let mut words = std::str::from_utf8(head).unwrap().split(' ');
    let kind = words.next()?;
    let numbers: Vec<i64> = words.map(|word| word.parse().unwrap()).collect();
    let [a, b, _, first, second] = numbers[..] else {
        panic!("not a record: {head:?}")
    };
    let rest = rest.get(1..)?;
    let (first, rest) = rest.split_at_checked(first as usize)?;
    let (second, rest) = rest.split_at_checked(second as usize)?;
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    let event = match kind {
        "open" => Event::Open {
            fd: a,
            flags: b,
            path: text(first),
        },
        "dup" => Event::Dup { old: a, new: b },
        "close" => Event::Close { fd: a },
        "write" => Event::Write {
            fd: a,
            offset: b as u64,
            data: first,
        },
        "truncate" => Event::Truncate {
            fd: a,
            length: b as u64,
        },
        "sync" => Event::Sync { fd: a, thread: b },
        "synced" => Event::Synced { fd: a, thread: b },
        "rename" => Event::Rename {
            from: text(first),
            to: text(second),
        },
        "link" => Event::Link {
            from: text(first),
            to: text(second),
        },
        "unlink" => Event::Unlink { path: text(first) },
        "mkdir" => Event::MakeFolder { path: text(first) },
        _ => panic!("the recorded program did something the model does not know: {kind} {numbers:?}"),
    };
    Some((event, rest))
}
