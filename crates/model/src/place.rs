//! The place of a row: its table key, computed from its attributes before anything else is known about it.

use trestle_hook::Edits;
use trestle_item::{AttributeValue, Item};

use crate::derive::refused;
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;

impl Model {
    /// A put's item with the key of its table filled in, so that the row it replaces can be found. Only the
    /// attributes in the key are checked yet.
    pub fn place(&self, table_name: &str, mut item: Item, now_ms: u64) -> Result<Item, Refusal> {
        self.place_edits(table_name, &item, now_ms)?.apply(&mut item);
        Ok(item)
    }

    /// The attributes that [`Model::place`] fills in.
    pub fn place_edits(&self, table_name: &str, item: &Item, now_ms: u64) -> Result<Edits, Refusal> {
        let mut edits = Edits::default();
        let Some(table) = self.table(table_name) else {
            return Ok(edits);
        };
        if table.key.attributes().all(|key| item.contains_key(&key.name)) {
            return Ok(edits);
        }
        let Some(entity) = self.recognise_in(table, item)? else {
            return Ok(edits);
        };
        edits.set = filled_in(entity, item, now_ms);
        for template in &entity.table_key {
            let value = |name: &str| {
                let filled = edits.set.iter().find(|(filled, _)| filled == name);
                filled.map(|(_, value)| value).or_else(|| item.get(name))
            };
            if value(&template.attribute).is_none() {
                let rendered = template.render_from(value);
                let rendered = rendered.map_err(|error| refused(entity, template, error))?;
                edits.set.push((template.attribute.clone(), rendered));
            }
        }
        Ok(edits)
    }
}

/// Identifying attributes that the database can supply.
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
