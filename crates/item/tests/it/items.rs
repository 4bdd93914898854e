use proptest::collection::vec;
use proptest::prelude::*;
use trestle_item::codec::{self, CodecError};
use trestle_item::{Item, Items, StoredItem, size};

use crate::generate::{item, text};

fn stored(items: &[Item]) -> Items {
    let mut all = Items::new();
    for item in items {
        let bytes = codec::encode(item);
        all.push_stored(StoredItem::check(&bytes).unwrap());
    }
    all
}

fn json(items: &Items) -> String {
    let mut out = Vec::new();
    items.write_json(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn no_items_are_an_empty_array() {
    assert_eq!(json(&Items::new()), "[]");
    assert_eq!(json(&stored(&[Item::new(), Item::new()])), "[{},{}]");
}

#[test]
fn an_escape_is_found_wherever_it_stands() {
    for escaped in ["\"", "\\", "\u{0}", "\u{1f}", "\n", "\r", "\t", "\u{8}", "\u{c}"] {
        for before in 0..70 {
            let note = format!("{}{escaped}ü{escaped}", "x".repeat(before));
            let items = stored(&[Item::from([("note", note.as_str())])]);
            assert_eq!(json(&items), serde_json::to_string(&items).unwrap());
        }
    }
}

#[test]
fn what_is_no_item_does_not_come_in() {
    assert_eq!(StoredItem::check(&[1]), Err(CodecError::BadLength));
    assert_eq!(StoredItem::check(&[0, 0]), Err(CodecError::Trailing));
}

proptest! {
    #[test]
    fn stored_items_are_written_as_their_values_would_be(items in vec(item(), 0..4)) {
        let all = stored(&items);
        prop_assert_eq!(all.len(), items.len());
        prop_assert_eq!(json(&all), serde_json::to_string(&items).unwrap());
        prop_assert_eq!(all.to_vec(), items.clone());
        prop_assert_eq!(all.clone().into_iter().collect::<Vec<_>>(), items.clone());
        prop_assert_eq!(all, Items::from(items));
    }

    #[test]
    fn a_stored_item_has_the_size_of_its_values(item in item()) {
        let bytes = codec::encode(&item);
        prop_assert_eq!(StoredItem::check(&bytes).unwrap().size(), size::of_item(&item));
    }

    /// Only items decode.
    #[test]
    fn checking_agrees_with_decoding(item in item(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = codec::encode(&item);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let decoded = codec::decode(&bytes);
        let checked = StoredItem::check(&bytes).map(|stored| stored.decode());
        prop_assert_eq!(checked, decoded);
    }

    #[test]
    fn text_of_any_kind_is_escaped_as_serde_does(texts in vec(text(), 1..4)) {
        let note = texts.concat();
        let items = stored(&[Item::from([(note.as_str(), note.as_str())])]);
        prop_assert_eq!(json(&items), serde_json::to_string(&items).unwrap());
    }
}
