//! Entities: their attributes, keys and identity.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_expr::KeyAttribute;

use super::Builder;
use super::template::Purpose;
use crate::attribute::{Attribute, AttributeKind};
use crate::draft::{DraftEntity, Name};
use crate::entity::{Entity, Migrate, Role};
use crate::problem::{Placed, suggestion};
use crate::template::KeyTemplate;

/// The key templates of one entity.
pub(super) struct Keys {
    pub(super) table: Vec<KeyTemplate>,
    pub(super) index: Vec<KeyTemplate>,
}

impl Builder<'_, '_, '_> {
    pub(super) fn add_entities(&mut self) {
        for draft in &self.draft.entities {
            let Some(entity) = self.entity(draft) else {
                continue;
            };
            let companions = self.companions(draft, &entity);
            self.push(entity, place(draft));
            for (companion, at) in companions {
                self.push(companion, at);
            }
        }
    }

    fn push(&mut self, mut entity: Entity, at: usize) {
        entity.position = self.entities.len();
        if let Some(table) = self.tables.get_mut(entity.table) {
            table.entities.push(self.entities.len());
        }
        self.entities.push(entity);
        self.places.push(at);
    }

    fn entity(&mut self, draft: &DraftEntity) -> Option<Entity> {
        let what = format!("entity `{}`", draft.name.value);
        self.check_entity_name(draft, &what);
        let table = self.table_named(draft.table.as_ref()?, &what)?;
        let attributes = self.attributes(draft, table, &what);
        let keys = self.keys(&what, draft.name.at, table, &draft.key, &attributes)?;
        let mut entity = Entity {
            name: draft.name.value.clone(),
            about: draft.about.clone(),
            role: Role::Declared,
            position: 0,
            table,
            tag: draft.tag.clone().unwrap_or_else(|| draft.name.value.clone()),
            identity: identity(&keys.table),
            table_key: keys.table,
            index_keys: keys.index,
            attributes,
            created: draft.created.as_ref().map(|name| name.value.clone()),
            updated: draft.updated.as_ref().map(|name| name.value.clone()),
            reindex_version: draft.reindex_version.as_ref().map(|name| name.value.clone()),
            closed: draft.closed,
            effects: Vec::new(),
            kept: Vec::new(),
            migrate: Migrate::default(),
        };
        entity.migrate = self.migrate(draft, &entity, &what);
        Some(entity)
    }

    fn check_entity_name(&mut self, draft: &DraftEntity, what: &str) {
        let name = &draft.name.value;
        let legal = name.starts_with(|c: char| c.is_alphabetic())
            && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if !legal {
            self.problems.error(
                draft.name.at,
                format!("{what} has a name that is no word"),
                "use letters, digits, `_` and `-`, a letter first",
            );
        }
    }

    /// The declared attributes, those of the timestamps, and the table's time to live if it is not declared.
    fn attributes(&mut self, draft: &DraftEntity, table: usize, what: &str) -> Vec<Attribute> {
        let mut attributes: Vec<Attribute> = draft
            .attributes
            .iter()
            .map(|placed| placed.value.clone())
            .collect();
        for name in [&draft.created, &draft.updated].into_iter().flatten() {
            self.add_timestamp(&mut attributes, draft, name, what);
        }
        self.add_reindex_version(&mut attributes, draft, table, what);
        attributes.sort_by(|one, two| one.name.cmp(&two.name));
        attributes.dedup_by(|one, two| one.name == two.name);
        self.decide_precisions(&mut attributes, draft, table, what);
        self.check_tag_attribute(draft, table, what);
        self.check_ttl_attribute(draft, table, what);
        attributes
    }

    fn add_timestamp(
        &mut self,
        attributes: &mut Vec<Attribute>,
        draft: &DraftEntity,
        name: &Name,
        what: &str,
    ) {
        match attributes.iter().find(|attribute| attribute.name == name.value) {
            None => attributes.push(Attribute::new(name.value.clone(), AttributeKind::Timestamp)),
            Some(known) if matches!(known.kind, AttributeKind::Timestamp | AttributeKind::EpochSeconds) => {}
            Some(known) => {
                let message = format!(
                    "{what}: `{}` gets a time, but is of type {}",
                    name.value,
                    known.kind.name()
                );
                let declared = draft
                    .attributes
                    .iter()
                    .find(|attribute| attribute.value.name == name.value);
                let at = declared.map_or(name.at, |attribute| attribute.at);
                self.problems
                    .error(at, message, "make it a timestamp or epoch-seconds");
            }
        }
    }

    fn check_tag_attribute(&mut self, draft: &DraftEntity, table: usize, what: &str) {
        let tag = self
            .tables
            .get(table)
            .and_then(|table| table.entity_attribute.clone());
        let declared = draft
            .attributes
            .iter()
            .find(|attribute| Some(&attribute.value.name) == tag.as_ref());
        if let Some(attribute) = declared {
            let message = format!(
                "{what} declares `{}`, which holds the entity's tag",
                attribute.value.name
            );
            self.problems.error(
                attribute.at,
                message,
                "leave it out; the database fills it in. `tag` says what it is",
            );
        }
    }

    fn check_ttl_attribute(&mut self, draft: &DraftEntity, table: usize, what: &str) {
        let ttl = self.tables.get(table).and_then(|table| table.ttl.clone());
        let declared = draft
            .attributes
            .iter()
            .find(|attribute| Some(&attribute.value.name) == ttl.as_ref());
        if let Some(attribute) = declared.filter(|attribute| !attribute.value.kind.is_numeric()) {
            let message = format!(
                "{what}: `{}` is the table's time to live, but is of type {}",
                attribute.value.name,
                attribute.value.kind.name()
            );
            self.problems
                .error(attribute.at, message, "make it epoch-seconds");
        }
    }

    /// Templates for the key attributes of a table and its indexes. A table key without one is an error.
    pub(super) fn keys(
        &mut self,
        what: &str,
        at: usize,
        table: usize,
        given: &[(Name, Name)],
        attributes: &[Attribute],
    ) -> Option<Keys> {
        let table = self.tables.get(table)?.clone();
        self.check_known_keys(what, given, &table);
        let mut keys = Keys {
            table: Vec::new(),
            index: Vec::new(),
        };
        for key in table.key_attributes() {
            let of_table = table.key.has(&key.name);
            let purpose = if of_table {
                Purpose::TableKey
            } else {
                Purpose::IndexKey
            };
            let sorts = is_range(&table, &key.name);
            let template = match self.source(what, at, given, key, attributes) {
                Some(source) => self.template(what, key, &source, attributes, purpose, sorts)?,
                None if of_table => {
                    self.problems.error(
                        at,
                        format!("{what} has no template for the key attribute `{}`", key.name),
                        format!(
                            "add `key.{} = \"…\"`, or an attribute of that name",
                            toml_key(&key.name)
                        ),
                    );
                    return None;
                }
                None => continue,
            };
            if of_table {
                keys.table.push(template);
            } else {
                keys.index.push(template);
            }
        }
        Some(keys)
    }

    fn check_known_keys(&mut self, what: &str, given: &[(Name, Name)], table: &crate::model::Table) {
        let known = table.key_attributes();
        for (name, _) in given {
            if !known.iter().any(|key| key.name == name.value) {
                let help = suggestion(&name.value, known.iter().map(|key| key.name.as_str()));
                self.problems.error(name.at, format!("{what} has a template for `{}`, which is no key attribute of table `{}` or its indexes", name.value, table.name), help);
            }
        }
    }

    /// The template as given, or the attribute of the same name.
    fn source(
        &mut self,
        what: &str,
        at: usize,
        given: &[(Name, Name)],
        key: &KeyAttribute,
        attributes: &[Attribute],
    ) -> Option<Name> {
        let template = given.iter().find(|(name, _)| name.value == key.name);
        let own = attributes.iter().find(|attribute| attribute.name == key.name);
        match (template, own) {
            (Some((name, template)), Some(_)) if template.value != format!("{{{}}}", key.name) => {
                self.problems.error(
                    name.at,
                    format!(
                        "{what} has `{}` both as an attribute and as a derived key",
                        key.name
                    ),
                    "remove one of them; a derived key is no attribute of the entity",
                );
                Some(template.clone())
            }
            (Some((_, template)), _) => Some(template.clone()),
            (None, Some(own)) => Some(Placed::new(format!("{{{}}}", own.name), at)),
            (None, None) => None,
        }
    }

    /// Tags distinguish entities, so no two of a table are equal.
    pub(super) fn check_tags(&mut self) {
        for table in &mut self.tables {
            let mut by_tag = HashMap::new();
            for position in &table.entities {
                let Some(entity) = self.entities.get(*position) else {
                    continue;
                };
                if let Some(other) = by_tag.insert(entity.tag.clone(), *position)
                    && let Some(other) = self.entities.get(other)
                {
                    let message = format!(
                        "entities `{}` and `{}` of table `{}` have the same tag {:?}",
                        other.name, entity.name, table.name, entity.tag
                    );
                    let place = self.places.get(*position).copied().unwrap_or_default();
                    self.problems
                        .error(place, message, "give one of them another `tag`");
                }
            }
            table.by_tag = Arc::new(by_tag);
        }
    }

    /// Entities of the same shape are entities of the table, and have tags.
    pub(super) fn check_same_shapes(&mut self) {
        for (table, draft) in self.tables.iter().zip(&self.draft.tables) {
            let entities = table.entities.iter().filter_map(|at| self.entities.get(*at));
            let names: Vec<&str> = entities.map(Entity::name).collect();
            for name in draft.same_shape.iter().flatten() {
                if !names.contains(&name.value.as_str()) {
                    let message = format!(
                        "table `{}`: `same_shape` names `{}`, which is no entity of this table",
                        table.name, name.value
                    );
                    self.problems
                        .error(name.at, message, suggestion(&name.value, names.iter().copied()));
                }
                if table.entity_attribute.is_none() {
                    let message = format!(
                        "table `{}` has entities of the same shape, but no tag to tell them apart",
                        table.name
                    );
                    self.problems
                        .error(name.at, message, "add `entity_attribute = \"entityType\"`");
                }
            }
        }
    }
}

/// The place of an entity's key, or of its name.
fn place(draft: &DraftEntity) -> usize {
    draft.key.first().map_or(draft.name.at, |(name, _)| name.at)
}

/// Whether a key attribute determines the order of a query.
fn is_range(table: &crate::model::Table, name: &str) -> bool {
    let schemas = std::iter::once(&table.key).chain(table.indexes.iter().map(|index| &index.key));
    schemas
        .flat_map(|schema| &schema.range)
        .any(|key| key.name == name)
}

pub(super) fn identity(table_key: &[KeyTemplate]) -> Vec<String> {
    let mut identity: Vec<String> = Vec::new();
    for name in table_key.iter().flat_map(KeyTemplate::fields) {
        if !identity.iter().any(|known| known == name) {
            identity.push(name.to_owned());
        }
    }
    identity
}

/// A name as it must be written before the `=`.
pub(super) fn toml_key(name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}
