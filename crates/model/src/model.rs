//! A loaded and proved model.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use trestle_expr::KeyAttribute;

use crate::access::AccessPattern;
use crate::effects::Plan;
use crate::entity::Entity;
use crate::problem::Problem;

/// A model: tables, the entities in them, and how they are reached.
///
/// *Invariant*: every key template is injective, and two entities of one table never have the same key,
/// unless the table says under `same_shape` that their tags distinguish them.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) entities: Vec<Entity>,
    pub(crate) access: Vec<AccessPattern>,
    /// The effects of writes, for each entity.
    pub(crate) plans: Vec<Plan>,
    /// Positions of the tables by their names in the database.
    pub(crate) by_table_name: HashMap<String, usize>,
    /// The versions that inserted rows get, by entity: those of the reindexes that began last.
    pub(crate) versions_in_force: BTreeMap<String, u64>,
}

/// A model file that was read: the model, unless there are errors, and all problems.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model; `None` if any problem is an error.
    pub model: Option<Model>,
    /// Errors and warnings, in the order of the file.
    pub problems: Vec<Problem>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) name: String,
    pub(crate) table_name: String,
    pub(crate) key: KeySchema,
    pub(crate) indexes: Vec<Index>,
    pub(crate) ttl: Option<String>,
    pub(crate) stream: Option<StreamView>,
    pub(crate) entity_attribute: Option<String>,
    pub(crate) open: bool,
    /// Whether writes to it have effects.
    pub(crate) has_effects: bool,
    /// Positions in [`Model::entities`].
    pub(crate) entities: Vec<usize>,
    pub(crate) by_tag: Arc<HashMap<String, usize>>,
}

/// The key attributes of a table or index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySchema {
    /// One for a table, up to four for an index.
    pub hash: Vec<KeyAttribute>,
    /// None or one for a table, up to four for an index.
    pub range: Vec<KeyAttribute>,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: KeySchema,
    /// The attributes that it holds besides keys.
    pub projection: Projection,
    /// Whether it is a local index.
    pub local: bool,
}

/// The attributes that an index holds besides keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Whole items.
    All,
    /// Nothing else.
    Keys,
    /// These attributes.
    Include(Vec<String>),
}

/// The contents of a table's change records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamView {
    /// Only the key.
    KeysOnly,
    /// The item after the change.
    NewImage,
    /// The item before the change.
    OldImage,
    /// Both.
    NewAndOldImages,
}

impl StreamView {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "keys-only" => Some(Self::KeysOnly),
            "new-image" => Some(Self::NewImage),
            "old-image" => Some(Self::OldImage),
            "new-and-old-images" => Some(Self::NewAndOldImages),
            _ => None,
        }
    }
}

impl Model {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// The tables, in the order of the file.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table of this name in the database.
    #[must_use]
    pub fn table(&self, table_name: &str) -> Option<&Table> {
        self.tables.get(self.table_at(table_name)?)
    }

    pub(crate) fn table_at(&self, table_name: &str) -> Option<usize> {
        self.by_table_name.get(table_name).copied()
    }

    /// The entities in the order of the file, each followed by those that its head and its unique keys make.
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// The entity of this name, such as `layer` or `layer.head`.
    #[must_use]
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The entities of a table.
    pub fn entities_of<'m>(&'m self, table: &'m Table) -> impl Iterator<Item = &'m Entity> {
        table.entities.iter().filter_map(|at| self.entities.get(*at))
    }

    /// The table of an entity.
    #[must_use]
    pub fn table_of(&self, entity: &Entity) -> Option<&Table> {
        self.tables.get(entity.table)
    }

    /// The access patterns, in the order of the file.
    #[must_use]
    pub fn access_patterns(&self) -> &[AccessPattern] {
        &self.access
    }

    /// The access pattern of this name.
    #[must_use]
    pub fn access(&self, name: &str) -> Option<&AccessPattern> {
        self.access.iter().find(|pattern| pattern.name == name)
    }
}

impl Table {
    /// Its name in the model.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name in the database: with the prefix.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.table_name
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &KeySchema {
        &self.key
    }

    /// Its indexes, in the order of the file.
    #[must_use]
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// The index of this name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The attribute with the time at which a row expires.
    #[must_use]
    pub fn ttl(&self) -> Option<&str> {
        self.ttl.as_deref()
    }

    /// The contents of its change records, if it has any.
    #[must_use]
    pub fn stream(&self) -> Option<StreamView> {
        self.stream
    }

    /// The attribute that holds the entity's tag.
    #[must_use]
    pub fn entity_attribute(&self) -> Option<&str> {
        self.entity_attribute.as_deref()
    }

    /// Whether rows without an entity may be written.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Every key attribute of the table and of its indexes, each once, the table's own first.
    #[must_use]
    pub fn key_attributes(&self) -> Vec<&KeyAttribute> {
        let mut all: Vec<&KeyAttribute> = Vec::new();
        let schemas = std::iter::once(&self.key).chain(self.indexes.iter().map(|index| &index.key));
        for attribute in schemas.flat_map(KeySchema::attributes) {
            if !all.iter().any(|known| known.name == attribute.name) {
                all.push(attribute);
            }
        }
        all
    }
}

impl KeySchema {
    /// Hash attributes, then range attributes.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.hash.iter().chain(&self.range)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }
}
