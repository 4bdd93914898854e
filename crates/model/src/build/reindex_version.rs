//! The attribute that only a reindex writes: it is a number, and no effect writes it.

use super::Builder;
use crate::attribute::{Attribute, AttributeKind};
use crate::draft::{DraftEntity, Name};
use crate::effect::{Effect, Head};
use crate::entity::Entity;

impl Builder<'_, '_, '_> {
    /// Adds the attribute, unless it is declared. It is optional, so that no table key can contain it.
    pub(super) fn add_reindex_version(
        &mut self,
        attributes: &mut Vec<Attribute>,
        draft: &DraftEntity,
        table: usize,
        what: &str,
    ) {
        let Some(name) = &draft.reindex_version else {
            return;
        };
        match attributes.iter().find(|attribute| attribute.name == name.value) {
            None => attributes.push(Attribute {
                optional: true,
                ..Attribute::new(name.value.clone(), AttributeKind::Integer)
            }),
            Some(known) if is_plain_number(known) => {}
            Some(_) => self.not_a_version(
                name,
                what,
                "is declared as something else",
                "leave it out of `attributes`, or declare it as `{ type = \"integer\", optional = true }`",
            ),
        }
        let table = self.tables.get(table);
        let is_of_table = table
            .is_some_and(|table| [&table.entity_attribute, &table.ttl].contains(&&Some(name.value.clone())));
        if is_of_table {
            let why = "is the table's entity attribute or time to live";
            self.not_a_version(name, what, why, "name another attribute");
        }
    }

    /// No effect writes the version of a row, or ranks rows by it.
    pub(super) fn check_versions_apart(&mut self) {
        for draft in &self.draft.entities {
            let Some(name) = &draft.reindex_version else {
                continue;
            };
            let mut entities = self.entities.iter();
            let entity = entities.find(|entity| entity.name == draft.name.value);
            let uses = entity.and_then(|entity| use_of(&self.entities, entity, &name.value));
            if let Some(uses) = uses {
                let what = format!("entity `{}`", draft.name.value);
                self.not_a_version(name, &what, uses, "name an attribute that nothing else writes");
            }
        }
    }

    fn not_a_version(&mut self, name: &Name, what: &str, why: &str, help: &str) {
        let message = format!(
            "{what}: `{}` cannot hold the version of a reindex, because it {why}",
            name.value
        );
        self.problems.error(name.at, message, help);
    }
}

fn is_plain_number(attribute: &Attribute) -> bool {
    matches!(attribute.kind, AttributeKind::Integer | AttributeKind::Number)
        && attribute.optional
        && attribute.default.is_none()
        && attribute.one_of.is_empty()
        && !attribute.immutable
}

/// What else uses an attribute of an entity that holds its version.
fn use_of(entities: &[Entity], entity: &Entity, name: &str) -> Option<&'static str> {
    if entity.keeps(name).is_some() {
        return Some("is kept by a counter");
    }
    if entity.migrate.set.contains_key(name) {
        return Some("is set by `migrate.set`");
    }
    let own = entity.effects.iter().find_map(|effect| match effect {
        Effect::Copy(copy) if copy.attributes.iter().any(|pair| pair.ours == name) => Some("is a copy"),
        Effect::Head(head) if is_used_by(head, name) => Some("is used by its head"),
        _ => None,
    });
    let copies = entities.iter().flat_map(|other| &other.effects);
    let mut copies = copies.filter_map(|effect| match effect {
        Effect::Copy(copy) if copy.from == entity.name => Some(copy),
        _ => None,
    });
    own.or_else(|| {
        let is_copied = copies.any(|copy| copy.attributes.iter().any(|pair| pair.theirs == name));
        is_copied.then_some("is copied to other rows, which have versions of their own")
    })
}

fn is_used_by(head: &Head, name: &str) -> bool {
    let changes = [&head.promote, &head.demote];
    let is_changed = changes
        .iter()
        .any(|edit| edit.set.contains_key(name) || edit.remove.iter().any(|removed| removed == name));
    let mut ranks = head.newest_by.iter().chain(&head.retired_by);
    is_changed || ranks.any(|ranked| ranked == name)
}
