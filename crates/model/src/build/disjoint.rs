//! The proof that two entities of a table never have the same key.

use trestle_item::{AttributeValue, Item};

use super::Builder;
use crate::attribute::plain;
use crate::entity::Entity;
use crate::language::{Language, common_texts};

impl Builder<'_, '_, '_> {
    pub(super) fn prove_disjoint(&mut self) {
        for at in 0..self.tables.len() {
            let Some(table) = self.tables.get(at) else {
                continue;
            };
            let positions = table.entities.clone();
            let shapes: Vec<Vec<Language>> = positions
                .iter()
                .filter_map(|position| self.entities.get(*position))
                .map(Entity::shape)
                .collect();
            for (later, two) in shapes.iter().enumerate() {
                for (earlier, one) in shapes.iter().enumerate().take(later) {
                    if let Some(key) = common_texts(one, two)
                        && let (Some(one), Some(two)) = (positions.get(earlier), positions.get(later))
                    {
                        self.report_collision(at, *one, *two, &key);
                    }
                }
            }
        }
    }

    fn report_collision(&mut self, table: usize, one: usize, two: usize, key: &[String]) {
        let (Some(first), Some(second)) = (self.entities.get(one), self.entities.get(two)) else {
            return;
        };
        if self.is_declared_alike(table, first, second) {
            return;
        }
        let shown = second.shown_key(key);
        let message = format!(
            "entities `{}` and `{}` can have the same key {shown}: {} and {}",
            first.name,
            second.name,
            who(first, key),
            who(second, key)
        );
        let tagged = self
            .tables
            .get(table)
            .is_some_and(|table| table.entity_attribute.is_some());
        let mut help = "begin one of their templates with a text of its own, such as `\"order#{id}\"`; or narrow an attribute with `chars`, `length` or `one_of`".to_owned();
        if tagged {
            help.push_str(&format!(
                "; or, if the tag shall tell them apart, add `same_shape = [[\"{}\", \"{}\"]]` to the table",
                first.name, second.name
            ));
        }
        let at = self.places.get(two).copied().unwrap_or_default();
        self.problems.error(at, message, help);
    }

    fn is_declared_alike(&self, table: usize, one: &Entity, two: &Entity) -> bool {
        let groups = self.draft.tables.get(table).map(|table| &table.same_shape);
        groups.into_iter().flatten().any(|group| {
            let has = |entity: &Entity| group.iter().any(|name| name.value == entity.name);
            has(one) && has(two)
        })
    }
}

/// The entity and the values that give the key.
fn who(entity: &Entity, key: &[String]) -> String {
    let mut values = Item::new();
    for (template, text) in entity.table_key.iter().zip(key) {
        let parsed = template.parse(&AttributeValue::S(text.clone()));
        for (name, value) in parsed.into_iter().flatten() {
            values.insert(name, value);
        }
    }
    let values: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{name} = {:?}", plain(value)))
        .collect();
    if values.is_empty() {
        format!("`{}`", entity.name)
    } else {
        format!("`{}` with {}", entity.name, values.join(", "))
    }
}
