//! Reading numbers.

use super::{DIGITS_MAX, MAGNITUDE_MAX, MAGNITUDE_MIN, Number, NumberError, POWERS_OF_TEN};

/// Up to this many digits fit in a `u64`, whatever they are.
const INTEGER_DIGITS_FAST: usize = 19;

pub(super) fn parse(text: &str) -> Result<Number, NumberError> {
    if let Some(number) = short_integer(text.as_bytes()) {
        return Ok(number);
    }
    if text.is_empty() {
        return Err(NumberError::Empty);
    }
    scan(text.as_bytes())
        .ok_or_else(|| NumberError::Malformed(text.to_owned()))?
        .number()
}

/// The usual number, in one loop over machine words.
fn short_integer(text: &[u8]) -> Option<Number> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > INTEGER_DIGITS_FAST {
        return None;
    }
    let mut value = 0u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(Number::from_integer(negative, value))
}

/// What is known about a number after its text has been read.
#[derive(Default)]
struct Scan {
    negative: bool,
    /// The digits from the first to the last that is not zero, at most 38 of them.
    coefficient: u128,
    /// How many digits that is, even beyond 38.
    significant: usize,
    /// Digits before the point, zeros included.
    integer: i64,
    /// The position of the last digit that is not zero, counted from the first digit.
    last: i64,
    /// All digits.
    total: i64,
    exponent: i64,
}

fn scan(text: &[u8]) -> Option<Scan> {
    let mut scan = Scan::default();
    let (negative, mut rest) = sign(text);
    scan.negative = negative;
    rest = scan.digits(rest);
    scan.integer = scan.total;
    if let [b'.', fraction @ ..] = rest {
        rest = scan.digits(fraction);
    }
    if scan.total == 0 {
        return None;
    }
    match rest {
        [] => Some(scan),
        [b'e' | b'E', rest @ ..] => {
            scan.exponent = exponent(rest)?;
            Some(scan)
        }
        _ => None,
    }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// `None` where the exponent has no digits, another character or more than 64 bits: AWS does not accept that
/// as a number.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    Some(if negative { -value } else { value })
}

impl Scan {
    /// Takes the digits at the head of `text` and returns the rest.
    fn digits<'a>(&mut self, mut text: &'a [u8]) -> &'a [u8] {
        while let [digit @ b'0'..=b'9', rest @ ..] = text {
            self.total += 1;
            if *digit != b'0' {
                self.nonzero(digit - b'0');
            }
            text = rest;
        }
        text
    }

    fn nonzero(&mut self, digit: u8) {
        // The zeros since the last such digit have become significant, unless they are leading ones.
        let step = if self.significant == 0 {
            1
        } else {
            (self.total - self.last) as usize
        };
        self.last = self.total;
        self.significant = self.significant.saturating_add(step);
        if self.significant <= DIGITS_MAX as usize {
            // No overflow: the result has at most 38 digits.
            let shift = POWERS_OF_TEN.get(step).copied().unwrap_or(1);
            self.coefficient = self.coefficient * shift + u128::from(digit);
        }
    }

    fn number(self) -> Result<Number, NumberError> {
        let is_zero = self.significant == 0;
        // The exponent of a zero is checked as it is written.
        let (exponent, magnitude) = if is_zero {
            (0, self.exponent)
        } else {
            let exponent = self.exponent.saturating_add(self.integer - self.last);
            (exponent, exponent.saturating_add(self.significant as i64 - 1))
        };
        if magnitude > i64::from(MAGNITUDE_MAX) {
            return Err(NumberError::Overflow);
        }
        if magnitude < i64::from(MAGNITUDE_MIN) {
            return Err(NumberError::Underflow);
        }
        if is_zero {
            return Ok(Number::ZERO);
        }
        if self.significant > DIGITS_MAX as usize {
            return Err(NumberError::TooPrecise);
        }
        Ok(Number::from_parts(
            self.negative,
            self.coefficient,
            exponent as i16,
        ))
    }
}
