//! Attributes by name and type, and conditions on them.

use std::marker::PhantomData;

use trestle_expr::{Comparator, Condition, Operand, Path};

use crate::{Contains, Ordered, Text, Value};

/// An attribute of the entity `E`, with values of type `T`.
pub struct Attribute<E, T> {
    name: &'static str,
    types: PhantomData<fn() -> (E, T)>,
}

/// A condition on a row of the entity `E`.
pub struct If<E> {
    pub(crate) condition: Condition,
    entity: PhantomData<fn() -> E>,
}

impl<E> If<E> {
    pub(crate) fn new(condition: Condition) -> Self {
        If {
            condition,
            entity: PhantomData,
        }
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: If<E>) -> Self {
        If::new(Condition::And(vec![self.condition, other.condition]))
    }

    /// At least one holds.
    #[must_use]
    pub fn or(self, other: If<E>) -> Self {
        If::new(Condition::Or(vec![self.condition, other.condition]))
    }
}

impl<E> std::ops::Not for If<E> {
    type Output = Self;

    fn not(self) -> Self {
        If::new(Condition::Not(Box::new(self.condition)))
    }
}

impl<E> Clone for If<E> {
    fn clone(&self) -> Self {
        If::new(self.condition.clone())
    }
}

impl<E> std::fmt::Debug for If<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("If").field(&self.condition).finish()
    }
}

impl<E, T> Clone for Attribute<E, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T> Copy for Attribute<E, T> {}

impl<E, T> std::fmt::Debug for Attribute<E, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Attribute").field(&self.name).finish()
    }
}

impl<E, T> Attribute<E, T> {
    /// The attribute of this name in the model.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Attribute {
            name,
            types: PhantomData,
        }
    }

    /// Its name in the model.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    fn operand(self) -> Operand {
        Operand::Path(Path::top(self.name))
    }

    /// The row has the attribute.
    #[must_use]
    pub fn exists(self) -> If<E> {
        If::new(Condition::Exists(Path::top(self.name)))
    }

    /// The row lacks the attribute.
    #[must_use]
    pub fn is_absent(self) -> If<E> {
        If::new(Condition::NotExists(Path::top(self.name)))
    }
}

impl<E, T: Value> Attribute<E, T> {
    fn compared(self, comparator: Comparator, value: &T) -> If<E> {
        If::new(Condition::Compare {
            left: self.operand(),
            comparator,
            right: Operand::Value(value.to_value()),
        })
    }

    /// It is this.
    pub fn equals(self, value: impl Into<T>) -> If<E> {
        self.compared(Comparator::Equal, &value.into())
    }

    /// Its value differs, or the row lacks it.
    pub fn differs_from(self, value: impl Into<T>) -> If<E> {
        self.compared(Comparator::NotEqual, &value.into())
    }

    /// Its value is one of these.
    pub fn is_one_of(self, values: impl IntoIterator<Item = impl Into<T>>) -> If<E> {
        let list: Vec<Operand> = values
            .into_iter()
            .map(|value| Operand::Value(value.into().to_value()))
            .collect();
        If::new(Condition::In {
            operand: self.operand(),
            list,
        })
    }
}

impl<E, T: Ordered> Attribute<E, T> {
    /// Its value is less than this.
    pub fn is_less_than(self, value: impl Into<T>) -> If<E> {
        self.compared(Comparator::Less, &value.into())
    }

    /// Its value is this or less.
    pub fn is_at_most(self, value: impl Into<T>) -> If<E> {
        self.compared(Comparator::LessOrEqual, &value.into())
    }

    /// Its value is greater than this.
    pub fn is_greater_than(self, value: impl Into<T>) -> If<E> {
        self.compared(Comparator::Greater, &value.into())
    }

    /// Its value is this or greater.
    pub fn is_at_least(self, value: impl Into<T>) -> If<E> {
        self.compared(Comparator::GreaterOrEqual, &value.into())
    }

    /// Its value is between these, both included.
    pub fn is_between(self, low: impl Into<T>, high: impl Into<T>) -> If<E> {
        If::new(Condition::Between {
            operand: self.operand(),
            low: Operand::Value(low.into().to_value()),
            high: Operand::Value(high.into().to_value()),
        })
    }
}

impl<E, T: Text> Attribute<E, T> {
    /// Its value begins with this text.
    pub fn begins_with(self, text: impl Into<String>) -> If<E> {
        If::new(Condition::BeginsWith {
            operand: self.operand(),
            prefix: Operand::Value(text.into().to_value()),
        })
    }
}

impl<E, T: Contains> Attribute<E, T> {
    /// Its value contains this: an element of a set or list, or a part of a text.
    pub fn contains(self, element: impl Into<T::Element>) -> If<E> {
        If::new(Condition::Contains {
            operand: self.operand(),
            element: Operand::Value(element.into().to_value()),
        })
    }
}
