//! A part of a partition by its sort keys, and where it can be divided.

use serde::{Deserialize, Serialize};
use trestle_item::{AttributeValue, Number};

/// A part of a partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SortRange {
    /// Only rows after this sort key; by default from the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) above: Option<AttributeValue>,
    /// Only rows up to and including this sort key; by default to the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) up_to: Option<AttributeValue>,
    /// How often the partition was divided to get this part.
    pub(crate) cuts: u32,
}

impl SortRange {
    /// Whether it is the whole partition.
    pub(crate) fn is_whole(&self) -> bool {
        self.above.is_none() && self.up_to.is_none()
    }

    /// The parts before and after a sort key, which belongs to the first.
    pub(crate) fn cut(&self, at: &AttributeValue) -> (Self, Self) {
        let (mut first, mut second) = (self.clone(), self.clone());
        first.up_to = Some(at.clone());
        second.above = Some(at.clone());
        for part in [&mut first, &mut second] {
            part.cuts += 1;
        }
        (first, second)
    }
}

/// The longest sort key, in bytes.
const KEY_BYTES_MAX: usize = 1024;

/// A sort key near the middle: not below the first, and below the second. `None` where there is none, or none
/// is found.
pub(crate) fn between(low: &AttributeValue, high: &AttributeValue) -> Option<AttributeValue> {
    match (low, high) {
        (AttributeValue::S(low), AttributeValue::S(high)) if low < high => {
            let (low, high): (Vec<char>, Vec<char>) = (low.chars().collect(), high.chars().collect());
            let middle = middle(&low, &high, char::MAX, &char_between)?;
            let middle: String = middle.into_iter().collect();
            (middle.len() <= KEY_BYTES_MAX).then_some(AttributeValue::S(middle))
        }
        (AttributeValue::B(low), AttributeValue::B(high)) if low < high => {
            let middle = middle(low, high, u8::MAX, &byte_between)?;
            (middle.len() <= KEY_BYTES_MAX).then_some(AttributeValue::B(middle))
        }
        (AttributeValue::N(low), AttributeValue::N(high)) => number_between(low, high).map(AttributeValue::N),
        _ => None,
    }
}

/// A letter between two others, where `None` sorts before all letters; `None` if they are neighbours.
type LetterBetween<'l, L> = &'l dyn Fn(Option<L>, L) -> Option<L>;

/// A word between two others in lexicographic order.
fn middle<L: Copy + PartialEq>(
    low: &[L],
    high: &[L],
    last: L,
    letter_between: LetterBetween<'_, L>,
) -> Option<Vec<L>> {
    let common = low.iter().zip(high).take_while(|(low, high)| low == high).count();
    let (first, next) = (low.get(common).copied(), *high.get(common)?);
    let mut word = high.get(..common)?.to_vec();
    if let Some(letter) = letter_between(first, next) {
        word.push(letter);
        return Some(word);
    }
    if high.len() > common + 1 {
        // The beginning of the second word sorts before it, and after all words that begin with the previous
        // letter.
        word.push(next);
        return Some(word);
    }
    word.push(first?);
    word.push(letter_between(low.get(common + 1).copied(), last)?);
    Some(word)
}

fn char_between(low: Option<char>, high: char) -> Option<char> {
    let (low, high) = (
        low.map_or(-1, |low| i64::from(u32::from(low))),
        i64::from(u32::from(high)),
    );
    let middle = u32::try_from((low + high) / 2).ok()?;
    // Code points from 0xd7ff to 0xe000 exclusive are not characters.
    let middle = char::from_u32(middle).unwrap_or('\u{d7ff}');
    let number = i64::from(u32::from(middle));
    (low < number && number < high).then_some(middle)
}

fn byte_between(low: Option<u8>, high: u8) -> Option<u8> {
    let (low, high) = (low.map_or(-1, i32::from), i32::from(high));
    let middle = (low + high) / 2;
    match low < middle && middle < high {
        true => u8::try_from(middle).ok(),
        false => None,
    }
}

fn number_between(low: &Number, high: &Number) -> Option<Number> {
    let middle = match (low.to_i64(), high.to_i64()) {
        (Some(low), Some(high)) => {
            Number::parse(&(i128::midpoint(low.into(), high.into())).to_string()).ok()?
        }
        _ => Number::parse(&format!("{:e}", f64::midpoint(low.to_f64(), high.to_f64()))).ok()?,
    };
    (*low <= middle && middle < *high).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> AttributeValue {
        AttributeValue::from(text)
    }

    #[test]
    fn keys_that_people_use_are_cut_near_the_middle() {
        for (low, high, expected) in [
            ("00000061", "00000399", "000001"),
            ("page#1", "page#9", "page#5"),
            ("2024-01-01", "2026-11-16", "2025"),
            ("a", "b7", "b"),
            ("item", "item#900", "item\u{11}"),
        ] {
            assert_eq!(
                between(&text(low), &text(high)),
                Some(text(expected)),
                "{low} {high}"
            );
        }
        let number = |number: i64| AttributeValue::from(number);
        assert_eq!(between(&number(-4), &number(10)), Some(number(3)));
        assert_eq!(between(&number(7), &number(8)), Some(number(7)));
        assert_eq!(between(&number(7), &number(7)), None);
        assert_eq!(between(&text("a"), &text("a")), None);
        assert_eq!(between(&text("a"), &text("a\0")), None);
        assert_eq!(between(&text("b"), &text("a1")), None);
    }

    proptest! {
        #[test]
        fn a_middle_is_not_below_the_first_and_below_the_second(one in ".{0,4}", other in ".{0,4}") {
            let (low, high) = if one < other { (one, other) } else { (other, one) };
            if let Some(AttributeValue::S(middle)) = between(&text(&low), &text(&high)) {
                prop_assert!(low <= middle && middle < high, "{low:?} {middle:?} {high:?}");
            }
        }

        #[test]
        fn the_same_of_bytes(one in proptest::collection::vec(any::<u8>(), 0..4), other in proptest::collection::vec(any::<u8>(), 0..4)) {
            let (low, high) = if one < other { (one, other) } else { (other, one) };
            let found = between(&AttributeValue::B(low.clone()), &AttributeValue::B(high.clone()));
            if let Some(AttributeValue::B(middle)) = found {
                prop_assert!(low <= middle && middle < high, "{low:?} {middle:?} {high:?}");
            }
        }
    }
}
