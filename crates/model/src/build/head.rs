//! Heads: what decides which row is the newest, what heads remember, and what they change in rows.

use trestle_item::Map;

use super::Builder;
use crate::attribute::Attribute;
use crate::draft::{DraftChange, DraftHead, Name};
use crate::effect::{Edit, Follows, Head, Remembered};
use crate::effects::finds_group;
use crate::entity::{Entity, Role};
use crate::problem::listed;

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
        self.check_decided(draft, &what);
        let follows = match &draft.follows {
            Some(name) => Some(self.follows(name, entity, &what)?),
            None => None,
        };
        self.check_retired_by(draft, entity, &what);
        self.check_needed(draft, entity, &what);
        Some(Head {
            entity: format!("{}.head", entity.name),
            newest_by: draft.newest_by.iter().map(|name| name.value.clone()).collect(),
            follows,
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

    /// Exactly one thing decides which row a head stands for.
    fn check_decided(&mut self, draft: &DraftHead, what: &str) {
        let (message, help) = match &draft.follows {
            None if draft.newest_by.is_empty() => (
                format!("{what} does not say which row it stands for"),
                "add `newest_by = \"…\"`, or `follows = \"…\"`",
            ),
            Some(_) if !draft.newest_by.is_empty() || !draft.retired_by.is_empty() => (
                format!("{what} follows a row, and has `newest_by` or `retired_by`"),
                "leave out either `follows`, or `newest_by` and `retired_by`",
            ),
            _ => return,
        };
        self.problems.error(draft.at, message, help);
    }

    /// The row that a head follows is found from the head, and names one row of the head's group.
    fn follows(&mut self, name: &Name, entity: &Entity, what: &str) -> Option<Follows> {
        let pointer = self.entity_named(name, what)?;
        let pointer = self.entities.get(pointer)?.clone();
        let of_head = format!("{}.head", entity.name);
        let of_head = self.entities.iter().find(|made| made.name == of_head)?.clone();
        let own = entity.identity.iter();
        let named_by: Vec<String> = own
            .filter(|name| !of_head.identity.contains(name))
            .cloned()
            .collect();
        let fault = follow_fault(entity, &of_head, &pointer, &named_by).or_else(|| {
            let common: Vec<String> = pointer.identity.iter().chain(&named_by).cloned().collect();
            let table = self.tables.get(entity.table)?;
            (!finds_group(table, entity, &common)).then(|| {
                (
                    format!(
                        "follows `{}`, but no query finds the rows of `{}` with one {}",
                        pointer.name,
                        entity.name,
                        listed(common.iter().map(String::as_str))
                    ),
                    "make the partition key of the table, or of an index that has all rows, of no other attributes"
                        .to_owned(),
                )
            })
        });
        if let Some((reason, help)) = fault {
            self.problems.error(name.at, format!("{what} {reason}"), help);
            return None;
        }
        Some(Follows {
            entity: pointer.name,
            named_by,
        })
    }

    /// Rows can have the attributes that retire them, and can lack them.
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

    /// A head's row can be found from the head, and compared with others.
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

/// Why an entity cannot be followed by a head, and what to do.
fn follow_fault(
    entity: &Entity,
    of_head: &Entity,
    pointer: &Entity,
    named_by: &[String],
) -> Option<(String, String)> {
    let name = &pointer.name;
    if pointer.role != Role::Declared || pointer.name == entity.name {
        let help = "follow another entity of the model file, whose rows clients write";
        return Some((
            format!("follows `{name}`, which clients cannot point with"),
            help.to_owned(),
        ));
    }
    let foreign: Vec<&str> = pointer
        .identity
        .iter()
        .filter(|name| !of_head.identity.contains(name))
        .map(String::as_str)
        .collect();
    if !foreign.is_empty() {
        return Some((
            format!(
                "follows `{name}`, which is identified by {}, and the head is not",
                listed(foreign)
            ),
            format!(
                "make the key of `{name}` of no more than {}",
                listed(of_head.identity.iter().map(String::as_str))
            ),
        ));
    }
    let wrong = named_by
        .iter()
        .find(|named| !is_same_type(pointer.attribute(named), entity.attribute(named)));
    wrong.map(|named| {
        (
            format!(
                "follows `{name}`, which does not have `{named}` with the type that it has in `{}`",
                entity.name
            ),
            format!("add `{named}` to the attributes of `{name}`: it says which row is meant"),
        )
    })
}

fn is_same_type(one: Option<&Attribute>, two: Option<&Attribute>) -> bool {
    one.zip(two)
        .is_some_and(|(one, two)| (one.kind, one.precision) == (two.kind, two.precision))
}
