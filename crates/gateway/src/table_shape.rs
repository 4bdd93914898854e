//! What a gateway knows of a table at the endpoint: its key, and which indexes it has.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Database, DatabaseExt, DescribeTable, Error, KeyType, TableDescription};
use trestle_expr::KeyAttribute;
use trestle_item::{Item, codec};
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
    /// About how many rows there are.
    pub(crate) rows: u64,
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
        }
    }

    /// The key in a row, or in what identifies one.
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

    /// The key as PartiQL sees it.
    pub(crate) fn keys(&self) -> Result<Keys<'_>, Error> {
        let (hash, range) = self.typed_key.split_at(self.typed_key.len().min(1));
        Keys::new(hash, range).map_err(refused_statement)
    }

    /// Whether the rows that a query finds are those of this moment.
    pub(crate) fn reads_consistently(&self, index: Option<&str>) -> bool {
        index.is_none_or(|index| self.local_indexes.iter().any(|local| local == index))
    }
}

/// A row, named: its table and the stored form of its key.
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
}

/// The shapes of tables, asked for once.
#[derive(Debug, Default)]
pub(crate) struct TableShapes(Mutex<HashMap<String, Arc<TableShape>>>);

impl TableShapes {
    /// The shape of a table that has to be there.
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

    /// A table was created, changed or deleted.
    pub(crate) fn forget(&self, table: &str) {
        self.0.lock().remove(table);
    }
}
