//! The part of the written item that an answer shows.

use trestle_api::ReturnValue;
use trestle_expr::Update;
use trestle_item::Item;

/// The item in the answer to `PutItem` and `DeleteItem`.
#[must_use]
pub fn shown_of_removal(wanted: Option<ReturnValue>, old: Option<&Item>) -> Option<Item> {
    match wanted {
        Some(ReturnValue::AllOld) => old.cloned(),
        _ => None,
    }
}

/// The item in the answer to `UpdateItem`.
#[must_use]
pub fn shown_of_update(
    wanted: Option<ReturnValue>,
    update: Option<&Update>,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Option<Item> {
    let touched = |image: Option<&Item>| {
        image
            .zip(update)
            .map(|(image, update)| update.updated(image))
            .filter(|touched| !touched.is_empty())
    };
    match wanted? {
        ReturnValue::None => None,
        ReturnValue::AllOld => old.cloned(),
        ReturnValue::AllNew => new.cloned(),
        ReturnValue::UpdatedOld => touched(old),
        ReturnValue::UpdatedNew => touched(new),
    }
}
