//! Any text is a model file or has problems with a place in it; a model that loads gives a row a key that
//! identifies it. Two files with a line `%%` between them are two versions: what moves between them is known,
//! or why nothing can.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use trestle_item::{AttributeValue, Item};
use trestle_model::{AttributeKind, Entity, LayoutChange, Model, Role, load, timestamp_text};

const NOW_MS: u64 = 1_700_000_000_000;

fuzz_target!(|text: &str| {
    let versions: Vec<Arc<Model>> = text.splitn(2, "\n%%\n").filter_map(loaded).collect();
    for model in &versions {
        for entity in model.entities().iter().filter(|entity| *entity.role() == Role::Declared) {
            names_its_row(model, entity);
        }
    }
    if let [before, after] = &*versions
        && let Ok(change) = LayoutChange::between(before, after)
    {
        let _ = change.reversed();
    }
});

fn loaded(text: &str) -> Option<Arc<Model>> {
    let loaded = load(text);
    let lines = text.split('\n').count();
    for problem in &loaded.problems {
        assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{problem}");
    }
    assert!(loaded.model.is_some() || !loaded.problems.is_empty(), "what is refused has a reason");
    loaded.model.map(Arc::new)
}

/// Derives the key of a row, and finds entity and identity in it again.
fn names_its_row(model: &Model, entity: &Entity) {
    let Some(table) = model.table_of(entity) else { panic!("{} is in no table", entity.name()) };
    let Some(mut item) = row(entity) else { return };
    if let Some(tag) = table.entity_attribute() {
        item.insert(tag.to_owned(), entity.tag());
    }
    let Ok(placed) = model.place(table.table_name(), item, NOW_MS) else { return };
    let Ok(Some(derived)) = model.derive(table.table_name(), None, &placed, NOW_MS) else { return };
    assert_eq!(derived.entity.name(), entity.name());
    let mut whole = placed.clone();
    derived.apply(&mut whole);
    let recognised = model.recognise(table.table_name(), &whole);
    assert!(matches!(recognised, Ok(Some(found)) if found.name() == entity.name()), "{recognised:?}");
    let again = model.derive(table.table_name(), Some(&whole), &whole, NOW_MS);
    assert!(matches!(&again, Ok(Some(derived)) if derived.is_empty()), "deriving twice changes nothing: {again:?}");
    let identity = entity.identify(&whole);
    assert!(identity.is_some(), "the key of {} cannot be read back: {whole:?}", entity.name());
}

/// A row with every attribute; `None` if one of them accepts none of these values.
fn row(entity: &Entity) -> Option<Item> {
    let mut item = Item::new();
    for attribute in entity.attributes() {
        let value = value(attribute.kind);
        attribute.check(&value).ok()?;
        item.insert(attribute.name.clone(), value);
    }
    Some(item)
}

fn value(kind: AttributeKind) -> AttributeValue {
    match kind {
        AttributeKind::Integer | AttributeKind::Number => 7i64.into(),
        AttributeKind::EpochSeconds => 1_900_000_000i64.into(),
        AttributeKind::Boolean => AttributeValue::Bool(true),
        AttributeKind::Timestamp => timestamp_text(NOW_MS).into(),
        AttributeKind::List => AttributeValue::L(Vec::new()),
        AttributeKind::Map => AttributeValue::M(Item::new()),
        _ => "x".into(),
    }
}
