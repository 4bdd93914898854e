//! Answers to bytes.

use trestle_api::Response;
use trestle_item::Items;

/// The body of an answer.
#[must_use]
pub fn encode(mut response: Response) -> Vec<u8> {
    let items = match &mut response {
        Response::Query(output) => output.items.take(),
        Response::Scan(output) => output.items.take(),
        _ => None,
    };
    match items {
        Some(items) => page(&items, &response),
        // The two operations with empty answers.
        None if matches!(response, Response::TagResource(_) | Response::UntagResource(_)) => Vec::new(),
        None => to_json(&response),
    }
}

/// The checksum of a body, for the header `x-amz-crc32`.
#[must_use]
pub fn crc32(body: &[u8]) -> u32 {
    crc32fast::hash(body)
}

/// The body of an answer with many items: they are most of it, and are written without being decoded. `rest`
/// is the answer without them, which always has a member: the count.
fn page(items: &Items, rest: &Response) -> Vec<u8> {
    let mut out = br#"{"Items":"#.to_vec();
    items.write_json(&mut out);
    let comma = out.len();
    append_json(rest, &mut out);
    if let Some(brace) = out.get_mut(comma) {
        *brace = b',';
    }
    out
}

/// Space for the answer with an item of one kilobyte: growing a smaller buffer would copy it three times.
const ROOM: usize = 2048;

pub(crate) fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(ROOM);
    append_json(value, &mut out);
    out
}

/// JSON of a type whose maps have texts as keys: writing it to memory cannot fail.
fn append_json(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"{}");
    }
}
