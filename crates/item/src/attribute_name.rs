//! The names of attributes.

/// The most bytes that the name of an attribute may have. Names of key attributes are shorter still.
const BYTES_MAX: usize = 65_535;

/// The mistake in the name of an attribute, in DynamoDB's words.
#[must_use]
pub fn name_problem(name: &str) -> Option<&'static str> {
    match name.len() {
        1..=BYTES_MAX => None,
        0 => Some("Empty attribute name"),
        _ => Some("Attribute name is too large, must be less than 65536 bytes"),
    }
}
