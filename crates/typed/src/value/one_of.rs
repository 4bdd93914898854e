//! Types with few values.

/// A text that is not one of an attribute's values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is no value of {attribute}, which is one of {}", known.join(", "))]
pub struct NotOneOf {
    /// The attribute.
    pub attribute: &'static str,
    /// The text.
    pub value: String,
    /// The allowed values.
    pub known: &'static [&'static str],
}
