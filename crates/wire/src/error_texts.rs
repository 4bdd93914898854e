//! Versions of AWS's error texts: AWS changed some of them between May and August 2026.
//!
//! The engine and this crate use the texts of May. [`CHANGES`] contains all later changes, which are applied
//! only where an error leaves the server.

use std::fmt;
use std::str::FromStr;

use trestle_api::{Error, ErrorKind, OperationName};

use OperationName::{BatchGetItem, DeleteItem, GetItem, PutItem, Query, UpdateItem};

/// The texts of errors, by the month in which AWS was observed to answer with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorTexts {
    /// As the public Parity Suite recorded them: `2026-05`.
    May2026,
    /// The newest: `2026-08`.
    #[default]
    August2026,
}

impl ErrorTexts {
    /// Every choice.
    pub const ALL: &[Self] = &[Self::May2026, Self::August2026];

    /// The name in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::May2026 => "2026-05",
            Self::August2026 => "2026-08",
        }
    }

    /// The error of an operation in these texts.
    #[must_use]
    pub fn worded(self, operation: OperationName, error: Error) -> Error {
        if self == Self::May2026 || error.kind() != ErrorKind::Validation {
            return error;
        }
        CHANGES
            .iter()
            .filter(|change| change.operations.contains(&operation))
            .fold(error, |error, change| match change.text_of(&error) {
                Some(text) => error.with_message(text),
                None => error,
            })
    }
}

impl fmt::Display for ErrorTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ErrorTexts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|texts| texts.as_str() == text);
        found
            .copied()
            .ok_or_else(|| format!("`{text}` are no texts of AWS; choose 2026-05 or 2026-08"))
    }
}

/// A text that AWS changed, in some operations.
struct Change {
    operations: &'static [OperationName],
    edit: Edit,
}

/// How a text changed.
enum Edit {
    /// This text was replaced by that text.
    Replaced(&'static str, &'static str),
    /// A text that contains this part was replaced by that text, unless a required member is missing: then
    /// AWS reports all members as before.
    ReplacedWith(&'static str, &'static str),
    /// Everything after this beginning is left out.
    CutBehind(&'static str),
    /// `<before>text<between>key` became `text`.
    Unwrapped {
        before: &'static str,
        between: &'static str,
    },
    /// [`COUNT`] stands before this text.
    Counted(&'static str),
    /// [`COUNT`] stands before every text about the request itself, except those that begin like this.
    AllCounted { except: &'static [&'static str] },
}

/// The prefix that AWS adds to a text.
const COUNT: &str = "1 validation error detected: ";

/// The end of a text about a missing member.
const MISSING: &str = "Member must not be null";

/// Operations whose requests are checked by AWS's newer layer, which counts errors.
const WRITES: &[OperationName] = &[PutItem, UpdateItem, DeleteItem];
/// Operations whose values are checked by the newer layer.
const NEWER_VALUES: &[OperationName] = &[PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, Query];

/// All changes, in the order in which they are applied. The observations are the Parity Suite's of August to
/// October 2026.
const CHANGES: &[Change] = &[
    Change {
        operations: &[PutItem, UpdateItem, DeleteItem, Query],
        edit: Edit::Unwrapped {
            before: "ExpressionAttributeValues contains invalid value: ",
            between: " for key ",
        },
    },
    Change {
        operations: NEWER_VALUES,
        edit: Edit::Replaced(
            "The parameter cannot be converted to a numeric value",
            "The parameter cannot be converted to a numeric value: ",
        ),
    },
    Change {
        operations: NEWER_VALUES,
        edit: Edit::Replaced(
            "Input collection contains duplicates",
            "One or more parameter values were invalid: Input collection contains duplicates.",
        ),
    },
    Change {
        operations: &[BatchGetItem],
        edit: Edit::Replaced(
            "The requestItems parameter is required for BatchGetItem",
            "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length \
             greater than or equal to 1",
        ),
    },
    Change {
        operations: WRITES,
        edit: Edit::CutBehind("ExpressionAttributeValues can only be specified when using expressions"),
    },
    Change {
        operations: &[PutItem],
        edit: Edit::ReplacedWith(
            "Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 1",
            "1 validation error detected: Value at 'TableName' failed to satisfy constraint: Member must have length \
             greater than or equal to 1",
        ),
    },
    Change {
        operations: &[UpdateItem],
        edit: Edit::ReplacedWith(
            "at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set",
            "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, \
             UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
        ),
    },
    Change {
        operations: &[Query],
        edit: Edit::ReplacedWith(
            "at 'conditionalOperator' failed to satisfy constraint",
            "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]",
        ),
    },
    Change {
        operations: &[PutItem, UpdateItem],
        edit: Edit::ReplacedWith(
            "at 'conditionalOperator' failed to satisfy constraint",
            "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]",
        ),
    },
    Change {
        operations: &[Query],
        edit: Edit::Counted(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
    },
    Change {
        operations: WRITES,
        edit: Edit::AllCounted {
            except: &["Item size", "Nesting Levels"],
        },
    },
];

impl Change {
    /// The text of an error after this change, if the change concerns it.
    fn text_of(&self, error: &Error) -> Option<String> {
        let text = error.message();
        match &self.edit {
            Edit::Replaced(old, new) => (text == *old).then(|| (*new).to_owned()),
            Edit::ReplacedWith(part, new) => {
                (text.contains(part) && !text.contains(MISSING)).then(|| (*new).to_owned())
            }
            Edit::CutBehind(beginning) => text.starts_with(beginning).then(|| (*beginning).to_owned()),
            Edit::Unwrapped { before, between } => {
                let (inner, _) = text.strip_prefix(before)?.rsplit_once(between)?;
                Some(inner.to_owned())
            }
            Edit::Counted(of) => (text == *of).then(|| format!("{COUNT}{text}")),
            Edit::AllCounted { except } => {
                let stays = is_counted(text) || except.iter().any(|beginning| text.starts_with(beginning));
                (error.is_of_request() && !stays).then(|| format!("{COUNT}{text}"))
            }
        }
    }
}

/// Whether a text begins with a number of errors.
fn is_counted(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < text.len() && rest.starts_with(" validation error")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(operation: OperationName, error: Error) -> String {
        ErrorTexts::August2026
            .worded(operation, error)
            .message()
            .to_owned()
    }

    #[test]
    fn writes_count_what_is_wrong_with_the_request_and_nothing_else() {
        let fault = || Error::validation("Invalid ConditionExpression: The expression can not be empty;");
        let counted = format!("{COUNT}{}", fault().message());
        assert_eq!(newest(PutItem, fault().of_request()), counted);
        assert_eq!(newest(PutItem, fault()), fault().message());
        assert_eq!(newest(GetItem, fault().of_request()), fault().message());
        assert_eq!(
            newest(PutItem, Error::validation(&counted).of_request()),
            counted,
            "once"
        );
        let two = "2 validation errors detected: a; b";
        assert_eq!(newest(DeleteItem, Error::validation(two).of_request()), two);
        let large = "Item size has exceeded the maximum allowed size";
        assert_eq!(newest(PutItem, Error::validation(large).of_request()), large);
        let may = ErrorTexts::May2026.worded(PutItem, fault().of_request());
        assert_eq!(may.message(), fault().message());
    }

    #[test]
    fn values_lose_their_wrapper() {
        let empty = "One or more parameter values were invalid: An string set  may not be empty";
        let wrapped = format!("ExpressionAttributeValues contains invalid value: {empty} for key :v");
        let fault = || Error::validation(&wrapped).of_request();
        assert_eq!(newest(UpdateItem, fault()), format!("{COUNT}{empty}"));
        assert_eq!(newest(Query, fault()), empty);
        assert_eq!(newest(OperationName::Scan, fault()), wrapped);
    }

    #[test]
    fn an_unknown_operator_has_the_newer_text_unless_a_member_is_missing() {
        let unknown = "Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum \
                       value set: [OR, AND]";
        let one = format!("{COUNT}{unknown}");
        let newer = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]";
        assert_eq!(newest(Query, Error::validation(&one)), newer);
        assert_eq!(
            newest(PutItem, Error::validation(&one)),
            format!("{COUNT}{newer}")
        );
        assert_eq!(newest(OperationName::Scan, Error::validation(&one)), one);
        let two = format!(
            "2 validation errors detected: {unknown}; Value null at 'key' failed to satisfy constraint: {MISSING}"
        );
        assert_eq!(newest(UpdateItem, Error::validation(&two)), two);
    }

    #[test]
    fn texts_are_known_by_their_month() {
        for texts in ErrorTexts::ALL {
            assert_eq!(texts.as_str().parse(), Ok(*texts));
        }
        assert!("2026-06".parse::<ErrorTexts>().is_err());
        assert_eq!(ErrorTexts::default().to_string(), "2026-08");
    }
}
