//! Values of which there are few.

/// A text that is none of the values that an attribute may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is no value of {attribute}, which is one of {}", known.join(", "))]
pub struct NotOneOf {
    /// The attribute.
    pub attribute: &'static str,
    /// The text.
    pub value: String,
    /// The values there are.
    pub known: &'static [&'static str],
}
