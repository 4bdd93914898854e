//! Rows, without values that are useless for a model.

use trestle_item::{AttributeValue, Item};

/// The length of the longest key: a longer text is not part of any.
const TEXT_BYTES_MAX: usize = 2048;

/// The maximum number and length of members of a list, set or map that are kept.
const MEMBERS_MAX: usize = 16;
const MEMBER_BYTES_MAX: usize = 64;

/// The row with large values emptied, so that a table of many megabytes fits into memory. Types stay.
pub(crate) fn slim(row: Item) -> Item {
    row.into_iter()
        .map(|(name, value)| {
            let value = match value {
                AttributeValue::S(text) if text.len() > TEXT_BYTES_MAX => AttributeValue::S(shortened(&text)),
                AttributeValue::B(bytes) if bytes.len() > TEXT_BYTES_MAX => AttributeValue::B(vec![0]),
                AttributeValue::M(map) => AttributeValue::M(few_names(map)),
                AttributeValue::L(list) => AttributeValue::L(few(list, is_small)),
                AttributeValue::Ss(set) => {
                    AttributeValue::Ss(few(set, |text| text.len() <= MEMBER_BYTES_MAX))
                }
                AttributeValue::Ns(set) => AttributeValue::Ns(few(set, |_| true)),
                AttributeValue::Bs(_) => AttributeValue::Bs(Vec::new()),
                small => small,
            };
            (name, value)
        })
        .collect()
}

/// Members for which there may be other rows; empty if there are many or large ones.
fn few<T>(members: Vec<T>, is_small: impl Fn(&T) -> bool) -> Vec<T> {
    match members.len() <= MEMBERS_MAX && members.iter().all(is_small) {
        true => members,
        false => Vec::new(),
    }
}

/// The names in a map, limited like members.
fn few_names(map: Item) -> Item {
    let names: Vec<String> = few(
        map.into_iter().map(|(name, _)| name).collect(),
        |name: &String| name.len() <= MEMBER_BYTES_MAX,
    );
    names
        .into_iter()
        .map(|name| (name, AttributeValue::Null))
        .collect()
}

fn is_small(value: &AttributeValue) -> bool {
    text_of(value).is_some_and(|text| text.len() <= MEMBER_BYTES_MAX)
}

fn shortened(text: &str) -> String {
    let (kept, _) = text.split_at(text.floor_char_boundary(TEXT_BYTES_MAX));
    kept.to_owned()
}

/// The text of a value in a key, if it can be part of one.
pub(crate) fn text_of(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::N(number) => Some(number.to_string()),
        AttributeValue::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The key of a row in a message.
pub(crate) fn shown_key<'k>(row: &Item, keys: impl Iterator<Item = &'k str>) -> String {
    let parts: Vec<String> = keys
        .map(|name| match row.get(name) {
            Some(value) => match text_of(value) {
                Some(text) => format!("{name} = {:?}", text.chars().take(80).collect::<String>()),
                None => format!("{name} of type {}", value.type_name()),
            },
            None => format!("no {name}"),
        })
        .collect();
    parts.join(", ")
}
