//! The versions that inserted rows get: those of the reindexes that began last, as stored beside the data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_model::Model;

use crate::stored;

const NAME: &str = "reindex-versions";

/// The versions in force, by table. *Invariant*: while a table exists, none of them decreases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionsInForce {
    tables: BTreeMap<String, TableVersions>,
}

/// The versions in force in one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TableVersions {
    /// The last reindex of all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all: Option<u64>,
    /// The last reindex of the rows of one entity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    entities: BTreeMap<String, u64>,
}

impl VersionsInForce {
    /// The versions among stored documents.
    pub fn read(documents: &[(String, Vec<u8>)]) -> Result<Self, Error> {
        let mut documents = documents.iter();
        match documents.find(|(name, _)| name == NAME) {
            Some((name, bytes)) => stored::parse(name, bytes),
            None => Ok(Self::default()),
        }
    }

    /// The document to be stored.
    pub fn to_document(&self) -> Result<(String, Option<Vec<u8>>), Error> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((NAME.to_owned(), Some(bytes)))
    }

    /// Records that a reindex of a table, or of one of its entities, to a version has begun. An earlier
    /// version changes nothing.
    pub fn raise(&mut self, table: &str, entity: Option<&str>, version: u64) {
        let versions = self.tables.entry(table.to_owned()).or_default();
        match entity {
            Some(entity) => {
                let known = versions.entities.entry(entity.to_owned()).or_default();
                *known = version.max(*known);
            }
            None => versions.all = versions.all.max(Some(version)),
        }
    }

    /// Removes the versions of a deleted table: a new one with its name begins without. Returns whether it
    /// had any.
    pub fn forget(&mut self, table: &str) -> bool {
        self.tables.remove(table).is_some()
    }

    /// The tables that have a version in force.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The version that inserted rows of an entity get.
    #[must_use]
    pub fn of(&self, table: &str, entity: &str) -> Option<u64> {
        let versions = self.tables.get(table)?;
        versions.all.max(versions.entities.get(entity).copied())
    }

    /// The versions that inserted rows of a model get, by entity. Only entities that declare a version
    /// attribute are listed.
    pub(crate) fn of_model(&self, model: &Model) -> BTreeMap<String, u64> {
        let mut versions = BTreeMap::new();
        for table in model
            .tables()
            .iter()
            .filter(|table| self.tables.contains_key(table.table_name()))
        {
            let entities = model.entities_of(table);
            for entity in entities.filter(|entity| entity.reindex_version().is_some()) {
                let version = self.of(table.table_name(), entity.name());
                versions.extend(version.map(|version| (entity.name().to_owned(), version)));
            }
        }
        versions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_never_falls_and_the_later_of_table_and_entity_holds() {
        let mut versions = VersionsInForce::default();
        assert_eq!(versions.of("T", "doc"), None);
        versions.raise("T", Some("doc"), 5);
        versions.raise("T", Some("doc"), 3);
        assert_eq!(
            (versions.of("T", "doc"), versions.of("T", "other")),
            (Some(5), None)
        );
        versions.raise("T", None, 4);
        assert_eq!(
            (versions.of("T", "doc"), versions.of("T", "other")),
            (Some(5), Some(4))
        );
        versions.raise("T", None, 2);
        versions.raise("T", None, 6);
        assert_eq!(
            (versions.of("T", "doc"), versions.of("U", "doc")),
            (Some(6), None)
        );
    }

    #[test]
    fn a_table_that_is_gone_takes_its_versions_along() {
        let mut versions = VersionsInForce::default();
        versions.raise("T", Some("doc"), 5);
        versions.raise("U", None, 1);
        assert!(versions.forget("T") && !versions.forget("T"));
        assert_eq!(versions.of("T", "doc"), None);
        assert_eq!(versions.tables().collect::<Vec<_>>(), ["U"]);
    }

    #[test]
    fn versions_are_read_as_they_were_stored() {
        let mut versions = VersionsInForce::default();
        versions.raise("T", Some("doc"), u64::MAX);
        versions.raise("U", None, 1);
        let (name, bytes) = versions.to_document().unwrap();
        assert_eq!(
            VersionsInForce::read(&[(name, bytes.unwrap())]).unwrap(),
            versions
        );
        assert_eq!(VersionsInForce::read(&[]).unwrap(), VersionsInForce::default());
        assert!(VersionsInForce::read(&[(NAME.to_owned(), b"{".to_vec())]).is_err());
    }
}
