//! The stretch of sort keys an operation selects.

use std::cmp::Ordering;

use trestle_expr::KeyOp;
use trestle_item::AttributeValue;

use crate::check::order;

/// An end of a stretch.
#[derive(Clone, Debug)]
enum End {
    Open,
    Included(AttributeValue),
    Excluded(AttributeValue),
}

/// Sort keys from one end to the other.
#[derive(Clone, Debug)]
pub(super) struct Range {
    low: End,
    high: End,
}

impl Range {
    /// What `op` selects; everything if there is none.
    pub(super) fn of(op: Option<&KeyOp>) -> Self {
        let included = |value: &AttributeValue| End::Included(value.clone());
        let excluded = |value: &AttributeValue| End::Excluded(value.clone());
        let (low, high) = match op {
            None => (End::Open, End::Open),
            Some(KeyOp::Eq(value)) => (included(value), included(value)),
            Some(KeyOp::Lt(value)) => (End::Open, excluded(value)),
            Some(KeyOp::Le(value)) => (End::Open, included(value)),
            Some(KeyOp::Gt(value)) => (excluded(value), End::Open),
            Some(KeyOp::Ge(value)) => (included(value), End::Open),
            Some(KeyOp::Between(low, high)) => (included(low), included(high)),
            Some(KeyOp::BeginsWith(prefix)) => (included(prefix), after_prefix(prefix)),
        };
        Self { low, high }
    }

    /// Whether some key could be in both. Values of different types are taken to meet.
    pub(super) fn intersects(&self, other: &Self) -> bool {
        !ends_before(&self.high, &other.low) && !ends_before(&other.high, &self.low)
    }

    /// By the lower end.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (&self.low, &other.low) {
            (End::Open, End::Open) => Ordering::Equal,
            (End::Open, _) => Ordering::Less,
            (_, End::Open) => Ordering::Greater,
            (End::Included(a) | End::Excluded(a), End::Included(b) | End::Excluded(b)) => {
                order(a, b).unwrap_or(Ordering::Equal)
            }
        }
    }
}

/// Whether a stretch that ends at `high` lies wholly before one that begins at `low`.
fn ends_before(high: &End, low: &End) -> bool {
    let (high, low, shared) = match (high, low) {
        (End::Open, _) | (_, End::Open) => return false,
        (End::Included(high), End::Included(low)) => (high, low, true),
        (End::Included(high) | End::Excluded(high), End::Included(low) | End::Excluded(low)) => {
            (high, low, false)
        }
    };
    match order(high, low) {
        Some(Ordering::Less) => true,
        Some(Ordering::Equal) => !shared,
        _ => false,
    }
}

/// The first key that no longer begins with `prefix`.
fn after_prefix(prefix: &AttributeValue) -> End {
    match prefix {
        AttributeValue::S(text) => {
            let mut text = text.clone();
            while let Some(last) = text.pop() {
                if let Some(next) = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32) {
                    text.push(next);
                    return End::Excluded(AttributeValue::S(text));
                }
            }
            End::Open
        }
        AttributeValue::B(bytes) => {
            let mut bytes = bytes.clone();
            while let Some(last) = bytes.pop() {
                if let Some(next) = last.checked_add(1) {
                    bytes.push(next);
                    return End::Excluded(AttributeValue::B(bytes));
                }
            }
            End::Open
        }
        other => End::Included(other.clone()),
    }
}
