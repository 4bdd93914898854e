//! Decimal arithmetic on an array with one cell for each power of ten.

use std::cmp::Ordering;

/// The first cell is for 10^-200.
const LOWEST: i32 = -200;
const CELLS: usize = 400;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    cells: Vec<u8>,
}

impl Decimal {
    /// Reads a sign, digits, an optional fraction and an optional exponent.
    pub(crate) fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('E').unwrap_or((text, "0"));
        let (negative, mantissa) = mantissa
            .strip_prefix('-')
            .map_or((false, mantissa), |rest| (true, rest));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let lowest = exponent.parse::<i32>().unwrap() - fraction.len() as i32;
        let mut cells = vec![0; CELLS];
        for (place, digit) in integer.chars().chain(fraction.chars()).rev().enumerate() {
            if digit != '0' {
                cells[(lowest - LOWEST) as usize + place] = digit as u8 - b'0';
            }
        }
        Self { negative, cells }.without_negative_zero()
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        if self.negative == other.negative {
            return Self {
                negative: self.negative,
                cells: add(&self.cells, &other.cells),
            };
        }
        let (larger, smaller) = if self.cmp_size(other).is_lt() {
            (other, self)
        } else {
            (self, other)
        };
        let cells = subtract(&larger.cells, &smaller.cells);
        Self {
            negative: larger.negative,
            cells,
        }
        .without_negative_zero()
    }

    pub(crate) fn negated(&self) -> Self {
        Self {
            negative: !self.negative,
            cells: self.cells.clone(),
        }
        .without_negative_zero()
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_size(other),
            (true, true) => other.cmp_size(self),
            (negative, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }

    /// The powers of ten of the first and the last digit that is not zero.
    pub(crate) fn span(&self) -> Option<(i32, i32)> {
        let first = self.cells.iter().rposition(|cell| *cell != 0)?;
        let last = self.cells.iter().position(|cell| *cell != 0)?;
        Some((first as i32 + LOWEST, last as i32 + LOWEST))
    }

    fn cmp_size(&self, other: &Self) -> Ordering {
        self.cells.iter().rev().cmp(other.cells.iter().rev())
    }

    fn without_negative_zero(self) -> Self {
        let zero = self.cells.iter().all(|cell| *cell == 0);
        Self {
            negative: self.negative && !zero,
            ..self
        }
    }
}

fn add(one: &[u8], two: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    one.iter()
        .zip(two)
        .map(|(a, b)| {
            let sum = a + b + carry;
            carry = sum / 10;
            sum % 10
        })
        .collect()
}

fn subtract(larger: &[u8], smaller: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    larger
        .iter()
        .zip(smaller)
        .map(|(a, b)| {
            let lacking = *a < b + borrow;
            let difference = a + if lacking { 10 } else { 0 } - b - borrow;
            borrow = u8::from(lacking);
            difference
        })
        .collect()
}
