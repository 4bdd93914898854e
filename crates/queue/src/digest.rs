//! The MD5 sums with which SDKs check that a message arrived intact.

use md5::{Digest, Md5};

use crate::message::{MessageAttribute, MessageAttributes};

/// The sum of a body.
#[must_use]
pub fn of_body(body: &str) -> String {
    hex(Md5::digest(body).as_slice())
}

/// The SHA-256 of a text, by which FIFO queues recognise messages with the same content.
#[must_use]
pub fn sha256(text: &str) -> String {
    hex(sha2::Sha256::digest(text).as_slice())
}

/// The sum of message attributes; `None` if there are none.
#[must_use]
pub fn of_attributes(attributes: &MessageAttributes) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut sum = Md5::new();
    for (name, attribute) in attributes {
        add(&mut sum, name, attribute);
    }
    Some(hex(sum.finalize().as_slice()))
}

/// The sum of the one system attribute a sender can set.
#[must_use]
pub fn of_trace_header(header: &str) -> String {
    let mut sum = Md5::new();
    add(&mut sum, "AWSTraceHeader", &MessageAttribute::text(header));
    hex(sum.finalize().as_slice())
}

/// Name, type and value, each after its length; a byte before the value distinguishes text from bytes.
fn add(sum: &mut Md5, name: &str, attribute: &MessageAttribute) {
    let (kind, value) = match (&attribute.string_value, &attribute.binary_value) {
        (None, Some(bytes)) => (2, bytes.as_slice()),
        (text, _) => (1, text.as_deref().unwrap_or_default().as_bytes()),
    };
    add_long(sum, name.as_bytes());
    add_long(sum, attribute.data_type.as_bytes());
    sum.update([kind]);
    add_long(sum, value);
}

fn add_long(sum: &mut Md5, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    sum.update(length.to_be_bytes());
    sum.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_that_sdks_compute() {
        assert_eq!(of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
        let attributes = MessageAttributes::from([(
            "timestamp".to_owned(),
            MessageAttribute {
                data_type: "Number".to_owned(),
                string_value: Some("1493147359900".to_owned()),
                binary_value: None,
            },
        )]);
        // The value that AWS returns for this attribute, as recorded in moto's tests.
        assert_eq!(
            of_attributes(&attributes).as_deref(),
            Some("235c5c510d26fb653d073faed50ae77c")
        );
        assert_eq!(of_attributes(&MessageAttributes::new()), None);
    }
}
