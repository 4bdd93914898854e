//! The database as a hook sees it: the current state with everything that is staged.

use std::borrow::Cow;
use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::{RowQuery, Rows};
use trestle_item::Item;

use super::Transaction;
use crate::catalog::Table;
use crate::ops::query::Asked;
use crate::overlay::Overlay;

impl Transaction<'_> {
    /// A table that the request does not name. An error names it, because the client does not know it.
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
        Ok(found.map(|image| Arc::clone(image.shared_item())))
    }

    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, Error> {
        self.other_table(&query.table)?;
        let rows = Overlay {
            stored: self.group.shared.store.snapshot(),
            staged: [&self.group.batch, &self.staged.batch],
        };
        let wanted = query.limit.unwrap_or(usize::MAX);
        let mut page = Asked {
            table: &query.table,
            index: query.index.as_deref(),
            key: Cow::Borrowed(&query.key_condition),
            legacy: false,
            filter: query.filter.as_ref().map(Cow::Borrowed),
            projection: None,
            select: None,
            forward: true,
            limit: query.limit.and_then(|limit| u32::try_from(limit).ok()),
            start: None,
            consistent: None,
            capacity: None,
        };
        let mut items = Vec::new();
        loop {
            let answer = page.read(&rows, self.catalog(), self.now())?;
            items.extend(answer.items.into_iter().flatten());
            items.truncate(wanted);
            page.start = answer.last_evaluated_key;
            if page.start.is_none() || items.len() == wanted {
                return Ok(items);
            }
        }
    }
}
