//! Rust types for the types of the model.

mod one_of;
mod time;

use std::collections::BTreeSet;

use semver::Version;
use trestle_item::{AttributeValue, Map, Number};
use trestle_model::LargeValue;

pub use one_of::NotOneOf;
pub use time::{EpochSeconds, NotATimestamp, Timestamp};

/// The value of an attribute.
pub trait Value: Sized + Send {
    /// The stored value.
    fn to_value(&self) -> AttributeValue;

    /// From the stored value; the error returns a value that does not fit.
    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue>;

    /// The value where the row lacks the attribute, for types that have one.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }

    /// Whether the value cannot be stored: DynamoDB has no empty sets.
    fn is_absent(&self) -> bool {
        false
    }
}

/// Values that have an order in the database.
#[diagnostic::on_unimplemented(message = "values of type `{Self}` have no order in the database")]
pub trait Ordered: Value {}

/// Values that are text.
#[diagnostic::on_unimplemented(message = "values of type `{Self}` are not text")]
pub trait Text: Value {}

/// Values that have elements.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` contain nothing: they are no set, list or text"
)]
pub trait Contains: Value {
    /// What they contain.
    type Element: Value;
}

macro_rules! values {
    ($($type:ty: $variant:ident;)*) => {
        $(impl Value for $type {
            fn to_value(&self) -> AttributeValue {
                AttributeValue::$variant(self.clone())
            }

            fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
                match value {
                    AttributeValue::$variant(inner) => Ok(inner),
                    other => Err(other),
                }
            }
        })*
    };
}

values! {
    String: S;
    Number: N;
    Vec<u8>: B;
    bool: Bool;
    Vec<AttributeValue>: L;
    Map: M;
}

impl Value for i64 {
    fn to_value(&self) -> AttributeValue {
        AttributeValue::N(Number::from(*self))
    }

    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
        match value.as_n().and_then(Number::to_i64) {
            Some(number) => Ok(number),
            None => Err(value),
        }
    }
}

/// A semantic version. It sorts in keys only, so conditions and filters cannot compare it: it is not [`Ordered`].
impl Value for Version {
    fn to_value(&self) -> AttributeValue {
        AttributeValue::S(self.to_string())
    }

    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
        let version = value.as_s().and_then(|text| Version::parse(text).ok());
        version.ok_or(value)
    }
}

impl Value for LargeValue {
    fn to_value(&self) -> AttributeValue {
        LargeValue::to_value(self)
    }

    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
        LargeValue::from_value(&value).map_err(|_| value)
    }
}

impl Value for AttributeValue {
    fn to_value(&self) -> AttributeValue {
        self.clone()
    }

    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
        Ok(value)
    }
}

macro_rules! sets {
    ($($element:ty: $variant:ident;)*) => {
        $(impl Value for BTreeSet<$element> {
            fn to_value(&self) -> AttributeValue {
                AttributeValue::$variant(self.iter().cloned().collect())
            }

            fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
                match value {
                    AttributeValue::$variant(members) => Ok(members.into_iter().collect()),
                    other => Err(other),
                }
            }

            fn absent() -> Option<Self> {
                Some(Self::new())
            }

            fn is_absent(&self) -> bool {
                self.is_empty()
            }
        }

        impl Contains for BTreeSet<$element> {
            type Element = $element;
        })*
    };
}

sets! {
    String: Ss;
    Number: Ns;
    Vec<u8>: Bs;
}

impl Ordered for String {}
impl Ordered for Number {}
impl Ordered for i64 {}
impl Ordered for Vec<u8> {}
impl Text for String {}

impl Contains for String {
    type Element = String;
}

impl Contains for Vec<AttributeValue> {
    type Element = AttributeValue;
}
