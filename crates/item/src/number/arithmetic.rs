//! Exact addition and subtraction.

use super::{Number, NumberError, POWERS_OF_TEN};

impl Number {
    /// The exact sum, or why it cannot be stored.
    pub fn checked_add(&self, other: &Self) -> Result<Self, NumberError> {
        if other.is_zero() {
            return Ok(*self);
        }
        if self.is_zero() {
            return Ok(*other);
        }
        let (upper, lower) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        sum(upper, lower)
    }

    /// The exact difference, or why it cannot be stored.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, NumberError> {
        self.checked_add(&other.negated())
    }

    /// The number as an element of the field of this many elements, which must be a prime other than 2 and 5 below 2^63:
    /// sums of numbers have the sums of their residues, also where a sum itself would be too precise to be stored.
    #[must_use]
    pub fn residue(&self, prime: u64) -> u64 {
        let modulus = u128::from(prime);
        // By Fermat's little theorem, this power of ten divides by ten.
        let power = match self.exponent {
            0 => 1,
            up @ 1.. => power_of_ten(up.unsigned_abs().into(), modulus),
            down => power_of_ten(
                u128::from(down.unsigned_abs()) * (modulus - 2) % (modulus - 1),
                modulus,
            ),
        };
        let magnitude = self.coefficient() % modulus * power % modulus;
        let residue = if self.negative && magnitude != 0 {
            modulus - magnitude
        } else {
            magnitude
        };
        residue as u64
    }

    fn negated(&self) -> Self {
        Self {
            negative: !self.negative && !self.is_zero(),
            ..*self
        }
    }
}

fn power_of_ten(mut exponent: u128, modulus: u128) -> u128 {
    let (mut power, mut square) = (1, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    power
}

/// Neither is zero; `upper` has the larger exponent.
fn sum(upper: &Number, lower: &Number) -> Result<Number, NumberError> {
    // Below, running out of 128 bits means "too precise". That is right although the intermediate value is
    // not the result: when the exponents differ, the last digit of `lower` is the last digit of the result and
    // not zero, so nothing can be dropped; and 2^128 is so far above 10^38 that subtracting a coefficient leaves 39
    // digits. When they are equal, nothing is scaled and nothing can run out.
    let apart = (i32::from(upper.exponent) - i32::from(lower.exponent)) as usize;
    let scale = POWERS_OF_TEN.get(apart).ok_or(NumberError::TooPrecise)?;
    let upper_scaled = upper
        .coefficient()
        .checked_mul(*scale)
        .ok_or(NumberError::TooPrecise)?;
    let lower_coefficient = lower.coefficient();
    let exponent = i32::from(lower.exponent);
    if upper.negative == lower.negative {
        let sum = upper_scaled
            .checked_add(lower_coefficient)
            .ok_or(NumberError::TooPrecise)?;
        Number::build(upper.negative, sum, exponent)
    } else if upper_scaled >= lower_coefficient {
        Number::build(upper.negative, upper_scaled - lower_coefficient, exponent)
    } else {
        Number::build(lower.negative, lower_coefficient - upper_scaled, exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_sums_of_their_residues() {
        const PRIME: u64 = (1 << 61) - 1;
        let number = |text: &str| text.parse::<Number>().unwrap();
        let sum = |one: u64, two: u64| (u128::from(one) + u128::from(two)) % u128::from(PRIME);
        for (one, two) in [
            ("1", "2"),
            ("19.99", "-0.01"),
            ("-5", "3"),
            ("1e20", "2.5e-3"),
            ("7", "-7"),
            ("0", "-1e125"),
        ] {
            let (one, two) = (number(one), number(two));
            let both = one.checked_add(&two).unwrap();
            let residues = sum(one.residue(PRIME), two.residue(PRIME));
            assert_eq!(u128::from(both.residue(PRIME)), residues, "{one} + {two}");
        }
        assert_eq!(number("123").residue(PRIME), 123);
        assert_eq!(number("0.1").residue(PRIME) as u128 * 10 % u128::from(PRIME), 1);
    }
}
