//! Entities whose rows the database writes: heads, rows that keep values unique, and entries. They take part
//! in the proofs.

use super::Builder;
use super::entity::identity;
use super::migrate::companion_migrate;
use super::template::Purpose;
use crate::attribute::Attribute;
use crate::draft::{DraftEntity, DraftHead, DraftUnique, Name};
use crate::entity::{Entity, Migrate, Role};
use crate::problem::{listed, suggestion};
use crate::template::KeyTemplate;

impl Builder<'_, '_, '_> {
    /// The companions of an entity, each with its place in the file.
    pub(super) fn companions(&mut self, draft: &DraftEntity, entity: &Entity) -> Vec<(Entity, usize)> {
        let head = draft
            .head
            .as_ref()
            .and_then(|head| Some((self.head_entity(head, draft, entity)?, head.at)));
        let mut companions: Vec<_> = head.into_iter().collect();
        if let Some(history) = &draft.history {
            let made = self.history_entity(history, draft, entity);
            companions.extend(made.map(|made| (made, history.at)));
        }
        for unique in &draft.uniques {
            companions.extend(
                self.unique_entity(unique, entity)
                    .map(|made| (made, unique.name.at)),
            );
        }
        for entries in &draft.entries {
            let made = self.entries_entity(entries, entity);
            companions.extend(made.map(|made| (made, entries.name.at)));
        }
        for (companion, _) in &mut companions {
            companion.migrate = companion_migrate(entity, companion);
        }
        companions
    }

    fn head_entity(&mut self, head: &DraftHead, draft: &DraftEntity, entity: &Entity) -> Option<Entity> {
        let what = format!("entity `{}`: head", entity.name);
        let table = match &head.table {
            Some(name) => self.table_named(name, &what)?,
            None => entity.table,
        };
        self.check_omitted(head, entity, &what);
        let ttl = self.tables.get(table).and_then(|table| table.ttl.as_deref());
        let attributes = head_attributes(head, entity, ttl);
        let given = match table == entity.table {
            true => completed(&head.key, draft, entity),
            false => head.key.clone(),
        };
        let keys = self.keys(&what, head.at, table, &given, &attributes)?;
        let identity = identity(&keys.table);
        self.check_group(head, entity, &identity, &what);
        Some(Entity {
            name: format!("{}.head", entity.name),
            about: None,
            role: Role::Head {
                of: entity.name.clone(),
            },
            position: 0,
            table,
            tag: head.tag.clone().unwrap_or_else(|| format!("{}.head", entity.tag)),
            table_key: keys.table,
            index_keys: keys.index,
            attributes,
            identity,
            // Its times are those of its row.
            created: None,
            updated: None,
            reindex_version: None,
            closed: false,
            effects: Vec::new(),
            kept: Vec::new(),
            migrate: Migrate::default(),
        })
    }

    fn check_omitted(&mut self, head: &DraftHead, entity: &Entity, what: &str) {
        for name in &head.omit {
            if entity.attribute(&name.value).is_none() {
                let help = suggestion(
                    &name.value,
                    entity.attributes.iter().map(|attribute| attribute.name.as_str()),
                );
                self.problems.error(
                    name.at,
                    format!(
                        "{what} omits `{}`, which `{}` does not have",
                        name.value, entity.name
                    ),
                    help,
                );
            }
        }
    }

    /// A head stands for a group, so it is identified by less than a row is.
    fn check_group(&mut self, head: &DraftHead, entity: &Entity, identity: &[String], what: &str) {
        let foreign: Vec<&str> = identity
            .iter()
            .filter(|name| !entity.identity.contains(name))
            .map(String::as_str)
            .collect();
        if !foreign.is_empty() {
            self.problems.error(
                head.at,
                format!(
                    "{what} is identified by {}, which does not identify a row of `{}`",
                    listed(foreign),
                    entity.name
                ),
                format!(
                    "use only {} in its key",
                    listed(entity.identity.iter().map(String::as_str))
                ),
            );
        } else if identity.len() == entity.identity.len()
            && !entity.identity.is_empty()
            && head.table.is_none()
        {
            self.problems.error(
                head.at,
                format!("{what} is identified by everything that identifies a row, so each row would be its own head"),
                "leave out of its key what distinguishes the rows of a group",
            );
        }
    }

    fn unique_entity(&mut self, unique: &DraftUnique, entity: &Entity) -> Option<Entity> {
        let what = format!("entity `{}`: unique `{}`", entity.name, unique.name.value);
        let table = match &unique.table {
            Some(name) => self.table_named(name, &what)?,
            None => entity.table,
        };
        let keys = self.unique_keys(&what, unique, table, &entity.attributes)?;
        let fields = identity(&keys);
        if fields.is_empty() {
            self.problems.error(
                unique.name.at,
                format!("{what} has a key without an attribute, which only one row could ever take"),
                "use the attributes that are unique, such as `\"email#{email}\"`",
            );
            return None;
        }
        let attributes: Vec<Attribute> = entity
            .attributes
            .iter()
            .filter(|attribute| fields.contains(&attribute.name) || entity.identity.contains(&attribute.name))
            .cloned()
            .collect();
        Some(Entity {
            name: format!("{}.unique.{}", entity.name, unique.name.value),
            about: None,
            role: Role::Unique {
                of: entity.name.clone(),
            },
            position: 0,
            table,
            tag: format!("{}.unique.{}", entity.tag, unique.name.value),
            table_key: keys,
            index_keys: Vec::new(),
            attributes,
            identity: fields,
            created: None,
            updated: None,
            reindex_version: None,
            closed: false,
            effects: Vec::new(),
            kept: Vec::new(),
            migrate: Migrate::default(),
        })
    }

    fn unique_keys(
        &mut self,
        what: &str,
        unique: &DraftUnique,
        table: usize,
        attributes: &[Attribute],
    ) -> Option<Vec<KeyTemplate>> {
        let table = self.tables.get(table)?.clone();
        let mut keys = Vec::new();
        for (name, _) in unique.key.iter().filter(|(name, _)| !table.key.has(&name.value)) {
            let help = suggestion(&name.value, table.key.attributes().map(|key| key.name.as_str()));
            self.problems.error(
                name.at,
                format!(
                    "{what} has a template for `{}`, which is no key attribute of table `{}`",
                    name.value, table.name
                ),
                help,
            );
        }
        for key in table.key.attributes() {
            let source: Option<&(Name, Name)> = unique.key.iter().find(|(name, _)| name.value == key.name);
            let Some((_, source)) = source else {
                self.problems.error(
                    unique.name.at,
                    format!("{what} has no template for the key attribute `{}`", key.name),
                    format!("add `key.{} = \"…\"`", super::entity::toml_key(&key.name)),
                );
                return None;
            };
            keys.push(self.template(what, key, source, attributes, Purpose::Unique, false)?);
        }
        Some(keys)
    }
}

/// Templates of a companion in the same table: those that are not given are the same as the entity's.
pub(super) fn completed(given: &[(Name, Name)], draft: &DraftEntity, entity: &Entity) -> Vec<(Name, Name)> {
    let of_table: Vec<&str> = entity.table_key.iter().map(KeyTemplate::attribute).collect();
    let missing = draft.key.iter().filter(|(name, _)| {
        of_table.contains(&name.value.as_str()) && !given.iter().any(|(own, _)| own.value == name.value)
    });
    given.iter().chain(missing).cloned().collect()
}

/// The entity's attributes without those that the head omits, and with those that it remembers. A head does
/// not expire: it is removed with its group.
fn head_attributes(head: &DraftHead, entity: &Entity, ttl: Option<&str>) -> Vec<Attribute> {
    let omitted = |attribute: &Attribute| {
        Some(attribute.name.as_str()) == ttl || head.omit.iter().any(|name| name.value == attribute.name)
    };
    let mut attributes: Vec<Attribute> = entity
        .attributes
        .iter()
        .filter(|attribute| !omitted(attribute))
        .cloned()
        .collect();
    for attribute in &mut attributes {
        // The head follows the newest row; attributes that never change in a row change in the head.
        attribute.immutable = false;
    }
    for (name, of) in &head.previous {
        let known = attributes.iter().any(|attribute| attribute.name == name.value);
        if let Some(remembered) = entity.attribute(&of.value).filter(|_| !known) {
            let mut remembered = remembered.clone();
            remembered.name.clone_from(&name.value);
            remembered.optional = true;
            remembered.default = None;
            remembered.immutable = false;
            attributes.push(remembered);
        }
    }
    attributes.sort_by(|one, two| one.name.cmp(&two.name));
    attributes
}
