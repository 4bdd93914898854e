//! Sizes as DynamoDB counts them, for the limit on items and for consumed capacity.

use crate::{AttributeValue, Map, Number};

/// What a map or list costs before its elements.
const CONTAINER: usize = 3;
/// What each element of a map or list costs beside itself.
const ELEMENT: usize = 1;

/// The size of an item: its attributes' names and values.
#[must_use]
pub fn of_item(item: &Map) -> usize {
    item.iter()
        .map(|(name, value)| name.len() + of_value(value))
        .sum()
}

/// The size of one value.
#[must_use]
pub fn of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => of_number(number),
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::Bool(_) | AttributeValue::Null => 1,
        AttributeValue::M(map) => CONTAINER + map.len() * ELEMENT + of_item(map),
        AttributeValue::L(list) => {
            CONTAINER
                + list
                    .iter()
                    .map(|element| ELEMENT + of_value(element))
                    .sum::<usize>()
        }
        AttributeValue::Ss(set) => set.iter().map(String::len).sum(),
        AttributeValue::Ns(set) => set.iter().map(of_number).sum(),
        AttributeValue::Bs(set) => set.iter().map(Vec::len).sum(),
    }
}

/// One byte, one more below zero, and one for each pair of digits. Pairs are counted from the decimal point in
/// both directions, without the zeros at either end.
fn of_number(number: &Number) -> usize {
    if number.is_zero() {
        return 1;
    }
    let first_pair = number.magnitude().div_euclid(2);
    let last_pair = i32::from(number.exponent()).div_euclid(2);
    let pairs = (first_pair - last_pair).unsigned_abs() as usize + 1;
    1 + pairs + usize::from(number.is_negative())
}
