//! What can go wrong, in the model's words.

use std::fmt;

use trestle_api::{CancellationCode, ErrorKind};
use trestle_item::{AttributeValue, Item};
use trestle_model::Refusal;

use crate::FromRow;

/// Why a request of a typed client failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The database refused it.
    #[error("{0}")]
    Database(#[from] trestle_api::Error),
    /// The model refuses it; nothing was sent.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A row in the database is not what the model says.
    #[error("{0}")]
    Misfit(Box<Misfit>),
    /// There is no such row.
    #[error("There is no row of entity {} with {}", .0.entity, shown(&.0.key))]
    NotFound(Box<Failed>),
    /// The condition of a write did not hold; the row is as it was.
    #[error("The condition on entity {} with {} did not hold", .0.entity, shown(&.0.key))]
    ConditionFailed(Box<Failed>),
    /// The transaction was given up; nothing was written.
    #[error("{0}")]
    Canceled(Box<Canceled>),
    /// Others changed the row each time between reading and writing it.
    #[error("Entity {} with {}: others kept changing the row; try again later, or apply the model to the database, \
             which then needs no second look", .0.entity, shown(&.0.key))]
    Contended(Box<Failed>),
    /// The database left parts of a batch undone, again and again.
    #[error(
        "The database did not get to {rows} rows of the batch, however often it was asked; try again later"
    )]
    Unprocessed {
        /// How many rows.
        rows: usize,
    },
    /// The text is no bookmark of this access pattern.
    #[error("The bookmark {bookmark:?} is not one of access pattern {access}; begin without one")]
    Bookmark {
        /// The access pattern.
        access: &'static str,
        /// The text.
        bookmark: String,
    },
    /// Something that only a database does that knows the model.
    #[error(
        "{what} is done by a database that knows the model {model}: apply the model to it, and say so with model_applied()"
    )]
    NotApplied {
        /// What was asked for.
        what: String,
        /// The model.
        model: &'static str,
    },
    /// The model's file loads at compile time, but not at run time.
    #[error("The model {model} does not load: build the program with one version of Trestle")]
    Definition {
        /// The model.
        model: &'static str,
    },
}

/// A row that is not as its entity says.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The entity; empty if the row is none that was expected.
    pub entity: String,
    /// The attribute; empty if it is not about one.
    pub attribute: String,
    /// The row's key.
    pub key: Item,
    /// The rest of a sentence about the attribute, or about the row.
    pub reason: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entity.is_empty() {
            return write!(f, "The row with {}: {}", shown(&self.key), self.reason);
        }
        write!(
            f,
            "Entity {}, row with {}: attribute {} {}",
            self.entity,
            shown(&self.key),
            self.attribute,
            self.reason
        )
    }
}

/// A write that came to nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// The entity.
    pub entity: &'static str,
    /// The row's key.
    pub key: Item,
    /// The row as it is, if there is one and the database showed it.
    pub found: Option<Item>,
}

impl Failed {
    /// The row as it is, if there is one.
    pub fn row<T: FromRow>(&self) -> Option<Result<T, Error>> {
        self.found.clone().map(crate::read)
    }
}

/// A transaction that was given up.
#[derive(Clone, Debug, PartialEq)]
pub struct Canceled {
    /// One for each part, in order; `None` for parts that did not fail.
    pub reasons: Vec<Option<Reason>>,
}

/// Why a part of a transaction failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// What it is about.
    pub failed: Failed,
    /// The class of failure.
    pub code: CancellationCode,
    /// The failure in words.
    pub message: String,
}

impl fmt::Display for Canceled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The transaction was given up")?;
        for (at, reason) in self.reasons.iter().enumerate() {
            let Some(reason) = reason else { continue };
            let Failed { entity, key, .. } = &reason.failed;
            write!(f, "; part {}, entity {entity} with {}: ", at + 1, shown(key))?;
            f.write_str(&reason.message)?;
        }
        Ok(())
    }
}

impl Error {
    /// Whether it was a condition that did not hold: of a write, or of any part of a transaction.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        match self {
            Error::ConditionFailed(_) | Error::NotFound(_) => true,
            Error::Canceled(canceled) => canceled
                .reasons
                .iter()
                .flatten()
                .any(|reason| reason.code == CancellationCode::ConditionalCheckFailed),
            _ => false,
        }
    }

    /// The kind of failure, if the database said it.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            Error::Database(error) => Some(error.kind()),
            Error::ConditionFailed(_) | Error::NotFound(_) => Some(ErrorKind::ConditionalCheckFailed),
            Error::Canceled(_) => Some(ErrorKind::TransactionCanceled),
            _ => None,
        }
    }
}

/// A key as text: `PK "a", SK "search"`.
fn shown(key: &Item) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(name, value)| match value {
            AttributeValue::S(text) => format!("{name} {text:?}"),
            AttributeValue::N(number) => format!("{name} {number}"),
            AttributeValue::B(bytes) => format!("{name} of {} bytes", bytes.len()),
            other => format!("{name} of type {}", other.type_name()),
        })
        .collect();
    parts.join(", ")
}
