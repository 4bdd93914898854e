//! Bytes as base64, and DynamoDB's errors for other texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Why text is not base64. The texts are DynamoDB's, slips included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Base64Error {
    /// Not whole groups of four.
    #[error("Base64 encoded length is expected a multiple of 4 bytes but found: {0}")]
    Length(usize),
    /// A character that base64 does not have.
    #[error("Invalid base 64 character: '{0}'")]
    Character(char),
    /// Padding in the middle, or bits in the last character that no byte has.
    #[error("Invalid last non-pad Base64 character dectected")]
    Ending,
}

/// Reads base64.
pub fn from_base64(text: &str) -> Result<Vec<u8>, Base64Error> {
    STANDARD.decode(text).map_err(|_| diagnose(text))
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn diagnose(text: &str) -> Base64Error {
    if !text.len().is_multiple_of(4) {
        return Base64Error::Length(text.len());
    }
    let foreign = text
        .chars()
        .find(|c| !matches!(c, 'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '='));
    foreign.map_or(Base64Error::Ending, Base64Error::Character)
}
