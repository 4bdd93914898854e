//! Any bytes are a stored item or damage; an item has one stored form, and key bytes are what they were made from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trestle_item::{ScalarType, StoredItem, codec, key};

fuzz_target!(|bytes: &[u8]| {
    let decoded = codec::decode(bytes);
    let checked = StoredItem::check(bytes).map(|stored| stored.decode());
    assert_eq!(checked, decoded, "checking holds bytes to the rules of decoding");
    if let Ok(item) = decoded {
        assert_eq!(codec::encode(&item), bytes, "an item has one stored form");
    }
    for kind in [ScalarType::S, ScalarType::N, ScalarType::B] {
        if let Some((value, rest)) = key::decode_component(kind, bytes) {
            let mut again = Vec::new();
            assert!(key::encode_component(&value, &mut again).is_some());
            assert_eq!([&again, rest].concat(), bytes, "a key component has one form");
        }
    }
});
