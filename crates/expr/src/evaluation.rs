//! Evaluates conditions on items.

use std::borrow::Cow;
use std::cmp::Ordering;

use trestle_item::{AttributeValue, Map, Number};

use crate::{AttributeType, Comparator, Condition, Operand};

impl Condition {
    /// Whether the condition holds for `item`, which is empty if it does not exist.
    ///
    /// A missing value equals nothing and has no order, so only `<>` and negations hold for it.
    #[must_use]
    pub fn holds(&self, item: &Map) -> bool {
        match self {
            Self::Or(any) => any.iter().any(|one| one.holds(item)),
            Self::And(all) => all.iter().all(|one| one.holds(item)),
            Self::Not(negated) => !negated.holds(item),
            Self::Compare {
                left,
                comparator,
                right,
            } => compare(
                left.evaluate(item).as_deref(),
                *comparator,
                right.evaluate(item).as_deref(),
            ),
            Self::Between { operand, low, high } => within(item, operand, low, high),
            Self::In { operand, list } => operand.evaluate(item).is_some_and(|value| {
                list.iter()
                    .filter_map(|element| element.evaluate(item))
                    .any(|element| element == value)
            }),
            Self::Exists(path) => path.get(item).is_some(),
            Self::NotExists(path) => path.get(item).is_none(),
            Self::HasType {
                operand,
                attribute_type,
            } => operand
                .evaluate(item)
                .is_some_and(|value| AttributeType::of(&value) == *attribute_type),
            Self::BeginsWith { operand, prefix } => both(item, operand, prefix, begins_with),
            Self::Contains { operand, element } => both(item, operand, element, contains),
        }
    }
}

impl Operand {
    /// The operand's value for an item; `None` if it has none.
    fn evaluate<'a>(&'a self, item: &'a Map) -> Option<Cow<'a, AttributeValue>> {
        match self {
            Self::Path(path) => path.get(item).map(Cow::Borrowed),
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Size(measured) => {
                let size = size(&*measured.evaluate(item)?)?;
                Some(Cow::Owned(AttributeValue::N(Number::from(size as u64))))
            }
        }
    }
}

/// The order of two values of the same ordered type: text and bytes by their bytes, numbers by value.
pub(crate) fn order(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        (AttributeValue::S(left), AttributeValue::S(right)) => Some(left.cmp(right)),
        (AttributeValue::N(left), AttributeValue::N(right)) => Some(left.cmp(right)),
        (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn compare(left: Option<&AttributeValue>, comparator: Comparator, right: Option<&AttributeValue>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return comparator == Comparator::NotEqual;
    };
    match comparator {
        Comparator::Equal => left == right,
        Comparator::NotEqual => left != right,
        Comparator::Less => order(left, right).is_some_and(Ordering::is_lt),
        Comparator::LessOrEqual => order(left, right).is_some_and(Ordering::is_le),
        Comparator::Greater => order(left, right).is_some_and(Ordering::is_gt),
        Comparator::GreaterOrEqual => order(left, right).is_some_and(Ordering::is_ge),
    }
}

fn within(item: &Map, operand: &Operand, low: &Operand, high: &Operand) -> bool {
    let (Some(value), Some(low), Some(high)) =
        (operand.evaluate(item), low.evaluate(item), high.evaluate(item))
    else {
        return false;
    };
    order(&low, &value).is_some_and(Ordering::is_le) && order(&value, &high).is_some_and(Ordering::is_le)
}

fn both(
    item: &Map,
    left: &Operand,
    right: &Operand,
    test: fn(&AttributeValue, &AttributeValue) -> bool,
) -> bool {
    match (left.evaluate(item), right.evaluate(item)) {
        (Some(left), Some(right)) => test(&left, &right),
        _ => false,
    }
}

fn begins_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix.as_str()),
        (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),
        _ => false,
    }
}

fn contains(value: &AttributeValue, element: &AttributeValue) -> bool {
    match (value, element) {
        (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(part.as_str()),
        (AttributeValue::B(bytes), AttributeValue::B(part)) => {
            part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
        }
        (AttributeValue::L(list), element) => list.contains(element),
        (AttributeValue::Ss(set), AttributeValue::S(text)) => set.binary_search(text).is_ok(),
        (AttributeValue::Ns(set), AttributeValue::N(number)) => set.binary_search(number).is_ok(),
        (AttributeValue::Bs(set), AttributeValue::B(bytes)) => set.binary_search(bytes).is_ok(),
        _ => false,
    }
}

/// Text counts in UTF-16 units, because the service was written in Java; bytes in bytes; the rest in
/// elements.
fn size(value: &AttributeValue) -> Option<usize> {
    match value {
        AttributeValue::S(text) => Some(text.encode_utf16().count()),
        AttributeValue::B(bytes) => Some(bytes.len()),
        AttributeValue::M(map) => Some(map.len()),
        AttributeValue::L(list) => Some(list.len()),
        AttributeValue::Ss(set) => Some(set.len()),
        AttributeValue::Ns(set) => Some(set.len()),
        AttributeValue::Bs(set) => Some(set.len()),
        AttributeValue::N(_) | AttributeValue::Bool(_) | AttributeValue::Null => None,
    }
}
