//! Sizes as DynamoDB counts them, for the limit on items and for consumed capacity.

use crate::codec::{Container, Visitor};
use crate::{AttributeValue, Map, Number};

/// The most bytes that an item may have.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;

/// What a map or list costs before its elements.
const CONTAINER: usize = 3;
/// The size of an element of a map or list besides its own.
const ELEMENT: usize = 1;

/// The size of an item: its attributes' names and values.
#[must_use]
pub fn of_item(item: &Map) -> usize {
    item.iter()
        .map(|(name, value)| name.len() + of_value(value))
        .sum()
}

/// No item is larger than so many times its stored form. An element of a list may take one byte there, and
/// count as two here.
pub const PER_STORED_BYTE_MAX: usize = 4;

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

/// Adds up the size of an item without decoding its values.
#[derive(Debug, Default)]
pub(crate) struct SizeCounter {
    total: usize,
}

impl SizeCounter {
    pub(crate) fn total(&self) -> usize {
        self.total
    }
}

impl Visitor for SizeCounter {
    fn null(&mut self) {
        self.total += 1;
    }

    fn truth(&mut self, _truth: bool) {
        self.total += 1;
    }

    fn text(&mut self, text: &str) {
        self.total += text.len();
    }

    fn number(&mut self, number: &Number) {
        self.total += of_number(number);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
    }

    fn begin(&mut self, container: Container, count: usize) {
        if matches!(container, Container::Map | Container::List) {
            self.total += CONTAINER + count * ELEMENT;
        }
    }

    fn name(&mut self, name: &str) {
        self.total += name.len();
    }

    fn end(&mut self, _container: Container) {}
}
