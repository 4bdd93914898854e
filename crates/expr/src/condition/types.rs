//! Attribute types, and the requirements of expressions on them.

use std::cmp::Ordering;
use std::fmt;

use trestle_item::AttributeValue;

use crate::evaluation::order;
use crate::{ExprError, Kind};

/// The type of an attribute, named as in `attribute_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are DynamoDB's.
pub enum AttributeType {
    S,
    N,
    B,
    Bool,
    Null,
    M,
    L,
    Ss,
    Ns,
    Bs,
}

impl AttributeType {
    /// A value's type.
    #[must_use]
    pub fn of(value: &AttributeValue) -> Self {
        match value {
            AttributeValue::S(_) => Self::S,
            AttributeValue::N(_) => Self::N,
            AttributeValue::B(_) => Self::B,
            AttributeValue::Bool(_) => Self::Bool,
            AttributeValue::Null => Self::Null,
            AttributeValue::M(_) => Self::M,
            AttributeValue::L(_) => Self::L,
            AttributeValue::Ss(_) => Self::Ss,
            AttributeValue::Ns(_) => Self::Ns,
            AttributeValue::Bs(_) => Self::Bs,
        }
    }

    /// The type's name: `S`, `N`, `B`, `BOOL`, `NULL`, `M`, `L`, `SS`, `NS` or `BS`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::M => "M",
            Self::L => "L",
            Self::Ss => "SS",
            Self::Ns => "NS",
            Self::Bs => "BS",
        }
    }

    /// The type with this name; case matters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        const ALL: [AttributeType; 10] = [
            AttributeType::S,
            AttributeType::N,
            AttributeType::B,
            AttributeType::Bool,
            AttributeType::Null,
            AttributeType::M,
            AttributeType::L,
            AttributeType::Ss,
            AttributeType::Ns,
            AttributeType::Bs,
        ];
        ALL.into_iter().find(|candidate| candidate.name() == name)
    }

    /// Whether values of this type have an order.
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, Self::S | Self::N | Self::B)
    }

    /// Whether values of this type can have a prefix.
    pub(crate) fn has_prefixes(self) -> bool {
        matches!(self, Self::S | Self::B)
    }

    /// Whether values of this type have a size.
    pub(crate) fn has_size(self) -> bool {
        !matches!(self, Self::N | Self::Bool | Self::Null)
    }
}

/// Refuses constant bounds of different types or in the wrong order.
pub(super) fn check_bounds(kind: Kind, low: &AttributeValue, high: &AttributeValue) -> Result<(), ExprError> {
    let problem = match order(low, high) {
        None => "same data type for lower and upper bounds",
        Some(Ordering::Greater) => "upper bound to be greater than or equal to lower bound",
        Some(_) => return Ok(()),
    };
    Err(kind.invalid(format_args!(
        "The BETWEEN operator requires {problem}; lower bound operand: AttributeValue: {}, \
         upper bound operand: AttributeValue: {}",
        value_in_message(low),
        value_in_message(high)
    )))
}

/// A scalar in the form used in messages: `{S:text}`.
fn value_in_message(value: &AttributeValue) -> impl fmt::Display + '_ {
    struct Shown<'v>(&'v AttributeValue);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                AttributeValue::S(text) => write!(f, "{{S:{text}}}"),
                AttributeValue::N(number) => write!(f, "{{N:{number}}}"),
                AttributeValue::B(bytes) => write!(f, "{{B:{}}}", Buffer(bytes)),
                other => write!(f, "{{{}}}", other.type_name()),
            }
        }
    }
    Shown(value)
}

/// Messages show bytes as the buffer that contains them, not their content.
struct Buffer<'b>(&'b [u8]);

impl fmt::Display for Buffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.0.len();
        write!(f, "java.nio.HeapByteBuffer[pos=0 lim={len} cap={len}]")
    }
}
