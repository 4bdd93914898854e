//! The database at the moment of a commit.

use std::sync::Arc;

use trestle_api::Error;
use trestle_expr::{Condition, KeyCondition};
use trestle_item::Item;

/// The rows at this moment of the commit: storage with the writes that were staged before this request.
pub trait Rows {
    /// The row with this table key.
    fn get(&self, table: &str, key: &Item) -> Result<Option<Arc<Item>>, Error>;

    /// All rows that the query selects, in the order of their keys, without paging.
    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, Error>;
}

/// A query of one partition of a table or index. Its conditions are parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct RowQuery {
    /// The table's name in the database.
    pub table: String,
    /// The index, if it is not the table itself.
    pub index: Option<String>,
    /// Which rows are read.
    pub key_condition: KeyCondition,
    /// Which of those rows are returned.
    pub filter: Option<Condition>,
    /// How many rows are returned at most.
    pub limit: Option<usize>,
    /// Whether these rows change only together with a row that the same write reads: if that row is
    /// unchanged, so are they.
    pub is_guarded: bool,
}
