//! Answers to bytes.

use trestle_api::Response;

/// The body of an answer.
#[must_use]
pub fn encode(response: &Response) -> Vec<u8> {
    to_json(response)
}

/// The checksum of a body, for the header `x-amz-crc32`.
#[must_use]
pub fn crc32(body: &[u8]) -> u32 {
    crc32fast::hash(body)
}

/// Room for the answer about an item of a kilobyte: growing a smaller buffer would copy it three times.
const ROOM: usize = 2048;

/// JSON of a type whose maps have text for keys: writing that to memory cannot fail.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(ROOM);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => out,
        Err(_) => b"{}".to_vec(),
    }
}
