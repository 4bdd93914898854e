//! Requests that are built once and then changed for another row, by overwriting a few digits.

use crate::dataset::{DIGITS, Field};

/// A complete request. [`Template::aim`] overwrites the numbers in its keys, whose length is fixed.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

/// Ten digits in a request.
#[derive(Clone, Debug)]
struct Slot {
    at: usize,
    field: Field,
    /// The row of the request to which they belong.
    nth: u64,
}

impl Template {
    /// Sets the rows of the request to `first`, `first + stride`, …
    pub(crate) fn aim(&mut self, first: u64, stride: u64) {
        for slot in &self.slots {
            let number = slot.field.of(first + slot.nth * stride);
            if let Some(digits) = self.bytes.get_mut(slot.at..slot.at + DIGITS) {
                write_digits(number, digits);
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn write_digits(mut number: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Writes a request's body, and records the positions of the numbers.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    body: Vec<u8>,
    slots: Vec<Slot>,
}

impl Builder {
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.body.extend_from_slice(text.as_bytes());
        self
    }

    /// A key attribute, `"name":{"S":"PREFIX#0000000000"}`, of the request's nth row.
    pub(crate) fn key(self, field: Field, nth: u64) -> Self {
        let opening = format!(r#""{}":"#, field.attribute());
        self.text(&opening).value(field, nth)
    }

    /// The same without its name.
    pub(crate) fn value(self, field: Field, nth: u64) -> Self {
        let mut opened = self.text(r#"{"S":""#).text(field.prefix());
        opened.slots.push(Slot {
            at: opened.body.len(),
            field,
            nth,
        });
        opened.body.extend_from_slice(&[b'0'; DIGITS]);
        opened.text(r#""}"#)
    }

    pub(crate) fn finish(self, operation: &str) -> Template {
        let mut bytes = head(DYNAMODB, operation, self.body.len()).into_bytes();
        let shift = bytes.len();
        bytes.extend_from_slice(&self.body);
        let moved = self.slots.into_iter().map(|slot| Slot {
            at: slot.at + shift,
            ..slot
        });
        Template {
            slots: moved.collect(),
            bytes,
        }
    }
}

/// A request that is sent once.
pub(crate) fn plain_request(operation: &str, body: &str) -> Vec<u8> {
    whole(DYNAMODB, operation, body)
}

/// A request of SQS's protocol.
pub(crate) fn queue_request(operation: &str, body: &str) -> Vec<u8> {
    whole(SQS, operation, body)
}

fn whole(service: (&str, &str), operation: &str, body: &str) -> Vec<u8> {
    let mut bytes = head(service, operation, body.len()).into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// The prefix of a service's operations, and its name in signatures.
const DYNAMODB: (&str, &str) = ("DynamoDB_20120810", "dynamodb");
const SQS: (&str, &str) = ("AmazonSQS", "sqs");

/// The head of an SDK's request, with an invalid signature: all targets accept any.
fn head((prefix, service): (&str, &str), operation: &str, length: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: {prefix}.{operation}\r\n\
         Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/{service}/aws4_request, \
         SignedHeaders=host;x-amz-date;x-amz-target, \
         Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aiming_changes_the_keys_and_nothing_else() {
        let builder = Builder::default()
            .text("{")
            .key(Field::Partition, 0)
            .text(",")
            .key(Field::Sort, 1)
            .text("}");
        let mut template = builder.finish("GetItem");
        let length = template.bytes().len();
        template.aim(41, 1);
        let text = String::from_utf8(template.bytes().to_vec()).unwrap();
        assert_eq!(text.len(), length);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("X-Amz-Target: DynamoDB_20120810.GetItem\r\n"));
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        assert_eq!(
            body,
            r#"{"pk":{"S":"CUSTOMER#0000000002"},"sk":{"S":"ORDER#0000000002"}}"#
        );
    }
}
