//! What is known of a table besides its rows.

use trestle_model::{Index, KeyAttribute, KeySchema, StreamView};

/// A table as DescribeTable and DescribeTimeToLive tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: KeySchema,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// The attribute that says when a row expires.
    pub ttl: Option<String>,
    /// What its change records hold, if it has any.
    pub stream: Option<StreamView>,
}

impl TableFacts {
    pub(crate) fn is_table_key(&self, name: &str) -> bool {
        self.key.attributes().any(|key| key.name == name)
    }

    pub(crate) fn is_index_key(&self, name: &str) -> bool {
        self.index_keys().iter().any(|key| key.name == name)
    }

    pub(crate) fn is_key(&self, name: &str) -> bool {
        self.is_table_key(name) || self.is_index_key(name)
    }

    /// Key attributes of the indexes that are no key of the table, each once.
    pub(crate) fn index_keys(&self) -> Vec<&KeyAttribute> {
        let mut keys: Vec<&KeyAttribute> = Vec::new();
        for key in self.indexes.iter().flat_map(|index| index.key.attributes()) {
            if !self.is_table_key(&key.name) && !keys.iter().any(|known| known.name == key.name) {
                keys.push(key);
            }
        }
        keys
    }
}
