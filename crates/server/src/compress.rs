//! Compressed requests and answers, bounded: a small request cannot inflate into a large one.

use bytes::Bytes;
use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::GzEncoder;
use hyper::header::{self, HeaderMap};
use std::io::{Read, Write};

/// Smaller answers are not compressed: it would cost more than it saves.
const COMPRESS_BYTES_MIN: usize = 8 * 1024;

/// Why a compressed request could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// It would be larger than allowed.
    TooLarge,
    /// It is not compressed as its header says.
    Malformed,
    /// Its header names an unknown coding.
    UnknownCoding,
}

/// How the body of a request is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// One gzip stream, or several in a row.
    Gzip,
    /// HTTP's name for zlib's format.
    Deflate,
}

impl Coding {
    /// The coding in a request's headers.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, InflateError> {
        let Some(named) = headers.get(header::CONTENT_ENCODING) else {
            return Ok(None);
        };
        match named.as_bytes().trim_ascii().to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Ok(None),
            b"gzip" => Ok(Some(Coding::Gzip)),
            b"deflate" => Ok(Some(Coding::Deflate)),
            _ => Err(InflateError::UnknownCoding),
        }
    }

    /// One byte more than allowed distinguishes "just fits" from "too large".
    fn reader(self, body: &[u8], bytes_max: usize) -> Result<impl Read, InflateError> {
        // No stream at all would be read as an empty body.
        if body.is_empty() {
            return Err(InflateError::Malformed);
        }
        let reader: Box<dyn Read> = match self {
            Coding::Gzip => Box::new(MultiGzDecoder::new(body)),
            Coding::Deflate => Box::new(ZlibDecoder::new(body)),
        };
        Ok(reader.take(bytes_max as u64 + 1))
    }
}

/// The size of the inflated body, determined without keeping it; refused if it exceeds `bytes_max`.
pub(crate) fn inflated_size(coding: Coding, body: &[u8], bytes_max: usize) -> Result<usize, InflateError> {
    let mut reader = coding.reader(body, bytes_max)?;
    let size = std::io::copy(&mut reader, &mut std::io::sink()).map_err(|_| InflateError::Malformed)?;
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= bytes_max)
        .ok_or(InflateError::TooLarge)
}

/// The inflated body, refused as soon as it grows beyond `bytes_max`.
pub(crate) fn inflate(coding: Coding, body: &[u8], bytes_max: usize) -> Result<Bytes, InflateError> {
    let mut inflated = Vec::new();
    coding
        .reader(body, bytes_max)?
        .read_to_end(&mut inflated)
        .map_err(|_| InflateError::Malformed)?;
    if inflated.len() > bytes_max {
        return Err(InflateError::TooLarge);
    }
    Ok(Bytes::from(inflated))
}

/// The compressed answer, if compression pays and the client accepts it.
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
        assert_eq!(
            inflate(Coding::Gzip, &bomb, (1 << 20) - 1),
            Err(InflateError::TooLarge)
        );
        assert_eq!(inflate(Coding::Gzip, &bomb, 1 << 20).unwrap().len(), 1 << 20);
        assert_eq!(
            inflated_size(Coding::Gzip, &bomb, (1 << 20) - 1),
            Err(InflateError::TooLarge)
        );
        assert_eq!(inflated_size(Coding::Gzip, &bomb, 1 << 20), Ok(1 << 20));
    }

    #[test]
    fn what_is_not_compressed_as_it_says_is_refused() {
        for coding in [Coding::Gzip, Coding::Deflate] {
            assert_eq!(inflate(coding, b"{}", 100), Err(InflateError::Malformed));
            assert_eq!(inflate(coding, b"", 100), Err(InflateError::Malformed));
        }
        let whole = gzip(b"hello hello hello");
        let cut_short = &whole[..whole.len() - 1];
        assert_eq!(
            inflate(Coding::Gzip, cut_short, 100),
            Err(InflateError::Malformed)
        );
        let with_more = [whole.as_slice(), b"junk"].concat();
        assert_eq!(
            inflate(Coding::Gzip, &with_more, 100),
            Err(InflateError::Malformed)
        );
    }

    #[test]
    fn gzip_streams_in_a_row_are_one_body() {
        let two = [gzip(b"hello "), gzip(b"world")].concat();
        assert_eq!(inflate(Coding::Gzip, &two, 100).unwrap(), "hello world");
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
