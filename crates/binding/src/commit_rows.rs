//! The rows of a commit, read as the model asks for them.

use trestle_api::{Error, Query};
use trestle_engine::Rows;
use trestle_expr::{Condition, KeyCondition};
use trestle_item::Item;
use trestle_model::RowQuery;

/// The engine's rows behind the model's trait.
pub(crate) struct CommitRows<'r>(pub(crate) &'r dyn Rows);

impl trestle_model::Rows for CommitRows<'_> {
    type Error = Error;

    fn get(&self, table_name: &str, key: &Item) -> Result<Option<Item>, Error> {
        self.0.get(table_name, key)
    }

    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, Error> {
        let RowQuery {
            table_name,
            index,
            key_condition,
            filter,
        } = query;
        self.0.query(&Query {
            table_name: table_name.clone(),
            index_name: index.clone(),
            ..conditions(key_condition, filter.as_ref())
        })
    }
}

/// A query with nothing but its conditions.
pub(crate) fn conditions(key_condition: &KeyCondition, filter: Option<&Condition>) -> Query {
    let mut key = key_condition.print();
    let mut filter_text = None;
    if let Some(filter) = filter {
        // Both number their placeholders from zero, so those of the filter get another letter.
        let printed = filter.print();
        let renamed = |text: &str| text.replace("#n", "#f").replace(":v", ":f");
        let names = printed.names.into_iter();
        key.names
            .extend(names.map(|(name, value)| (renamed(&name), value)));
        for (name, value) in printed.values {
            key.values.insert(renamed(&name), value);
        }
        filter_text = Some(renamed(&printed.text));
    }
    Query {
        key_condition_expression: Some(key.text),
        filter_expression: filter_text,
        expression_attribute_names: Some(key.names),
        expression_attribute_values: Some(key.values),
        ..Query::default()
    }
}
