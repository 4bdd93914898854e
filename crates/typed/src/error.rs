//! Errors, in terms of the model.

use std::fmt;

use trestle_api::{CancellationCode, ErrorKind, Taken};
use trestle_item::{AttributeValue, Item};
use trestle_model::Refusal;

use crate::FromRow;

/// Why a request of a typed client failed. A write that failed has changed nothing.
///
/// The variants differ in what a program can do. [`Error::is_condition`], [`Error::is_taken`],
/// [`Error::is_invalid`] and [`Error::is_transient`] answer for a single write and for a transaction alike.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The condition of a write did not hold. The error contains the stored row.
    #[error("The condition on entity {} with {} did not hold", .0.entity, shown(&.0.key))]
    ConditionFailed(Box<Failed>),
    /// The row to be changed does not exist.
    #[error("There is no row of entity {} with {}", .0.entity, shown(&.0.key))]
    NotFound(Box<Failed>),
    /// Another row has a value that the model declares unique. The message names both, and
    /// [`taken_value`](trestle_api::Error::taken_value) returns them as data.
    #[error("{0}")]
    Taken(trestle_api::Error),
    /// The transaction was cancelled, for these reasons.
    #[error("{0}")]
    Canceled(Box<Canceled>),
    /// The model refuses it; nothing was sent.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The database refuses it: because of its model, or because the request is too large or invalid.
    #[error("{0}")]
    Invalid(trestle_api::Error),
    /// The database lacks the table or the index.
    #[error("{0}; apply the model to the database first")]
    NoTable(trestle_api::Error),
    /// The database is overloaded; try again later.
    #[error("{0}")]
    Throttled(trestle_api::Error),
    /// Another fault of the database, or of the connection.
    #[error("{0}")]
    Database(trestle_api::Error),
    /// A row in the database does not fit the model.
    #[error("{0}")]
    Misfit(Box<Misfit>),
    /// Others changed the row each time between reading and writing it.
    #[error("Entity {} with {}: others kept changing the row; try again later, or apply the model to the database, \
             which then needs no second look", .0.entity, shown(&.0.key))]
    Contended(Box<Failed>),
    /// The database repeatedly left parts of a batch unprocessed.
    #[error("The database did not process {rows} rows of the batch after several tries; try again later")]
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
    /// Something for which the database must know the model.
    #[error(
        "{what} is done by a database that knows the model {model}: apply the model with apply_to, to a remote endpoint through a gateway; \
         or say with model_applied() that the server has it"
    )]
    NotApplied {
        /// The request.
        what: String,
        /// The model.
        model: &'static str,
    },
    /// A large value was replaced or removed some time ago, and its bytes are gone.
    #[error("The large value {id} no longer exists: its row was replaced or removed; read the row again")]
    ValueGone {
        /// The value.
        id: String,
    },
    /// The bytes of a large value do not match its row.
    #[error("The large value {id} is damaged: {reason}; `trestle verify` names the row")]
    ValueDamaged {
        /// The value.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// More bytes were written than a large value may have.
    #[error("A large value has at most {most} bytes", most = trestle_model::LARGE_VALUE_BYTES_MAX)]
    ValueTooLarge,
    /// The model's file loads at compile time, but not at run time.
    #[error("The model {model} does not load: build the program with one version of Trestle")]
    Definition {
        /// The model.
        model: &'static str,
    },
}

/// A row that does not fit its entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The entity; empty if the row belongs to none of the expected ones.
    pub entity: String,
    /// The attribute; empty if the error does not concern one.
    pub attribute: String,
    /// The row's key.
    pub key: Item,
    /// Completes a sentence about the attribute, or about the row.
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

/// A write that was not made.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// The entity.
    pub entity: &'static str,
    /// The row's key.
    pub key: Item,
    /// The stored row, if there is one and the database returned it.
    pub found: Option<Item>,
}

impl Failed {
    /// The stored row, if there is one.
    pub fn row<T: FromRow>(&self) -> Result<Option<T>, Error> {
        self.found.clone().map(crate::read).transpose()
    }
}

/// A cancelled transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Canceled {
    /// One for each part, in order; `None` for parts that did not fail.
    pub reasons: Vec<Option<Reason>>,
}

/// Why a part of a transaction failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The entity and key of the part.
    pub failed: Failed,
    /// The class of failure.
    pub code: CancellationCode,
    /// The message.
    pub message: String,
    /// The value that another row has, if that is the reason.
    pub taken: Option<Box<Taken>>,
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

impl From<trestle_api::Error> for Error {
    fn from(error: trestle_api::Error) -> Self {
        match error.kind() {
            ErrorKind::ConditionalCheckFailed if error.taken_value().is_some() => Error::Taken(error),
            ErrorKind::Validation => Error::Invalid(error),
            ErrorKind::ResourceNotFound => Error::NoTable(error),
            ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling => Error::Throttled(error),
            _ => Error::Database(error),
        }
    }
}

impl Error {
    /// Whether a condition did not hold: of a write, or of any part of a transaction.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        match self {
            Error::ConditionFailed(_) | Error::NotFound(_) => true,
            Error::Canceled(canceled) => {
                let failed = CancellationCode::ConditionalCheckFailed;
                canceled.has(|reason| reason.code == failed && reason.taken.is_none())
            }
            _ => false,
        }
    }

    /// Whether a unique value is taken.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        match self {
            Error::Taken(_) => true,
            Error::Canceled(canceled) => canceled.has(|reason| reason.taken.is_some()),
            _ => false,
        }
    }

    /// Whether the model or the database refuses the request itself: a single one, or any part of a
    /// transaction.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        match self {
            Error::Refused(_) | Error::Invalid(_) => true,
            Error::Canceled(canceled) => {
                canceled.has(|reason| reason.code == CancellationCode::ValidationError)
            }
            _ => false,
        }
    }

    /// Whether the same request, unchanged, may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Throttled(_) | Error::Contended(_) | Error::Unprocessed { .. } => true,
            Error::Database(error) => matches!(
                error.kind(),
                ErrorKind::InternalServerError
                    | ErrorKind::TransactionConflict
                    | ErrorKind::TransactionInProgress
            ),
            Error::Canceled(canceled) => canceled.reasons.iter().flatten().all(|reason| {
                matches!(
                    reason.code,
                    CancellationCode::TransactionConflict
                        | CancellationCode::ProvisionedThroughputExceeded
                        | CancellationCode::ThrottlingError
                )
            }),
            _ => false,
        }
    }
}

impl Canceled {
    fn has(&self, so: impl Fn(&Reason) -> bool) -> bool {
        self.reasons.iter().flatten().any(so)
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
