//! Heads: what decides, what they keep, and what they make of rows.

use trestle_item::Map;

use super::Builder;
use crate::draft::{DraftChange, DraftHead, Name};
use crate::effect::{Edit, Head, Remembered};
use crate::entity::Entity;

impl Builder<'_, '_, '_> {
    pub(super) fn head(&mut self, draft: &DraftHead, entity: &Entity) -> Option<Head> {
        let what = format!("entity `{}`: head", entity.name);
        for name in &draft.newest_by {
            let Some(attribute) = self.attribute_of(entity, name, &what) else {
                continue;
            };
            if !attribute.kind.is_ordered() {
                self.problems.error(
                    name.at,
                    format!(
                        "{what}: `newest_by` is `{}`, and type {} has no order",
                        name.value,
                        attribute.kind.name()
                    ),
                    "use a number, a timestamp or a string",
                );
            }
        }
        for (_, of) in &draft.previous {
            self.attribute_of(entity, of, &what);
        }
        self.check_retired_by(draft, entity, &what);
        self.check_needed(draft, entity, &what);
        Some(Head {
            entity: format!("{}.head", entity.name),
            newest_by: draft.newest_by.iter().map(|name| name.value.clone()).collect(),
            retired_by: draft.retired_by.iter().map(|name| name.value.clone()).collect(),
            omit: draft.omit.iter().map(|name| name.value.clone()).collect(),
            previous: draft
                .previous
                .iter()
                .map(|(attribute, of)| Remembered {
                    attribute: attribute.value.clone(),
                    of: of.value.clone(),
                })
                .collect(),
            promote: self.edit(&draft.promote, draft, entity, &what),
            demote: self.edit(&draft.demote, draft, entity, &what),
        })
    }

    /// Rows can have what retires them, and lack it.
    fn check_retired_by(&mut self, draft: &DraftHead, entity: &Entity, what: &str) {
        for name in &draft.retired_by {
            let required = self
                .attribute_of(entity, name, what)
                .is_some_and(|attribute| !attribute.optional);
            if required {
                self.problems.error(
                    name.at,
                    format!("{what}: `retired_by` is `{}`, which every row has", name.value),
                    "use an optional attribute that only retired rows have",
                );
            }
        }
    }

    /// From a head, its row can be found, and compared with others.
    fn check_needed(&mut self, draft: &DraftHead, entity: &Entity, what: &str) {
        let ranks = |name: &str| draft.newest_by.iter().any(|rank| rank.value == name);
        let needed = |name: &Name| ranks(&name.value) || entity.identity.contains(&name.value);
        for name in draft.omit.iter().filter(|name| needed(name)) {
            self.problems.error(
                name.at,
                format!(
                    "{what} omits `{}`, without which it cannot tell which row it is",
                    name.value
                ),
                "leave it in the head",
            );
        }
        for (name, _) in draft.previous.iter().filter(|(name, _)| needed(name)) {
            self.problems.error(
                name.at,
                format!(
                    "{what} remembers something as `{}`, which says which row it is",
                    name.value
                ),
                "give it another name",
            );
        }
        let head = format!("{}.head", entity.name);
        let head = self.entities.iter().find(|made| made.name == head);
        let ttl = head.and_then(|head| self.tables.get(head.table)?.ttl.clone());
        for name in draft
            .newest_by
            .iter()
            .filter(|name| Some(&name.value) == ttl.as_ref())
        {
            self.problems.error(
                name.at,
                format!(
                    "{what}: `newest_by` is `{}`, which a head does not have, because it would expire",
                    name.value
                ),
                "use another attribute",
            );
        }
    }

    fn edit(&mut self, draft: &DraftChange, head: &DraftHead, entity: &Entity, what: &str) -> Edit {
        let mut set = Map::new();
        for (name, value) in &draft.set {
            if self.is_value_of(entity, name, value, what) {
                set.insert(name.value.clone(), value.value.clone());
            }
        }
        for name in draft.set.iter().map(|(name, _)| name).chain(&draft.remove) {
            if entity.identity.contains(&name.value) {
                self.problems.error(
                    name.at,
                    format!("{what} changes `{}`, which identifies the row", name.value),
                    "change another attribute",
                );
            }
            if head.newest_by.iter().any(|rank| rank.value == name.value) {
                self.problems.error(
                    name.at,
                    format!(
                        "{what} changes `{}`, which decides which row is the newest",
                        name.value
                    ),
                    "change another attribute",
                );
            }
        }
        for name in &draft.remove {
            let required = self
                .attribute_of(entity, name, what)
                .is_some_and(|attribute| !attribute.optional);
            if required {
                self.problems.error(
                    name.at,
                    format!("{what} removes `{}`, which is not optional", name.value),
                    "make it optional, or set it instead",
                );
            }
        }
        let ttl = self.tables.get(entity.table).and_then(|table| table.ttl.as_ref());
        if let Some(expire) = &draft.expire_after_seconds
            && ttl.is_none()
        {
            self.problems.error(
                expire.at,
                format!("{what} expires rows, but their table has no `ttl`"),
                "add `ttl = \"…\"` to the table",
            );
        }
        Edit {
            set,
            remove: draft.remove.iter().map(|name| name.value.clone()).collect(),
            expire_after_seconds: draft.expire_after_seconds.as_ref().map(|expire| expire.value),
        }
    }
}
