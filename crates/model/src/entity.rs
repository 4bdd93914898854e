//! Entities: the kinds of rows.

use trestle_item::{AttributeValue, Item, Map};

use crate::attribute::Attribute;
use crate::effect::Effect;
use crate::kept::KeptAttribute;
use crate::language::Language;
use crate::refusal::Refusal;
use crate::template::{KeyTemplate, Said};

/// A kind of row.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) role: Role,
    /// Position in the model's entities.
    pub(crate) position: usize,
    /// Position in the model's tables.
    pub(crate) table: usize,
    pub(crate) tag: String,
    /// One for each attribute of the table's key, in order.
    pub(crate) table_key: Vec<KeyTemplate>,
    /// One for each index key attribute that it has.
    pub(crate) index_keys: Vec<KeyTemplate>,
    /// Sorted by name.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) identity: Vec<String>,
    pub(crate) created: Option<String>,
    pub(crate) updated: Option<String>,
    /// The attribute that holds the version up to which a row was reindexed.
    pub(crate) reindex_version: Option<String>,
    pub(crate) closed: bool,
    pub(crate) effects: Vec<Effect>,
    /// Attributes that counters of this or of other entities keep.
    pub(crate) kept: Vec<KeptAttribute>,
    pub(crate) migrate: Migrate,
}

/// How rows of the previous version become rows of an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Migrate {
    /// The entity's name in that version, if it was different.
    pub(crate) from: Option<String>,
    /// The values that rows get where they lack them.
    pub(crate) set: Map,
}

/// The origin of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The model file declares it.
    Declared,
    /// It is the newest row of each group of another entity, and the database writes it.
    Head {
        /// The other entity.
        of: String,
    },
    /// It keeps a value unique, and the database writes it.
    Unique {
        /// The entity whose value it is.
        of: String,
    },
    /// Its rows record how another entity's rows changed, and the database writes them.
    History {
        /// The other entity.
        of: String,
    },
    /// Its rows are the members of an attribute of another entity's rows, and the database writes them.
    Entry {
        /// The other entity.
        of: String,
    },
}

impl Role {
    /// The entity that rows of this one follow; `None` if clients write them.
    #[must_use]
    pub fn follows(&self) -> Option<&str> {
        match self {
            Self::Declared => None,
            Self::Head { of } | Self::Unique { of } | Self::Entry { of } | Self::History { of } => Some(of),
        }
    }
}

impl Entity {
    /// Its name; `layer.head` for a head, `user.unique.email` for the rows that keep a value unique,
    /// `run.entries.by_tag` for entries.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A description of its rows.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// Why it exists.
    #[must_use]
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// Its value of the table's entity attribute.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Templates of the table's key: hash, then range.
    #[must_use]
    pub fn table_key(&self) -> &[KeyTemplate] {
        &self.table_key
    }

    /// Templates of the index keys it has.
    #[must_use]
    pub fn index_keys(&self) -> &[KeyTemplate] {
        &self.index_keys
    }

    /// The template of a key attribute, of the table or of an index.
    #[must_use]
    pub fn key_template(&self, attribute: &str) -> Option<&KeyTemplate> {
        let mut all = self.table_key.iter().chain(&self.index_keys);
        all.find(|template| template.attribute == attribute)
    }

    /// Its attributes, sorted by name.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attribute of this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        let at = self
            .attributes
            .binary_search_by(|attribute| attribute.name.as_str().cmp(name));
        self.attributes.get(at.ok()?)
    }

    /// The attributes that identify a row: those in its key.
    #[must_use]
    pub fn identity(&self) -> &[String] {
        &self.identity
    }

    /// The attribute that gets the time of the first write.
    #[must_use]
    pub fn created(&self) -> Option<&str> {
        self.created.as_deref()
    }

    /// The attribute that gets the time of every write.
    #[must_use]
    pub fn updated(&self) -> Option<&str> {
        self.updated.as_deref()
    }

    /// Whether attributes that are not declared are refused.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Its effects.
    #[must_use]
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Those identifying attributes that a row has.
    pub(crate) fn identity_in(&self, row: &Item) -> Item {
        let names = self.identity.iter();
        names
            .filter_map(|name| Some((name.clone(), row.get(name)?.clone())))
            .collect()
    }

    /// The key of the row that has these attributes.
    pub(crate) fn key_from(&self, item: &Item) -> Result<Item, Refusal> {
        self.key_where(|name| item.get(name))
    }

    /// The key of the row whose attributes the function returns.
    pub(crate) fn key_where<'v>(
        &self,
        attribute: impl Fn(&str) -> Option<&'v AttributeValue>,
    ) -> Result<Item, Refusal> {
        let mut key = Item::with_capacity(self.table_key.len());
        for template in &self.table_key {
            let value = template.render_from(&attribute);
            let value = value.map_err(|error| crate::derive::refused(self, template, error))?;
            key.insert(template.attribute.clone(), value);
        }
        Ok(key)
    }

    /// The identifying attributes in a table key; `None` if the key does not have this shape.
    #[must_use]
    pub fn identify(&self, key: &Item) -> Option<Item> {
        self.said(key).map(|said| said.values)
    }

    /// Everything that a table key says about its row; `None` if the key does not have this shape.
    pub(crate) fn said(&self, key: &Item) -> Option<Said> {
        // Most keys of other shapes begin differently, so that nothing else of them need be read.
        let begins = |template: &KeyTemplate| {
            key.get(&template.attribute)
                .is_some_and(|value| template.begins(value))
        };
        if !self.table_key.iter().all(begins) {
            return None;
        }
        let mut said = Said::default();
        for template in &self.table_key {
            template.read(key.get(&template.attribute)?, &mut said)?;
        }
        Some(said)
    }

    /// All texts that each attribute of the table's key can have.
    pub(crate) fn shape(&self) -> Vec<Language> {
        self.table_key.iter().map(KeyTemplate::language).collect()
    }

    /// A table key in a message.
    pub(crate) fn shown_key(&self, key: &[String]) -> String {
        let parts = self.table_key.iter().zip(key);
        let parts: Vec<String> = parts
            .map(|(template, text)| format!("{} = {text:?}", template.attribute))
            .collect();
        format!("({})", parts.join(", "))
    }
}
