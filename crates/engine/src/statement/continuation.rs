//! The token between two pages of a `SELECT`.
//!
//! The bytes, in hexadecimal: `fingerprint(8) stretch(4) key`. The fingerprint ties the token to its
//! statement, the stretch counts the finished partitions, and the key is that of the last row read in the
//! current one; it is empty if none was.

use std::fmt::Write;

use trestle_api::Error;
use trestle_item::{AttributeValue, Item, codec, key};

/// A position between two pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Continuation {
    /// How many stretches are finished.
    pub(super) stretch: usize,
    /// The key of the last row read in the next one.
    pub(super) last: Option<Item>,
}

/// Identifies a statement with its parameters.
pub(super) fn fingerprint(statement: &str, parameters: Option<&Vec<AttributeValue>>) -> u64 {
    let mut bytes = statement.as_bytes().to_vec();
    bytes.push(0);
    for parameter in parameters.into_iter().flatten() {
        let single = Item::from([("p", parameter.clone())]);
        codec::encode_into(&single, &mut bytes);
    }
    key::hash(&bytes)
}

impl Continuation {
    pub(super) fn token(&self, fingerprint: u64) -> String {
        let mut bytes = fingerprint.to_be_bytes().to_vec();
        bytes.extend_from_slice(&u32::try_from(self.stretch).unwrap_or(u32::MAX).to_be_bytes());
        if let Some(last) = &self.last {
            codec::encode_into(last, &mut bytes);
        }
        bytes
            .iter()
            .fold(String::with_capacity(bytes.len() * 2), |mut token, byte| {
                let _ = write!(token, "{byte:02x}"); // Writing to a string cannot fail.
                token
            })
    }

    /// Parses a token of the same statement.
    pub(super) fn read(token: &str, fingerprint: u64) -> Result<Self, Error> {
        let (given, place) = parse(token).ok_or_else(|| Error::validation("Invalid NextToken"))?;
        if given != fingerprint {
            return Err(Error::validation("NextToken does not match request"));
        }
        Ok(place)
    }
}

fn parse(token: &str) -> Option<(u64, Continuation)> {
    let bytes = (0..token.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(token.get(at..at + 2)?, 16).ok())
        .collect::<Option<Vec<u8>>>()?;
    let fingerprint = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    let stretch = u32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?);
    let last = match bytes.get(12..)? {
        [] => None,
        key => Some(codec::decode(key).ok()?),
    };
    Some((
        fingerprint,
        Continuation {
            stretch: usize::try_from(stretch).ok()?,
            last,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_place() {
        for last in [None, Some(Item::from([("pk", "a")]))] {
            let place = Continuation { stretch: 3, last };
            assert_eq!(Continuation::read(&place.token(7), 7).unwrap(), place);
        }
    }

    #[test]
    fn a_token_of_another_statement_or_no_token_at_all_is_refused() {
        let token = Continuation::default().token(7);
        assert_eq!(
            Continuation::read(&token, 8).unwrap_err().message(),
            "NextToken does not match request"
        );
        for nonsense in ["x", "0", "00", "é", &format!("{token}ff")] {
            assert_eq!(
                Continuation::read(nonsense, 7).unwrap_err().message(),
                "Invalid NextToken",
                "{nonsense}"
            );
        }
    }

    #[test]
    fn parameters_are_part_of_the_statement() {
        let of = |parameter: &str| fingerprint("s", Some(&vec![AttributeValue::from(parameter)]));
        assert_ne!(of("a"), of("b"));
        assert_ne!(of("a"), fingerprint("s", None));
    }
}
