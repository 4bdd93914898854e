//! Where a row belongs: the key of its table, made from its attributes before anything else is known about it.

use trestle_item::{AttributeValue, Item};

use crate::derive::refused;
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;

impl Model {
    /// A put's item with the key of its table filled in, so that the row it replaces can be found. Nothing is checked
    /// yet but what the key is made of.
    pub fn place(&self, table_name: &str, mut item: Item, now_ms: u64) -> Result<Item, Refusal> {
        let Some(table) = self.table(table_name) else {
            return Ok(item);
        };
        if table.key.attributes().all(|key| item.contains_key(&key.name)) {
            return Ok(item);
        }
        let Some(entity) = self.recognise_in(table, &item)? else {
            return Ok(item);
        };
        for (name, value) in filled_in(entity, &item, now_ms) {
            item.insert(name, value);
        }
        for template in &entity.table_key {
            if !item.contains_key(&template.attribute) {
                let value = template.render(&item);
                let value = value.map_err(|error| refused(entity, template, error))?;
                item.insert(template.attribute.clone(), value);
            }
        }
        Ok(item)
    }
}

/// Identifying attributes that the database knows without being told.
fn filled_in(entity: &Entity, item: &Item, now_ms: u64) -> Vec<(String, AttributeValue)> {
    let missing = entity.identity.iter().filter(|name| !item.contains_key(name));
    let known = missing.filter_map(|name| {
        let attribute = entity.attribute(name)?;
        let is_time = [&entity.created, &entity.updated].contains(&&Some(name.clone()));
        let value = if is_time {
            Some(attribute.time(now_ms))
        } else {
            attribute.default.clone()
        };
        Some((name.clone(), value?))
    });
    known.collect()
}
