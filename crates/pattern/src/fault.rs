//! The mistakes in a pattern, with their places.

use std::fmt;

/// One mistake in a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Fault {
    /// The place in the pattern: `detail.state[0].prefix`; `pattern` is the whole.
    pub path: String,
    /// What is wrong, and what is allowed there.
    pub message: String,
}

/// A path inside a pattern, as a chain back to its root.
#[derive(Clone, Copy)]
pub(crate) enum PatternPath<'a> {
    Root,
    Field(&'a PatternPath<'a>, &'a str),
    Index(&'a PatternPath<'a>, usize),
}

impl<'a> PatternPath<'a> {
    pub(crate) fn field(&'a self, name: &'a str) -> PatternPath<'a> {
        PatternPath::Field(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> PatternPath<'a> {
        PatternPath::Index(self, index)
    }

    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault {
            path: self.to_string(),
            message: message.into(),
        }
    }

    /// The number of fields and indexes above.
    pub(crate) fn depth(&self) -> usize {
        let mut path = self;
        let mut depth = 0;
        while let PatternPath::Field(parent, _) | PatternPath::Index(parent, _) = path {
            path = parent;
            depth += 1;
        }
        depth
    }
}

impl fmt::Display for PatternPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternPath::Root => f.write_str("pattern"),
            PatternPath::Field(PatternPath::Root, name) => f.write_str(name),
            PatternPath::Field(parent, name) => write!(f, "{parent}.{name}"),
            PatternPath::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
