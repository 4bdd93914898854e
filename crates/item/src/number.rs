//! DynamoDB's number: up to 38 significant digits, magnitudes from 1E-130 to 9.99…E+125, exact.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

mod arithmetic;
mod parse;
mod text;

pub(crate) use text::Text;

/// The most significant digits a number may have.
pub(crate) const DIGITS_MAX: u32 = 38;
/// The highest power of ten of a first digit.
const MAGNITUDE_MAX: i32 = 125;
/// The lowest power of ten of a first digit.
const MAGNITUDE_MIN: i32 = -130;

/// A decimal number, kept normalised: equal numbers have equal fields, and `Eq` and `Hash` may be derived.
///
/// The value is `±coefficient × 10^exponent`. A coefficient other than zero ends in a digit other than zero;
/// zero is positive and has exponent zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    // Two halves rather than one `u128`: a `u128` is aligned to 16 bytes and would make every attribute value
    // half as large again.
    high: u64,
    low: u64,
    exponent: i16,
    negative: bool,
}

/// Why a number cannot exist. The texts are DynamoDB's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is empty.
    #[error("The parameter cannot be converted to a numeric value")]
    Empty,
    /// The text is not a number.
    #[error("The parameter cannot be converted to a numeric value: {0}")]
    Malformed(String),
    /// More than 38 significant digits.
    #[error("Attempting to store more than 38 significant digits in a Number")]
    TooPrecise,
    /// A magnitude above 9.99…E+125.
    #[error("Number overflow. Attempting to store a number with magnitude larger than supported range")]
    Overflow,
    /// A magnitude below 1E-130.
    #[error("Number underflow. Attempting to store a number with magnitude smaller than supported range")]
    Underflow,
}

impl Number {
    /// Zero.
    pub const ZERO: Self = Self {
        high: 0,
        low: 0,
        exponent: 0,
        negative: false,
    };

    /// Reads a decimal number, with or without an exponent.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        parse::parse(text)
    }

    /// Whether this is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.coefficient() == 0
    }

    /// Whether this is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The number as an integer, if it is one and fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        let power = POWERS_OF_TEN.get(usize::try_from(self.exponent).ok()?)?;
        let magnitude = i128::try_from(self.coefficient().checked_mul(*power)?).ok()?;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The nearest floating-point number.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        // The standard library rounds correctly; arithmetic on powers of ten would not.
        Text::of(self).as_str().parse().unwrap_or_default()
    }

    pub(crate) fn coefficient(&self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }

    pub(crate) fn exponent(&self) -> i16 {
        self.exponent
    }

    /// How many digits the coefficient has; zero for zero.
    pub(crate) fn digits(&self) -> u32 {
        digits(self.coefficient())
    }

    /// The power of ten of the first digit; meaningless for zero.
    pub(crate) fn magnitude(&self) -> i32 {
        i32::from(self.exponent) + self.digits() as i32 - 1
    }

    /// Normalises and checks the bounds.
    pub(crate) fn build(negative: bool, coefficient: u128, exponent: i32) -> Result<Self, NumberError> {
        let (coefficient, dropped) = without_trailing_zeros(coefficient);
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        let exponent = exponent.saturating_add(dropped);
        let digits = digits(coefficient);
        let magnitude = exponent.saturating_add(digits as i32 - 1);
        if magnitude > MAGNITUDE_MAX {
            return Err(NumberError::Overflow);
        }
        if magnitude < MAGNITUDE_MIN {
            return Err(NumberError::Underflow);
        }
        if digits > DIGITS_MAX {
            return Err(NumberError::TooPrecise);
        }
        Ok(Self::from_parts(negative, coefficient, exponent as i16))
    }

    /// A number from parts that claim to be normal; `None` if they are not.
    pub(crate) fn from_normal_parts(negative: bool, coefficient: u128, exponent: i16) -> Option<Self> {
        let number = Self::from_parts(negative, coefficient, exponent);
        let built = Self::build(negative, coefficient, i32::from(exponent)).ok()?;
        (built == number).then_some(number)
    }

    /// The parts must be normalised and within bounds.
    fn from_parts(negative: bool, coefficient: u128, exponent: i16) -> Self {
        Self {
            high: (coefficient >> 64) as u64,
            low: coefficient as u64,
            exponent,
            negative,
        }
    }

    fn from_integer(negative: bool, magnitude: u64) -> Self {
        let (coefficient, exponent) = without_trailing_zeros_64(magnitude);
        // At most 20 digits and an exponent of at most 19: always within bounds.
        Self {
            high: 0,
            low: coefficient,
            exponent: exponent as i16,
            negative: negative && coefficient != 0,
        }
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        if self.exponent == other.exponent {
            return self.coefficient().cmp(&other.coefficient());
        }
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self
                .magnitude()
                .cmp(&other.magnitude())
                .then_with(|| self.left_aligned().cmp(&other.left_aligned())),
        }
    }

    /// The coefficient with zeros added on the right until it has 38 digits.
    pub(crate) fn left_aligned(&self) -> u128 {
        let missing = DIGITS_MAX.saturating_sub(self.digits()) as usize;
        self.coefficient()
            .saturating_mul(POWERS_OF_TEN.get(missing).copied().unwrap_or(1))
    }
}

/// 10^0 to 10^38: all that fit in a `u128`.
pub(crate) const POWERS_OF_TEN: [u128; 39] = {
    let mut powers = [1u128; 39];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

fn digits(coefficient: u128) -> u32 {
    match u64::try_from(coefficient) {
        Ok(0) => 0,
        Ok(small) => small.ilog10() + 1,
        Err(_) => coefficient.ilog10() + 1,
    }
}

fn without_trailing_zeros(mut coefficient: u128) -> (u128, i32) {
    let mut dropped = 0;
    // 128-bit division is slow: leave it as soon as the rest fits in 64 bits.
    while coefficient > u128::from(u64::MAX) {
        if !coefficient.is_multiple_of(10) {
            return (coefficient, dropped);
        }
        coefficient /= 10;
        dropped += 1;
    }
    let (small, more) = without_trailing_zeros_64(coefficient as u64);
    (u128::from(small), dropped + more)
}

fn without_trailing_zeros_64(mut coefficient: u64) -> (u64, i32) {
    let mut dropped = 0;
    while coefficient != 0 && coefficient.is_multiple_of(10) {
        coefficient /= 10;
        dropped += 1;
    }
    (coefficient, dropped)
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for Number {
    fn default() -> Self {
        Self::ZERO
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        Self::parse(text)
    }
}

/// The plain decimal form DynamoDB answers with: never an exponent, no needless zero.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Text::of(self).as_str())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self::from_integer(integer < 0, integer.unsigned_abs())
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Self {
        Self::from_integer(false, integer)
    }
}
