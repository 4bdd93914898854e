//! Gzip in both directions, bounded: a small request cannot inflate into a large one.

use bytes::Bytes;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use hyper::header::{self, HeaderMap};
use std::io::{Read, Write};

/// Smaller answers go out as they are: compressing them costs more than it saves.
const COMPRESS_BYTES_MIN: usize = 8 * 1024;

/// Why a compressed request could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// It would be larger than allowed.
    TooLarge,
    /// It is not gzip.
    Malformed,
}

/// Whether the body of a request with these headers is compressed.
pub(crate) fn is_gzip(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|encoding| encoding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"gzip"))
}

/// How large the inflated body is, found out without keeping it; refused if it is larger than `bytes_max`.
pub(crate) fn inflated_size(body: &[u8], bytes_max: usize) -> Result<usize, InflateError> {
    let mut reader = GzDecoder::new(body).take(bytes_max as u64 + 1);
    let size = std::io::copy(&mut reader, &mut std::io::sink()).map_err(|_| InflateError::Malformed)?;
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= bytes_max)
        .ok_or(InflateError::TooLarge)
}

/// The inflated body, refused as soon as it grows beyond `bytes_max`.
pub(crate) fn inflate(body: &[u8], bytes_max: usize) -> Result<Bytes, InflateError> {
    let mut inflated = Vec::new();
    // One byte more than allowed tells "just fits" from "too large".
    let mut reader = GzDecoder::new(body).take(bytes_max as u64 + 1);
    reader
        .read_to_end(&mut inflated)
        .map_err(|_| InflateError::Malformed)?;
    if inflated.len() > bytes_max {
        return Err(InflateError::TooLarge);
    }
    Ok(Bytes::from(inflated))
}

/// The compressed answer, if it is worth it and the client takes it.
pub(crate) fn deflate(request: &HeaderMap, body: &[u8]) -> Option<Bytes> {
    if body.len() < COMPRESS_BYTES_MIN || !accepts_gzip(request) {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    request
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(names_gzip)
}

/// `gzip`, `gzip;q=0.5`, but not `gzip;q=0`.
fn names_gzip(coding: &str) -> bool {
    let mut parts = coding.split(';').map(str::trim);
    let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let refused = parts
        .filter_map(|parameter| parameter.strip_prefix("q="))
        .any(|weight| weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0));
    named && !refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn accepting(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))])
    }

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn inflation_stops_at_the_limit() {
        let bomb = gzip(&vec![b' '; 1 << 20]);
        assert!(bomb.len() < 2_000);
        assert_eq!(inflate(&bomb, (1 << 20) - 1), Err(InflateError::TooLarge));
        assert_eq!(inflate(&bomb, 1 << 20).unwrap().len(), 1 << 20);
        assert_eq!(inflated_size(&bomb, (1 << 20) - 1), Err(InflateError::TooLarge));
        assert_eq!(inflated_size(&bomb, 1 << 20), Ok(1 << 20));
    }

    #[test]
    fn what_is_not_gzip_is_refused() {
        assert_eq!(inflate(b"{}", 100), Err(InflateError::Malformed));
        let cut_short = &gzip(b"hello hello hello")[..12];
        assert_eq!(inflate(cut_short, 100), Err(InflateError::Malformed));
    }

    #[test]
    fn only_large_answers_to_clients_that_ask_are_compressed() {
        let large = vec![b'a'; COMPRESS_BYTES_MIN];
        assert!(deflate(&accepting("br, gzip;q=0.8"), &large).is_some());
        assert!(deflate(&accepting("gzip"), &large[1..]).is_none());
        assert!(deflate(&accepting("identity"), &large).is_none());
        assert!(deflate(&accepting("gzip;q=0, br"), &large).is_none());
        assert!(deflate(&HeaderMap::new(), &large).is_none());
    }
}
