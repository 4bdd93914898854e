//! The canonical text on which client and server must agree before it is signed.

use crate::{ALGORITHM, Moment, Scope, sha256};
use http::Uri;
use http::request::Parts;

/// What the signature is computed over: the request's head, the names of its signed headers, and the hash of its body.
pub fn string_to_sign(
    head: &Parts,
    signed_headers: &[String],
    payload_hash: &str,
    signed_at: Moment,
    scope: &Scope,
) -> String {
    let request = CanonicalRequest {
        method: head.method.as_str(),
        uri: &head.uri,
        header_lines: &canonical_headers(signed_headers, head),
        signed_headers: &signed_headers.join(";"),
        payload_hash,
    };
    request.string_to_sign(signed_at, &scope.text())
}

/// A request in the form that is signed.
pub(crate) struct CanonicalRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) uri: &'a Uri,
    /// A line for each signed header.
    pub(crate) header_lines: &'a str,
    /// Their names, separated by semicolons.
    pub(crate) signed_headers: &'a str,
    pub(crate) payload_hash: &'a str,
}

impl CanonicalRequest<'_> {
    pub(crate) fn string_to_sign(&self, signed_at: Moment, scope: &str) -> String {
        let request = [
            self.method,
            &canonical_path(self.uri.path()),
            &canonical_query(self.uri.query().unwrap_or_default()),
            self.header_lines,
            self.signed_headers,
            self.payload_hash,
        ]
        .join("\n");
        let request_hash = sha256(request.as_bytes());
        format!("{ALGORITHM}\n{signed_at}\n{scope}\n{request_hash}")
    }
}

/// Name and value of each parameter, percent-decoded, in the order of the request.
pub fn query_parameters(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
        .map(|(name, value)| (decode_text(name), decode_text(value)))
        .collect()
}

/// Except for S3, signers encode the path a second time.
fn canonical_path(path: &str) -> String {
    if path.is_empty() {
        "/".to_owned()
    } else {
        encode(path.as_bytes(), b"/")
    }
}

/// Sorted, encoded again, and without the signature itself, which cannot cover itself.
fn canonical_query(query: &str) -> String {
    let mut parameters: Vec<String> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .filter(|(name, _)| name != b"X-Amz-Signature")
        .map(|(name, value)| format!("{}={}", encode(&name, b""), encode(&value, b"")))
        .collect();
    parameters.sort();
    parameters.join("&")
}

/// `name:value` lines of the signed headers, in the order they were signed.
fn canonical_headers(signed_headers: &[String], head: &Parts) -> String {
    let mut lines = String::new();
    for name in signed_headers {
        lines.push_str(name);
        lines.push(':');
        lines.push_str(&header_value(name, head));
        lines.push('\n');
    }
    lines
}

fn header_value(name: &str, head: &Parts) -> String {
    let values: Vec<String> = head
        .headers
        .iter()
        .filter(|(header, _)| header.as_str() == name)
        .map(|(_, value)| squeeze(value.as_bytes()))
        .collect();
    if values.is_empty() && (name == "host" || name == ":authority") {
        // HTTP/2 has no Host header; clients sign its value nevertheless.
        return authority(head);
    }
    values.join(",")
}

fn authority(head: &Parts) -> String {
    head.uri.authority().map(ToString::to_string).unwrap_or_default()
}

/// Without spaces at the ends, and with one space where there were several.
pub(crate) fn squeeze(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    text.split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn decode_text(text: &str) -> String {
    String::from_utf8_lossy(&decode(text)).into_owned()
}

fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, hex_byte(bytes.get(at + 1..at + 3))) {
            (b'%', Some(escaped)) => {
                decoded.push(escaped);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

fn hex_byte(digits: Option<&[u8]>) -> Option<u8> {
    let &[high, low] = digits? else { return None };
    let value = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(value(high)? * 16 + value(low)?).ok()
}

/// Percent-encodes all but the unreserved characters and those in `keep`.
fn encode(bytes: &[u8], keep: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_sorted_and_encoded_anew_without_the_signature() {
        assert_eq!(
            canonical_query("b=2&a=%7e%2F+&X-Amz-Signature=abc&flag&a=1&%zz"),
            "%25zz=&a=1&a=~%2F%2B&b=2&flag="
        );
    }

    #[test]
    fn header_values_lose_superfluous_spaces() {
        assert_eq!(squeeze(b"  a   b c  "), "a b c");
    }
}
