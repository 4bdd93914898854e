//! The rows of a commit, read as the model asks for them.

use std::sync::Arc;

use trestle_api::{Error, Query};
use trestle_engine::Rows;
use trestle_item::Item;
use trestle_model::RowQuery;

use crate::request::conditions;

/// The engine's rows behind the model's trait.
pub(crate) struct CommitRows<'r>(pub(crate) &'r dyn Rows);

impl trestle_model::Rows for CommitRows<'_> {
    type Error = Error;

    fn get(&self, table_name: &str, key: &Item) -> Result<Option<Arc<Item>>, Error> {
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
