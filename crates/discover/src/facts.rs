//! The description of a table, besides its rows.

use trestle_model::{Index, KeyAttribute, KeySchema, StreamView};

/// A table as described by DescribeTable and DescribeTimeToLive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: KeySchema,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// The attribute with a row's expiry time.
    pub ttl: Option<String>,
    /// The view type of its stream, if it has one.
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

    /// Key attributes of the indexes that are not key attributes of the table, each once.
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
