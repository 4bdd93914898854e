//! The keys of a table's rows: their attributes, and hashes of keys and rows.

use trestle_api::{KeySchemaElement, KeyType};
use trestle_item::{Item, codec, key};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::CopyError;

/// The key attributes of a table.
#[derive(Clone, Debug)]
pub(crate) struct RowKey {
    table: String,
    /// Hash, then range.
    names: Vec<String>,
}

impl RowKey {
    pub(crate) fn new(table: &str, schema: &[KeySchemaElement]) -> Self {
        let of = |kind: KeyType| schema.iter().filter(move |element| element.key_type == kind);
        let names = of(KeyType::Hash).chain(of(KeyType::Range));
        Self {
            table: table.to_owned(),
            names: names.map(|element| element.attribute_name.clone()).collect(),
        }
    }

    /// The key of a row.
    pub(crate) fn of(&self, row: &Item) -> Result<Item, CopyError> {
        let attributes = self.names.iter().map(|name| {
            let value = row.get(name).ok_or_else(|| self.without(name))?;
            Ok((name.as_str(), value.clone()))
        });
        attributes.collect::<Result<Item, CopyError>>()
    }

    /// The bytes of a row's key, different for every row of the table.
    pub(crate) fn bytes(&self, row: &Item) -> Result<Vec<u8>, CopyError> {
        let mut bytes = Vec::new();
        for name in &self.names {
            let value = row.get(name).ok_or_else(|| self.without(name))?;
            key::encode_component(value, &mut bytes).ok_or_else(|| self.without(name))?;
        }
        Ok(bytes)
    }

    /// A hash of the key.
    pub(crate) fn number(&self, row: &Item) -> Result<u64, CopyError> {
        Ok(xxh3_64(&self.bytes(row)?))
    }

    fn without(&self, name: &str) -> CopyError {
        CopyError::Defect(format!(
            "a row of table {} has no key attribute {name}",
            self.table
        ))
    }
}

/// A hash of the whole row.
pub(crate) fn row_number(row: &Item) -> u128 {
    xxh3_128(&codec::encode(row))
}
