//! When an item expires.

use trestle_item::{AttributeValue, Item};

/// The second at which `item` expires by its time-to-live attribute: a whole or fractional number of seconds since
/// 1970; anything else means never.
pub(crate) fn seconds(item: &Item, attribute: &str) -> Option<u64> {
    match item.get(attribute)? {
        AttributeValue::N(number) => {
            let seconds = number.to_f64();
            (0.0..1e15).contains(&seconds).then_some(seconds as u64)
        }
        _ => None,
    }
}
