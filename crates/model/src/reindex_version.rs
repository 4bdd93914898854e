//! The attribute with the version up to which a row was reindexed: a number that only a reindex writes.

use std::collections::BTreeMap;

use trestle_hook::Edits;
use trestle_item::{AttributeValue, Item};

use crate::attribute::shown;
use crate::entity::Entity;
use crate::model::{Model, Table};
use crate::refusal::{Given, Keeps, Refusal};

impl Entity {
    /// The attribute that holds the version up to which a row was reindexed.
    #[must_use]
    pub fn reindex_version(&self) -> Option<&str> {
        self.reindex_version.as_deref()
    }

    /// Whether each of these attributes is the version or an index key that contains it.
    #[must_use]
    pub fn has_version_in_all(&self, attributes: &[String]) -> bool {
        let is_version = |name: &str| self.reindex_version.as_deref() == Some(name);
        let mut attributes = attributes.iter();
        attributes.all(|name| is_version(name) || is_made_of_version(self, name))
    }

    /// The version that a row has.
    fn version_of<'i>(&self, row: Option<&'i Item>) -> Option<&'i AttributeValue> {
        let stored = row?.get(self.reindex_version.as_ref()?);
        // A value that is not a number was never a version.
        stored.filter(|value| value.as_n().is_some())
    }
}

impl Model {
    /// The model with these versions for inserted rows, by entity. Entities that declare no attribute for the
    /// version are ignored.
    #[must_use]
    pub fn with_versions_in_force(&self, versions: BTreeMap<String, u64>) -> Self {
        Self {
            versions_in_force: versions,
            ..self.clone()
        }
    }

    fn version_in_force(&self, entity: &Entity) -> Option<AttributeValue> {
        let version = self.versions_in_force.get(&entity.name)?;
        Some(AttributeValue::N((*version).into()))
    }

    /// The version that a row must get: the one that it has, or the version in force if the row is new.
    pub(crate) fn version_to_give(
        &self,
        entity: &Entity,
        old: Option<&Item>,
        new: &Item,
        stamps: bool,
    ) -> Option<AttributeValue> {
        let attribute = entity.reindex_version.as_ref()?;
        if new.contains_key(attribute) {
            return None;
        }
        match old {
            Some(_) => entity.version_of(old).cloned(),
            None => self.version_in_force(entity).filter(|_| stamps),
        }
    }

    /// A client may leave the version out, or give it unchanged. A new row may have the version in force.
    pub(crate) fn check_version(
        &self,
        entity: &Entity,
        old: Option<&Item>,
        new: &Item,
    ) -> Result<(), Refusal> {
        let Some(attribute) = &entity.reindex_version else {
            return Ok(());
        };
        let Some(given) = new.get(attribute) else {
            return Ok(());
        };
        let stored = match old {
            Some(_) => entity.version_of(old).cloned(),
            None => self.version_in_force(entity),
        };
        if stored.as_ref() == Some(given) {
            return Ok(());
        }
        Err(Refusal::Given(Box::new(Given {
            entity: entity.name.clone(),
            attribute: attribute.clone(),
            why: Keeps::ReindexVersion,
            stored: stored.map_or_else(|| "not there".to_owned(), |stored| shown(&stored)),
            given: shown(given),
        })))
    }
}

/// Refuses to raise an attribute that is not the entity's version.
pub(crate) fn check_touched(table: &Table, entity: &Entity, edits: &Edits) -> Result<(), Refusal> {
    let mut touched = edits.set.iter().map(|(name, _)| name);
    let (Some(attribute), None, []) = (touched.next(), touched.next(), edits.remove.as_slice()) else {
        return Err(Refusal::defect("a touch changes one attribute"));
    };
    let is_right = match &entity.reindex_version {
        Some(declared) => declared == attribute,
        None => !entity.closed && !crate::derive::declares(table, entity, attribute),
    };
    if is_right {
        return Ok(());
    }
    Err(Refusal::NotTheVersion {
        entity: entity.name.clone(),
        attribute: attribute.clone(),
        declared: entity.reindex_version.clone(),
    })
}

/// Whether an attribute is an index key that contains the version.
pub(crate) fn is_made_of_version(entity: &Entity, attribute: &str) -> bool {
    let version = entity.reindex_version.as_deref();
    let mut keys = entity.index_keys.iter();
    keys.any(|template| {
        template.attribute == attribute && template.fields().iter().any(|field| Some(*field) == version)
    })
}
