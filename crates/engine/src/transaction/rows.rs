//! What a hook sees of the database: the state of this moment, with everything that is staged.

use std::sync::Arc;

use trestle_api::{Error, Query};
use trestle_item::Item;

use super::Transaction;
use crate::catalog::Table;
use crate::hook::Rows;
use crate::ops;
use crate::overlay::Overlay;

impl Transaction<'_> {
    /// A table that the request does not name. The client is told which one, since it cannot know.
    pub(crate) fn other_table(&self, name: &str) -> Result<Arc<Table>, Error> {
        self.table(name).map_err(|_| {
            Error::validation(format!(
                "The request also concerns table {name}, which does not exist or is not active: create it, or wait \
                 until it is active"
            ))
        })
    }
}

impl Rows for Transaction<'_> {
    fn get(&self, table: &str, key: &Item) -> Result<Option<Arc<Item>>, Error> {
        let table = self.other_table(table)?;
        let key = table.key.item_key(key)?;
        let found = self.item(&table, &key)?;
        Ok(found.map(|image| image.shared_item()))
    }

    fn query(&self, query: &Query) -> Result<Vec<Item>, Error> {
        self.other_table(&query.table_name)?;
        let rows = Overlay {
            stored: self.group.shared.store.snapshot(),
            staged: [&self.group.batch, &self.staged.batch],
        };
        let wanted = query.limit.map_or(usize::MAX, |limit| limit as usize);
        let mut page = query.clone();
        let mut items = Vec::new();
        loop {
            let answer = ops::query::read(&rows, self.catalog(), self.now(), &page)?;
            items.extend(answer.items.into_iter().flatten());
            items.truncate(wanted);
            page.exclusive_start_key = answer.last_evaluated_key;
            if page.exclusive_start_key.is_none() || items.len() == wanted {
                return Ok(items);
            }
        }
    }
}
