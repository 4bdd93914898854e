//! Rows of a model, as the database would store them.

use std::collections::BTreeMap;

use trestle_discover::TableFacts;
use trestle_item::{AttributeValue, Item};
use trestle_model::{Attribute, AttributeKind, Entity, LargeValue, Model, Precision, Table};

use crate::chance::Chance;

/// A moment at the end of 2019.
const NOW_MS: u64 = 1_577_734_334_000;

/// The description of the table, as from DescribeTable.
pub(crate) fn facts(table: &Table) -> TableFacts {
    TableFacts {
        name: table.table_name().to_owned(),
        key: table.key().clone(),
        indexes: table.indexes().to_vec(),
        ttl: table.ttl().map(str::to_owned),
        stream: table.stream(),
    }
}

/// Up to `most` rows of every entity of a table, with different keys.
pub(crate) fn rows(model: &Model, table: &Table, most: usize, chance: &mut Chance) -> Vec<Item> {
    let mut by_key: BTreeMap<String, Item> = BTreeMap::new();
    for entity in model.entities_of(table) {
        for _ in 0..=chance.below(most) {
            let row = stored(model, table, entity, chance);
            by_key.insert(key(table, &row), row);
        }
    }
    by_key.into_values().collect()
}

fn key(table: &Table, row: &Item) -> String {
    let values: Vec<String> = table
        .key()
        .attributes()
        .map(|key| format!("{:?}", row.get(&key.name)))
        .collect();
    values.join(" ")
}

fn stored(model: &Model, table: &Table, entity: &Entity, chance: &mut Chance) -> Item {
    let mut row = Item::new();
    for attribute in entity.attributes() {
        if !attribute.optional || chance.below(3) > 0 {
            row.insert(attribute.name.clone(), value(attribute, chance));
        }
    }
    if let Some(tag) = table.entity_attribute() {
        row.insert(tag, entity.tag());
    }
    for template in entity.table_key() {
        row.insert(template.attribute(), template.render(&row).unwrap());
    }
    let derived = model.derive(table.table_name(), None, &row, NOW_MS);
    derived.unwrap().unwrap().apply(&mut row);
    row
}

fn value(attribute: &Attribute, chance: &mut Chance) -> AttributeValue {
    if !attribute.one_of.is_empty() {
        return chance.of(&attribute.one_of).clone();
    }
    let number = i64::try_from(chance.below(30)).unwrap() + 1;
    match attribute.kind {
        AttributeKind::String => text(attribute, chance).into(),
        AttributeKind::Integer | AttributeKind::Number => number.into(),
        AttributeKind::Boolean => AttributeValue::Bool(chance.below(2) == 0),
        AttributeKind::Binary => AttributeValue::B(vec![7, 8]),
        AttributeKind::EpochSeconds => (1_577_734_334 + number).into(),
        AttributeKind::Timestamp => {
            let fraction = match attribute.precision {
                Some(Precision::Millis) => ".500",
                _ => "",
            };
            format!("2019-12-{:02}T19:32:14{fraction}Z", chance.below(28) + 1).into()
        }
        AttributeKind::Semver => format!("1.{number}.0-rc.{number}").into(),
        AttributeKind::List => AttributeValue::L(vec!["x".into()]),
        AttributeKind::Map | AttributeKind::Any => AttributeValue::M(Item::from([("x", "y")])),
        AttributeKind::Large => LargeValue {
            id: format!("value-{number:010}"),
            size: 1,
            parts: 1,
            sha256: "0".repeat(64),
        }
        .to_value(),
        AttributeKind::StringSet => AttributeValue::string_set(vec!["x".to_owned()]).unwrap(),
        AttributeKind::NumberSet => AttributeValue::number_set(vec![7_i64.into()]).unwrap(),
        AttributeKind::BinarySet => AttributeValue::binary_set(vec![vec![7]]).unwrap(),
    }
}

/// A valid text for the attribute. From a small set, so that rows share partitions.
fn text(attribute: &Attribute, chance: &mut Chance) -> String {
    let length = attribute.length.map_or(6, |(fewest, _)| fewest.max(6));
    let length = attribute.length.map_or(length, |(_, most)| length.min(most));
    for characters in ["abcdefghij-", "0123456789abcdef", "0123456789", "ABCDEFGHIJ"] {
        let characters: Vec<char> = characters.chars().collect();
        let first = *chance.of(&characters[..10]);
        let text: String = (1..length).map(|_| *chance.of(&characters[..3])).collect();
        let text = format!("{first}{text}");
        if attribute.check(&text.as_str().into()).is_ok() {
            return text;
        }
    }
    panic!("no text for {}", attribute.name)
}
