//! The keyed hashes: a secret and a scope make a signing key, that and a text make a signature.

use crate::Scope;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The signature of `text` as lower-case hexadecimal digits.
pub fn signature(secret: &str, scope: &Scope, text: &str) -> String {
    hex(&keyed_hash(&signing_key(secret, scope), text.as_bytes()))
}

/// The signing key of a secret for a scope: the same all day.
pub(crate) fn signing_key(secret: &str, scope: &Scope) -> Vec<u8> {
    let key = keyed_hash(format!("AWS4{secret}").as_bytes(), scope.date.as_bytes());
    let key = keyed_hash(&key, scope.region.as_bytes());
    let key = keyed_hash(&key, scope.service.as_bytes());
    keyed_hash(&key, scope.terminator.as_bytes())
}

/// Compares in a time that does not depend on how much of the guess is right.
pub fn equal_in_constant_time(expected: &str, given: &str) -> bool {
    expected.as_bytes().ct_eq(given.as_bytes()).into()
}

/// SHA-256 as lower-case hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// HMAC-SHA-256.
pub fn keyed_hash(key: &[u8], message: &[u8]) -> Vec<u8> {
    // HMAC accepts keys of every length; if that ever changed, an empty signature would match nothing.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 0xf)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)])
        .collect()
}
