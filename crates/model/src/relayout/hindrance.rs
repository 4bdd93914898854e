//! Why rows cannot move between two versions of a model.

use std::fmt;

/// Why rows of an entity cannot move, known from the two versions alone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hindrance {
    /// The entity.
    pub entity: String,
    /// What is in the way, with the templates.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.message, self.help)
    }
}

impl std::error::Error for Hindrance {}
