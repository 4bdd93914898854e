//! Numbers compared by value, whatever their notation, and ranges of them.

use serde_json::Number;
use std::cmp::Ordering;

/// Whole numbers up to here keep every digit in 128 bits.
const WHOLE_MAX: f64 = 1e36;

/// The order of two numbers of JSON by their value.
pub(crate) fn order(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        // A number with a fraction is less than 2^53 and exact; rounding the other one does not change their
        // order.
        _ => {
            let value = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            value(one).total_cmp(&value(other))
        }
    }
}

fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i64() {
        return Some(i128::from(number));
    }
    if let Some(number) = number.as_u64() {
        return Some(i128::from(number));
    }
    let number = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    (number.fract() == 0.0 && number.abs() <= WHOLE_MAX).then_some(number as i128)
}

/// Numbers between bounds, each of which may be missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: Option<Bound>,
    pub(crate) high: Option<Bound>,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) at: Number,
    pub(crate) included: bool,
}

impl Range {
    pub(crate) fn contains(&self, number: &Number) -> bool {
        let above = self
            .low
            .as_ref()
            .is_none_or(|low| low.allows(order(number, &low.at), Ordering::Greater));
        let below = self
            .high
            .as_ref()
            .is_none_or(|high| high.allows(order(number, &high.at), Ordering::Less));
        above && below
    }

    /// Whether no number can be inside.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => match order(&low.at, &high.at) {
                Ordering::Less => false,
                Ordering::Equal => !(low.included && high.included),
                Ordering::Greater => true,
            },
            _ => false,
        }
    }
}

impl Bound {
    fn allows(&self, found: Ordering, inside: Ordering) -> bool {
        found == inside || (self.included && found == Ordering::Equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(one: &str, other: &str) -> Ordering {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();
        order(&number(one), &number(other))
    }

    #[test]
    fn the_way_a_number_is_written_does_not_count() {
        for other in ["300", "300.0", "3e2", "3.0E+2"] {
            assert_eq!(compared("300", other), Ordering::Equal, "{other}");
        }
        assert_eq!(compared("0", "-0.0"), Ordering::Equal);
    }

    #[test]
    fn large_whole_numbers_keep_their_last_digit() {
        assert_eq!(
            compared("9007199254740993", "9007199254740992"),
            Ordering::Greater
        );
        assert_eq!(
            compared("18446744073709551615", "1.8446744073709552e19"),
            Ordering::Less
        );
        assert_eq!(compared("-1", "18446744073709551615"), Ordering::Less);
        assert_eq!(compared("1e300", "18446744073709551615"), Ordering::Greater);
        assert_eq!(compared("0.5", "1"), Ordering::Less);
        assert_eq!(compared("9007199254740993", "0.1"), Ordering::Greater);
    }
}
