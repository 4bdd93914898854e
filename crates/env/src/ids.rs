//! Unique identifiers, not secret: do not use them as keys or tokens.

/// The digits of DynamoDB's request ids, in base 32.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// The length of DynamoDB's request ids.
const REQUEST_ID_LEN: usize = 52;

/// How many digits one random number gives: each takes five bits.
const PER_NUMBER: usize = 12;

/// A request id in DynamoDB's form: 52 digits in base 32.
pub fn request_id() -> String {
    let mut id = [0; REQUEST_ID_LEN];
    for digits in id.chunks_mut(PER_NUMBER) {
        let mut number = fastrand::u64(..);
        for digit in digits {
            *digit = DIGITS[(number % 32) as usize];
            number /= 32;
        }
    }
    String::from_utf8_lossy(&id).into_owned()
}

/// A random version 4 UUID in the usual 8-4-4-4-12 form.
pub fn uuid() -> String {
    let bits = fastrand::u128(..);
    // The version goes into the top four bits of the seventh byte, the variant into the top two of the ninth.
    let bits = bits & !(0xf << 76) | (0x4 << 76);
    let bits = bits & !(0x3 << 62) | (0x2 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        (bits >> 96) as u32,
        (bits >> 80) as u16,
        (bits >> 64) as u16,
        (bits >> 48) as u16,
        bits & 0xffff_ffff_ffff
    )
}

/// A random number.
pub fn random_u64() -> u64 {
    fastrand::u64(..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn request_ids_are_52_digits_to_the_base_32() {
        let id = request_id();
        assert_eq!(id.len(), 52);
        assert!(id.bytes().all(|byte| DIGITS.contains(&byte)), "{id}");
    }

    #[test]
    fn uuids_have_their_form_and_version() {
        for _ in 0..1000 {
            let id = uuid();
            let lengths: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12]);
            assert_eq!(&id[14..15], "4", "{id}");
            assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
        }
    }

    #[test]
    fn ids_do_not_repeat() {
        let seen: HashSet<String> = (0..10_000).flat_map(|_| [uuid(), request_id()]).collect();
        assert_eq!(seen.len(), 20_000);
    }
}
