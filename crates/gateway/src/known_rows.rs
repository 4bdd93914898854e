//! The rows that a pure computation requests. It runs with the known rows; rows that it lacks are fetched
//! together, and it runs again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::{RowQuery, Rows};
use trestle_item::Item;

use crate::find::{FoundRow, LyingRow};
use crate::look_again::Look;
use crate::part::Part;
use crate::table_shape::RowId;

/// Rows as they were read, each consistently, but not all at the same moment.
#[derive(Debug, Default)]
pub(crate) struct KnownRows {
    rows: BTreeMap<RowId, KnownRow>,
    queries: Vec<(RowQuery, Vec<RowId>)>,
    run: RefCell<Run>,
}

/// A row that was read.
#[derive(Clone, Debug)]
pub(crate) struct KnownRow {
    pub(crate) key: Item,
    pub(crate) item: Option<Arc<Item>>,
    /// The row in its former place, if it is still there.
    pub(crate) lying: Option<LyingRow>,
}

/// The requests of one run.
#[derive(Debug, Default)]
struct Run {
    /// Known rows that were used.
    used: BTreeSet<RowId>,
    /// Known queries that were used, by their positions. Another write may add a row to their results before the commit.
    looked: BTreeSet<usize>,
    lacking: BTreeMap<RowId, Item>,
    lacking_queries: Vec<RowQuery>,
}

impl KnownRows {
    /// Clears the requests of the last run.
    pub(crate) fn begin_run(&mut self) {
        self.run = RefCell::default();
    }

    /// Takes the rows and queries that the last run lacked.
    pub(crate) fn take_lacking(&mut self) -> (BTreeMap<RowId, Item>, Vec<RowQuery>) {
        let run = self.run.get_mut();
        (
            std::mem::take(&mut run.lacking),
            std::mem::take(&mut run.lacking_queries),
        )
    }

    /// Whether the last run lacked anything; then its result is invalid.
    pub(crate) fn lacks(&self) -> bool {
        let run = self.run.borrow();
        !run.lacking.is_empty() || !run.lacking_queries.is_empty()
    }

    /// Adds a row that was read.
    pub(crate) fn learn(&mut self, id: RowId, key: Item, row: FoundRow) {
        let known = KnownRow {
            key,
            item: row.item.map(Arc::new),
            lying: row.lying,
        };
        self.rows.insert(id, known);
    }

    /// Adds the result of a query.
    pub(crate) fn learn_query(&mut self, query: RowQuery, rows: Vec<RowId>) {
        self.queries.push((query, rows));
    }

    /// A row, if it was read.
    pub(crate) fn row(&self, id: &RowId) -> Option<&KnownRow> {
        self.rows.get(id)
    }

    /// The rows that the last run used: its result is valid as long as they are unchanged.
    pub(crate) fn used(&self) -> Vec<(RowId, KnownRow)> {
        let run = self.run.borrow();
        let used = run.used.iter();
        used.filter_map(|id| Some((id.clone(), self.rows.get(id)?.clone())))
            .collect()
    }

    /// The looks for rows of the last run, on which a commit of these parts depends.
    pub(crate) fn looks(&self, parts: &[Part]) -> Vec<Look> {
        let run = self.run.borrow();
        let looked = run.looked.iter().filter_map(|at| self.queries.get(*at));
        let looks = looked.map(|(query, found)| Look::new(query.clone(), found, parts));
        looks.collect()
    }

    /// Records that the last run used a known row.
    pub(crate) fn note_used(&self, id: RowId) {
        self.run.borrow_mut().used.insert(id);
    }
}

impl Rows for KnownRows {
    fn get(&self, table: &str, key: &Item) -> Result<Option<Arc<Item>>, Error> {
        let id = RowId::new(table, key);
        match self.rows.get(&id) {
            Some(known) => {
                self.note_used(id);
                Ok(known.item.clone())
            }
            None => {
                self.run.borrow_mut().lacking.insert(id, key.clone());
                Ok(None)
            }
        }
    }

    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, Error> {
        match self.queries.iter().position(|(known, _)| known == query) {
            Some(at) => {
                let ids = self.queries.get(at).map_or(&[][..], |(_, ids)| ids);
                if !query.is_guarded {
                    let mut run = self.run.borrow_mut();
                    run.looked.insert(at);
                    run.used.extend(ids.iter().cloned());
                }
                let rows = ids
                    .iter()
                    .filter_map(|id| self.rows.get(id)?.item.as_deref().cloned());
                Ok(rows.collect())
            }
            None => {
                self.run.borrow_mut().lacking_queries.push(query.clone());
                Ok(Vec::new())
            }
        }
    }
}
