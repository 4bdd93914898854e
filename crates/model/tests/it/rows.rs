//! Rows and models for the other tests.

use trestle_item::{AttributeValue, Item};
use trestle_model::{Model, load};

/// A model that must load.
pub(crate) fn model(text: &str) -> Model {
    let loaded = load(text);
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    loaded.model.unwrap_or_else(|| panic!("{}", problems.join("\n")))
}

/// One of the models of the repository.
pub(crate) fn system(name: &str) -> Model {
    model(&system_text(name))
}

pub(crate) fn system_text(name: &str) -> String {
    let path = format!("{}/../../models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row of texts.
pub(crate) fn row(pairs: &[(&str, &str)]) -> Item {
    pairs.iter().map(|(name, value)| (*name, *value)).collect()
}

pub(crate) fn with(mut item: Item, name: &str, value: impl Into<AttributeValue>) -> Item {
    item.insert(name, value);
    item
}

/// The row after a write, as the database would store it.
pub(crate) fn written(model: &Model, table: &str, old: Option<&Item>, new: &Item) -> Result<Item, String> {
    let derived = model.derive(table, old, new, 1_577_734_334_000);
    let mut stored = new.clone();
    if let Some(derived) = derived.map_err(|refusal| refusal.to_string())? {
        derived.apply(&mut stored);
    }
    Ok(stored)
}

pub(crate) fn text<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name).and_then(AttributeValue::as_s)
}
