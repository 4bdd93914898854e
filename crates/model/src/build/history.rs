//! Histories: what is stored of each change, and where.

use super::Builder;
use super::companion::completed;
use super::entity::identity;
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::draft::{DraftEntity, DraftHistory};
use crate::effect::{History, Remembered};
use crate::effects::finds_group;
use crate::entity::{Entity, Migrate, Role};
use crate::problem::listed;

/// How many history rows a row has, unless the model says otherwise.
const KEPT: usize = 100;
/// How many it may have at most: each change reads them.
const KEPT_MAX: usize = 1_000;

impl Builder<'_, '_, '_> {
    pub(super) fn history_entity(
        &mut self,
        history: &DraftHistory,
        draft: &DraftEntity,
        entity: &Entity,
    ) -> Option<Entity> {
        let what = format!("entity `{}`: history", entity.name);
        let ttl = self.tables.get(entity.table).and_then(|table| table.ttl.clone());
        let attributes = attributes(history, entity, ttl.as_deref());
        let given = completed(&history.key, draft, entity);
        let keys = self.keys(&what, history.at, entity.table, &given, &attributes)?;
        let identity = identity(&keys.table);
        let mut wanted = entity.identity.clone();
        wanted.push(time(history).to_owned());
        if identity.len() != wanted.len() || !wanted.iter().all(|name| identity.contains(name)) {
            self.problems.error(
                history.at,
                format!(
                    "{what} has a key of {}, and a history row is identified by its row and its time",
                    listed(identity.iter().map(String::as_str))
                ),
                format!("make its key of {}", listed(wanted.iter().map(String::as_str))),
            );
            return None;
        }
        let made = Entity {
            name: format!("{}.history", entity.name),
            about: None,
            role: Role::History {
                of: entity.name.clone(),
            },
            position: 0,
            table: entity.table,
            tag: format!("{}.history", entity.tag),
            table_key: keys.table,
            index_keys: keys.index,
            attributes,
            identity,
            created: None,
            updated: None,
            reindex_version: None,
            closed: false,
            effects: Vec::new(),
            kept: Vec::new(),
            migrate: Migrate::default(),
        };
        let table = self.tables.get(entity.table)?;
        if !finds_group(table, &made, &entity.identity) {
            self.problems.error(
                history.at,
                format!("{what} is not found with one query"),
                format!(
                    "make its partition key of no more than {}",
                    listed(entity.identity.iter().map(String::as_str))
                ),
            );
            return None;
        }
        Some(made)
    }

    pub(super) fn history(&mut self, draft: &DraftHistory, entity: &Entity) -> Option<History> {
        let what = format!("entity `{}`: history", entity.name);
        for name in &draft.of {
            self.attribute_of(entity, name, &what)?;
            if entity.identity.contains(&name.value) {
                let message = format!(
                    "{what} is of `{}`, which identifies the row and never changes",
                    name.value
                );
                self.problems
                    .error(name.at, message, "name attributes that change");
            }
        }
        for (name, of) in &draft.previous {
            if !draft.of.iter().any(|known| known.value == of.value) {
                let message = format!(
                    "{what} remembers `{}` as `{}`, and keeps no changes of it",
                    of.value, name.value
                );
                self.problems.error(of.at, message, "add it to `of`");
            }
        }
        let own = draft.previous.iter().map(|(name, _)| name.value.as_str());
        let is_taken = |name: &&str| {
            entity.identity.iter().any(|known| known == name)
                || draft.of.iter().any(|known| known.value == **name)
        };
        if let Some(name) = own.chain([time(draft)]).find(is_taken) {
            let message = format!("{what} has `{name}` twice: it is an attribute of the row, too");
            self.problems.error(draft.at, message, "give it another name");
        }
        let keep = draft.keep.map_or(KEPT, |keep| keep as usize);
        if keep > KEPT_MAX {
            let message = format!("{what} keeps {keep} rows, and each change reads them");
            self.problems
                .error(draft.at, message, format!("keep at most {KEPT_MAX}"));
        }
        let ttl = self.tables.get(entity.table).and_then(|table| table.ttl.as_ref());
        if let Some(expire) = draft.expire_after_seconds.as_ref().filter(|_| ttl.is_none()) {
            let message = format!("{what} expires rows, but their table has no `ttl`");
            self.problems
                .error(expire.at, message, "add `ttl = \"…\"` to the table");
        }
        Some(History {
            entity: format!("{}.history", entity.name),
            of: draft.of.iter().map(|name| name.value.clone()).collect(),
            at: time(draft).to_owned(),
            previous: draft
                .previous
                .iter()
                .map(|(attribute, of)| Remembered {
                    attribute: attribute.value.clone(),
                    of: of.value.clone(),
                })
                .collect(),
            keep,
            expire_after_seconds: draft.expire_after_seconds.as_ref().map(|expire| expire.value),
        })
    }
}

fn time(draft: &DraftHistory) -> &str {
    draft.time.as_ref().map_or("moved", |name| name.value.as_str())
}

/// The identity of the row, the time of the change, and the new and the old values.
fn attributes(history: &DraftHistory, entity: &Entity, ttl: Option<&str>) -> Vec<Attribute> {
    let optional = |name: &str, attribute: &Attribute| Attribute {
        name: name.to_owned(),
        optional: true,
        default: None,
        immutable: false,
        ..attribute.clone()
    };
    let own = entity
        .identity
        .iter()
        .filter_map(|name| entity.attribute(name).cloned());
    let mut attributes: Vec<Attribute> = own.collect();
    for name in &history.of {
        attributes.extend(
            entity
                .attribute(&name.value)
                .map(|found| optional(&name.value, found)),
        );
    }
    for (name, of) in &history.previous {
        attributes.extend(
            entity
                .attribute(&of.value)
                .map(|found| optional(&name.value, found)),
        );
    }
    attributes.push(Attribute {
        precision: Some(Precision::Millis),
        ..Attribute::new(time(history), AttributeKind::Timestamp)
    });
    attributes.extend(ttl.map(|name| Attribute {
        optional: true,
        ..Attribute::new(name, AttributeKind::EpochSeconds)
    }));
    attributes.sort_by(|one, two| one.name.cmp(&two.name));
    attributes.dedup_by(|one, two| one.name == two.name);
    attributes
}
