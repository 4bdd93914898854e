//! Writing numbers.

use super::Number;

/// Sign, "0.", 129 zeros and 38 digits: the longest form there is.
const LENGTH_MAX: usize = 1 + 2 + 129 + 38;

/// A number's decimal form, on the stack: numbers are written on every answer.
pub(crate) struct Text {
    bytes: [u8; LENGTH_MAX],
    length: usize,
}

impl Text {
    pub(crate) fn of(number: &Number) -> Self {
        let mut text = Self {
            bytes: [b'0'; LENGTH_MAX],
            length: 0,
        };
        text.write(number);
        text
    }

    pub(crate) fn as_str(&self) -> &str {
        self.bytes
            .get(..self.length)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    fn write(&mut self, number: &Number) {
        if number.is_negative() {
            self.push(b"-");
        }
        let mut buffer = [0; 40];
        let digits = decimal(number.coefficient(), &mut buffer);
        // Digits before the point; negative when zeros follow the point.
        let point = digits.len() as i32 + i32::from(number.exponent());
        if point <= 0 {
            self.push(b"0.");
            self.zeros(point.unsigned_abs() as usize);
            self.push(digits);
        } else if let Some((integer, fraction)) = digits.split_at_checked(point as usize) {
            self.push(integer);
            if !fraction.is_empty() {
                self.push(b".");
                self.push(fraction);
            }
        } else {
            self.push(digits);
            self.zeros(point as usize - digits.len());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        // A number within bounds always fits.
        if let Some(place) = self.bytes.get_mut(self.length..self.length + bytes.len()) {
            place.copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }

    /// The buffer starts as zeros and is written once, from the left.
    fn zeros(&mut self, count: usize) {
        self.length = (self.length + count).min(LENGTH_MAX);
    }
}

/// The digits of `value`, at the end of `buffer`.
fn decimal(value: u128, buffer: &mut [u8; 40]) -> &[u8] {
    /// The largest power of ten below 2^64: the digits are made in chunks, as 128-bit division is slow.
    const CHUNK: u128 = 10_000_000_000_000_000_000;
    const CHUNK_DIGITS: usize = 19;
    let mut end = buffer.len();
    let mut rest = value;
    while rest >= CHUNK {
        let stop = end - CHUNK_DIGITS;
        let first = decimal_64((rest % CHUNK) as u64, buffer, end);
        buffer[stop..first].fill(b'0');
        end = stop;
        rest /= CHUNK;
    }
    let first = decimal_64(rest as u64, buffer, end);
    &buffer[first..]
}

/// Writes `value` before `end`; returns where it starts.
fn decimal_64(mut value: u64, buffer: &mut [u8; 40], end: usize) -> usize {
    let mut at = end;
    loop {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return at;
        }
    }
}
