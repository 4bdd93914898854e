//! The rows of a collection, as a query.

use std::collections::BTreeMap;

use trestle_api::{Database, KeySchemaElement};
use trestle_api::{
    DatabaseExt, DescribeTable, Error, KeyType, Query, ReturnConsumedCapacity, TableDescription,
    is_own_table, own_table_refusal,
};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_model::{AccessPattern, Model};

use crate::text;

const HASH: &str = "#h";
const RANGE: &str = "#r";

/// The rows of a collection: of a partition, of those whose sort key begins with a prefix, or those that an access pattern
/// finds.
#[derive(Clone, Debug)]
pub struct CollectionRows<'m> {
    /// The query, which reads keys and the attributes that determine a row's entity.
    pub(crate) query: Query,
    /// The attributes of the table's key.
    pub(crate) key: Vec<String>,
    /// The type of the sort key.
    range: Option<ScalarType>,
    /// Only rows of the entities of this access pattern.
    pub(crate) access: Option<(&'m Model, &'m AccessPattern)>,
}

impl CollectionRows<'static> {
    /// All rows of a partition of a table. A text is converted to a number if the key is one, or from base64
    /// if it is bytes.
    pub async fn of_partition(
        database: &dyn Database,
        table: &str,
        partition: AttributeValue,
    ) -> Result<Self, Error> {
        refuse_own(table)?;
        let request = DescribeTable {
            table_name: table.to_owned(),
        };
        let described = database.describe_table(request).await?;
        Self::of_described(&described.table, partition)
    }

    /// Like [`CollectionRows::of_partition`], for a described table.
    pub fn of_described(table: &TableDescription, partition: AttributeValue) -> Result<Self, Error> {
        refuse_own(&table.table_name)?;
        let of = |wanted: KeyType| {
            let schema = table.key_schema.iter();
            schema
                .filter(move |element| element.key_type == wanted)
                .collect::<Vec<_>>()
        };
        let (hash, range) = match (of(KeyType::Hash).as_slice(), of(KeyType::Range).as_slice()) {
            ([hash], []) => (*hash, None),
            ([hash], [range]) => (*hash, Some(*range)),
            _ => {
                return Err(Error::validation(format!(
                    "The key of table {} has several attributes of one kind; name the rows with an access pattern of a model",
                    table.table_name
                )));
            }
        };
        let kind = type_of(table, hash)?;
        let partition = text::key_value(&hash.attribute_name, kind, partition)?;
        let range_kind = range.map(|range| type_of(table, range)).transpose()?;
        let key = [Some(hash), range].into_iter().flatten();
        let key: Vec<String> = key.map(|element| element.attribute_name.clone()).collect();
        let names = [HASH, RANGE].into_iter().zip(&key);
        let projection = if range.is_some() { "#h, #r" } else { HASH };
        Ok(CollectionRows {
            query: Query {
                table_name: table.table_name.clone(),
                key_condition_expression: Some("#h = :h".to_owned()),
                projection_expression: Some(projection.to_owned()),
                expression_attribute_names: Some(
                    names
                        .map(|(placeholder, name)| (placeholder.to_owned(), name.clone()))
                        .collect::<BTreeMap<_, _>>(),
                ),
                expression_attribute_values: Some(Item::from([(":h", partition)])),
                consistent_read: Some(true),
                return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
                ..Query::default()
            },
            key,
            range: range_kind,
            access: None,
        })
    }

    /// Only rows whose sort key begins with this. End it with the separator, `wf/`, because `wf` also begins
    /// `wf-2`.
    pub fn beginning_with(mut self, prefix: AttributeValue) -> Result<Self, Error> {
        let table = &self.query.table_name;
        let name = self.key.get(1).map_or("", String::as_str);
        let prefix = match self.range {
            None => {
                return Err(Error::validation(format!(
                    "Table {table} has no sort key, so that a partition is one row: leave the prefix out"
                )));
            }
            Some(ScalarType::N) => {
                return Err(Error::validation(format!(
                    "The sort key {name} of table {table} is a number, and numbers do not begin with one another: leave the \
                     prefix out"
                )));
            }
            Some(kind) => text::key_value(name, kind, prefix)?,
        };
        self.query.key_condition_expression = Some("#h = :h AND begins_with(#r, :r)".to_owned());
        if let Some(values) = &mut self.query.expression_attribute_values {
            values.insert(":r", prefix);
        }
        Ok(self)
    }
}

impl<'m> CollectionRows<'m> {
    pub(crate) fn of_query(query: Query, key: Vec<String>, access: (&'m Model, &'m AccessPattern)) -> Self {
        CollectionRows {
            query,
            key,
            range: None,
            access: Some(access),
        }
    }

    /// The table.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.query.table_name
    }

    /// The table's key of a row.
    pub(crate) fn key_of(&self, row: &Item) -> Result<Item, Error> {
        let mut key = Item::new();
        for name in &self.key {
            let value = row.get(name).ok_or_else(|| {
                Error::internal(format!(
                    "a row of table {} came without {name}",
                    self.table_name()
                ))
            })?;
            key.insert(name.clone(), value.clone());
        }
        Ok(key)
    }
}

/// Refuses Trestle's own tables, which clients may not write.
pub(crate) fn refuse_own(table: &str) -> Result<(), Error> {
    match is_own_table(table) {
        true => Err(own_table_refusal(table)),
        false => Ok(()),
    }
}

fn type_of(table: &TableDescription, element: &KeySchemaElement) -> Result<ScalarType, Error> {
    let mut definitions = table.attribute_definitions.iter();
    let definition = definitions.find(|one| one.attribute_name == element.attribute_name);
    let missing = || {
        Error::internal(format!(
            "table {} was described without the type of its key {}",
            table.table_name, element.attribute_name
        ))
    };
    definition
        .map(|definition| definition.attribute_type)
        .ok_or_else(missing)
}
