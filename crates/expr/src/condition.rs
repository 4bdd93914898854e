//! Conditions: `ConditionExpression`, `FilterExpression` and their legacy predecessors, parsed.

mod parse;
mod types;

use trestle_item::AttributeValue;

pub use types::AttributeType;
use types::check_bounds;

use crate::cursor::Cursor;
use crate::path::Path;
use crate::resolution::Resolver;
use crate::{ExprError, Kind, Placeholders, grammar, vocabulary};

/// A condition on an item. It is either true or false for any item, and for a missing one (an empty map).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// At least one holds.
    Or(Vec<Condition>),
    /// All hold.
    And(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// A comparison of two values holds.
    Compare {
        /// The left side.
        left: Operand,
        /// The operator.
        comparator: Comparator,
        /// The right side.
        right: Operand,
    },
    /// A value is within bounds, both included.
    Between {
        /// The value.
        operand: Operand,
        /// The lower bound.
        low: Operand,
        /// The upper bound.
        high: Operand,
    },
    /// A value equals one of several.
    In {
        /// The value.
        operand: Operand,
        /// The list.
        list: Vec<Operand>,
    },
    /// `attribute_exists`
    Exists(Path),
    /// `attribute_not_exists`
    NotExists(Path),
    /// `attribute_type`
    HasType {
        /// The value.
        operand: Operand,
        /// Its type.
        attribute_type: AttributeType,
    },
    /// `begins_with`, of text or bytes.
    BeginsWith {
        /// The value.
        operand: Operand,
        /// The prefix.
        prefix: Operand,
    },
    /// `contains`: text in a text, bytes in bytes, an element in a set or list.
    Contains {
        /// The value.
        operand: Operand,
        /// The contained value.
        element: Operand,
    },
}

/// An expression with a value, given an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The item's value at a path.
    Path(Path),
    /// A constant.
    Value(AttributeValue),
    /// `size` of another operand.
    Size(Box<Operand>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Condition {
    /// Parses a `ConditionExpression`, `FilterExpression` or `KeyConditionExpression`.
    pub fn parse(kind: Kind, text: &str, placeholders: &mut Placeholders<'_>) -> Result<Self, ExprError> {
        let raw = grammar::condition(&mut Cursor::new(kind, text)?)?;
        vocabulary::check_condition(kind, &raw)?;
        parse::condition(&mut Resolver::new(kind, placeholders), &raw)
    }

    /// Every path that the condition reads, in the order written.
    #[must_use]
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        self.collect_paths(&mut paths);
        paths
    }

    /// The top-level attributes that the condition reads, in the order written, with repetitions.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.paths().into_iter().map(|path| path.attribute.as_str())
    }

    fn collect_paths<'c>(&'c self, paths: &mut Vec<&'c Path>) {
        match self {
            Self::Or(all) | Self::And(all) => all.iter().for_each(|one| one.collect_paths(paths)),
            Self::Not(negated) => negated.collect_paths(paths),
            Self::Exists(path) | Self::NotExists(path) => paths.push(path),
            Self::HasType { operand, .. } => paths.extend(operand.any_path()),
            Self::Compare {
                left: a, right: b, ..
            }
            | Self::BeginsWith {
                operand: a,
                prefix: b,
            }
            | Self::Contains {
                operand: a,
                element: b,
            } => paths.extend([a, b].into_iter().filter_map(Operand::any_path)),
            Self::Between { operand, low, high } => {
                paths.extend([operand, low, high].into_iter().filter_map(Operand::any_path));
            }
            Self::In { operand, list } => {
                paths.extend(std::iter::once(operand).chain(list).filter_map(Operand::any_path));
            }
        }
    }
}

impl Operand {
    /// The path, if the operand itself is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        if let Self::Path(path) = self {
            Some(path)
        } else {
            None
        }
    }

    /// The path, if the operand is one or the size of one.
    fn any_path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Value(_) => None,
            Self::Size(measured) => measured.any_path(),
        }
    }

    /// The constant, if the operand is one.
    pub(crate) fn value(&self) -> Option<&AttributeValue> {
        if let Self::Value(value) = self {
            Some(value)
        } else {
            None
        }
    }

    /// The type that the operand has for every item, if it is known.
    pub(crate) fn known_type(&self) -> Option<AttributeType> {
        match self {
            Self::Path(_) => None,
            Self::Value(value) => Some(AttributeType::of(value)),
            Self::Size(_) => Some(AttributeType::N),
        }
    }
}

impl Comparator {
    /// The operator as it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it needs an order, which only text, numbers and bytes have.
    pub(crate) fn is_ordering(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }

    /// The equivalent comparator for exchanged sides.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }
}
