//! The description of a table at the endpoint as far as a gateway needs it: its key and its indexes.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{
    BillingMode, CreateTable, Database, DatabaseExt, DescribeTable, Error, GlobalSecondaryIndex,
    KeySchemaElement, KeyType, LocalSecondaryIndex, TableDescription,
};
use trestle_expr::KeyAttribute;
use trestle_item::{Item, ScalarType, codec, key};
use trestle_partiql::Keys;
use trestle_writes::refused_statement;

/// The key of a table, and its indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableShape {
    /// The key attributes: hash, then range.
    pub(crate) key: Vec<String>,
    /// The same with their types.
    typed_key: Vec<KeyAttribute>,
    /// Indexes that can be read consistently.
    local_indexes: Vec<String>,
    /// The approximate number of rows.
    pub(crate) rows: u64,
    /// The request that creates a table with the same keys and indexes.
    definition: CreateTable,
}

/// The key of a table or index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyShape {
    pub(crate) hash: Vec<KeyAttribute>,
    pub(crate) range: Vec<KeyAttribute>,
}

impl TableShape {
    fn of(table: &TableDescription) -> Self {
        let mut key: Vec<_> = table.key_schema.iter().collect();
        key.sort_by_key(|part| part.key_type != KeyType::Hash);
        let typed = key.iter().filter_map(|part| {
            let mut defined = table.attribute_definitions.iter();
            let defined = defined.find(|defined| defined.attribute_name == part.attribute_name)?;
            Some(KeyAttribute {
                name: part.attribute_name.clone(),
                kind: defined.attribute_type,
            })
        });
        let local = table.local_secondary_indexes.iter().flatten();
        TableShape {
            typed_key: typed.collect(),
            key: key.into_iter().map(|part| part.attribute_name.clone()).collect(),
            local_indexes: local.map(|index| index.index_name.clone()).collect(),
            rows: table.item_count,
            definition: definition(table),
        }
    }

    /// The request that creates a table with the same keys and indexes.
    pub(crate) fn definition(&self) -> &CreateTable {
        &self.definition
    }

    /// The key of the table, or of one of its indexes.
    pub(crate) fn key_of(&self, index: Option<&str>) -> Option<KeyShape> {
        let of_global = self.definition.global_secondary_indexes.iter().flatten();
        let of_local = self.definition.local_secondary_indexes.iter().flatten();
        let mut indexes = of_global
            .map(|index| (&index.index_name, &index.key_schema))
            .chain(of_local.map(|index| (&index.index_name, &index.key_schema)));
        let schema = match index {
            None => &self.definition.key_schema,
            Some(wanted) => indexes.find(|(name, _)| *name == wanted)?.1,
        };
        let parts = |kind: KeyType| {
            let of_kind = schema.iter().filter(move |part| part.key_type == kind);
            of_kind.map(|part| self.attribute(part)).collect()
        };
        Some(KeyShape {
            hash: parts(KeyType::Hash),
            range: parts(KeyType::Range),
        })
    }

    fn attribute(&self, part: &KeySchemaElement) -> KeyAttribute {
        let mut known = self.definition.attribute_definitions.iter();
        let known = known.find(|known| known.attribute_name == part.attribute_name);
        KeyAttribute {
            name: part.attribute_name.clone(),
            kind: known.map_or(ScalarType::S, |known| known.attribute_type),
        }
    }

    /// The key in a row, or in its identifying attributes.
    pub(crate) fn key_in(&self, row: &Item) -> Item {
        let pairs = self
            .key
            .iter()
            .filter_map(|name| Some((name.clone(), row.get(name)?.clone())));
        pairs.collect()
    }

    /// The hash key, which every row has.
    pub(crate) fn hash(&self) -> &str {
        self.key.first().map_or("", String::as_str)
    }

    /// The key in the form that PartiQL uses.
    pub(crate) fn keys(&self) -> Result<Keys<'_>, Error> {
        let (hash, range) = self.typed_key.split_at(self.typed_key.len().min(1));
        Keys::new(hash, range).map_err(refused_statement)
    }

    /// Whether a query reads the current rows.
    pub(crate) fn reads_consistently(&self, index: Option<&str>) -> bool {
        index.is_none_or(|index| self.local_indexes.iter().any(|local| local == index))
    }
}

/// The request that creates a table with the keys and indexes of another.
fn definition(table: &TableDescription) -> CreateTable {
    let global = table.global_secondary_indexes.iter().flatten();
    let global: Vec<_> = global
        .map(|index| GlobalSecondaryIndex {
            index_name: index.index_name.clone(),
            key_schema: index.key_schema.clone(),
            projection: index.projection.clone(),
            ..GlobalSecondaryIndex::default()
        })
        .collect();
    let local = table.local_secondary_indexes.iter().flatten();
    let local: Vec<_> = local
        .map(|index| LocalSecondaryIndex {
            index_name: index.index_name.clone(),
            key_schema: index.key_schema.clone(),
            projection: index.projection.clone(),
        })
        .collect();
    CreateTable {
        table_name: table.table_name.clone(),
        attribute_definitions: table.attribute_definitions.clone(),
        key_schema: table.key_schema.clone(),
        global_secondary_indexes: Some(global).filter(|indexes| !indexes.is_empty()),
        local_secondary_indexes: Some(local).filter(|indexes| !indexes.is_empty()),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}

/// Identifies a row: its table and the stored form of its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowId {
    pub(crate) table: String,
    key: Vec<u8>,
}

impl RowId {
    pub(crate) fn new(table: &str, key: &Item) -> Self {
        RowId {
            table: table.to_owned(),
            key: codec::encode(key),
        }
    }

    /// A digest that identifies the key within its table. Two keys have the same digest with a probability of about 2^-128.
    pub(crate) fn digest(&self) -> u128 {
        let mut bytes = self.key.clone();
        bytes.push(0);
        let first = key::hash(&bytes);
        bytes.push(1);
        let second = key::hash(&bytes);
        (u128::from(first) << 64) | u128::from(second)
    }
}

/// The shapes of tables, each described once.
#[derive(Debug, Default)]
pub(crate) struct TableShapes(Mutex<HashMap<String, Arc<TableShape>>>);

impl TableShapes {
    /// The shape of an existing table.
    pub(crate) async fn of(&self, database: &dyn Database, table: &str) -> Result<Arc<TableShape>, Error> {
        if let Some(known) = self.0.lock().get(table) {
            return Ok(Arc::clone(known));
        }
        let asked = DescribeTable {
            table_name: table.to_owned(),
        };
        let shape = Arc::new(TableShape::of(&database.describe_table(asked).await?.table));
        self.0.lock().insert(table.to_owned(), Arc::clone(&shape));
        Ok(shape)
    }

    /// Forgets a table that was created, changed or deleted.
    pub(crate) fn forget(&self, table: &str) {
        self.0.lock().remove(table);
    }
}
