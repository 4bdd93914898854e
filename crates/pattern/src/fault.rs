//! What is wrong with a pattern, and where.

use std::fmt;

/// One mistake in a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Fault {
    /// Where in the pattern: `detail.state[0].prefix`; `pattern` is the whole.
    pub path: String,
    /// What is wrong, and what is allowed there.
    pub message: String,
}

/// A place inside a pattern, as a chain back to its root.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    pub(crate) fn field(&'a self, name: &'a str) -> Place<'a> {
        Place::Field(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> Place<'a> {
        Place::Index(self, index)
    }

    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault {
            path: self.to_string(),
            message: message.into(),
        }
    }

    /// How many fields and indexes lie above.
    pub(crate) fn depth(&self) -> usize {
        let mut place = self;
        let mut depth = 0;
        while let Place::Field(parent, _) | Place::Index(parent, _) = place {
            place = parent;
            depth += 1;
        }
        depth
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => f.write_str("pattern"),
            Place::Field(Place::Root, name) => f.write_str(name),
            Place::Field(parent, name) => write!(f, "{parent}.{name}"),
            Place::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
