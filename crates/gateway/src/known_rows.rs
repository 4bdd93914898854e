//! The rows that a pure computation asks for. It is run with the rows that are known; those that it lacks are fetched
//! together, and it is run again.

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

/// Rows as they were read, consistently, each on its own.
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
    /// Where it still lies, if that is its former place.
    pub(crate) lying: Option<LyingRow>,
}

/// What one run has asked for.
#[derive(Debug, Default)]
struct Run {
    /// Rows that were known.
    used: BTreeSet<RowId>,
    /// Queries that were known, by their position: another write may add a row to them meanwhile.
    looked: BTreeSet<usize>,
    lacking: BTreeMap<RowId, Item>,
    lacking_queries: Vec<RowQuery>,
}

impl KnownRows {
    /// Forgets what the last run asked for.
    pub(crate) fn begin_run(&mut self) {
        self.run = RefCell::default();
    }

    /// What the last run lacked.
    pub(crate) fn take_lacking(&mut self) -> (BTreeMap<RowId, Item>, Vec<RowQuery>) {
        let run = self.run.get_mut();
        (
            std::mem::take(&mut run.lacking),
            std::mem::take(&mut run.lacking_queries),
        )
    }

    /// Whether the last run lacked anything: then its result means nothing.
    pub(crate) fn lacks(&self) -> bool {
        let run = self.run.borrow();
        !run.lacking.is_empty() || !run.lacking_queries.is_empty()
    }

    /// A row was read.
    pub(crate) fn learn(&mut self, id: RowId, key: Item, row: FoundRow) {
        let known = KnownRow {
            key,
            item: row.item.map(Arc::new),
            lying: row.lying,
        };
        self.rows.insert(id, known);
    }

    /// A query was made, and its rows were read.
    pub(crate) fn learn_query(&mut self, query: RowQuery, rows: Vec<RowId>) {
        self.queries.push((query, rows));
    }

    /// A row, if it was read.
    pub(crate) fn row(&self, id: &RowId) -> Option<&KnownRow> {
        self.rows.get(id)
    }

    /// The rows that the last run used: what it came to is right as long as they are as they were read.
    pub(crate) fn used(&self) -> Vec<(RowId, KnownRow)> {
        let run = self.run.borrow();
        let used = run.used.iter();
        used.filter_map(|id| Some((id.clone(), self.rows.get(id)?.clone())))
            .collect()
    }

    /// The looks for rows of the last run, which a commit of these parts rests on.
    pub(crate) fn looks(&self, parts: &[Part]) -> Vec<Look> {
        let run = self.run.borrow();
        let looked = run.looked.iter().filter_map(|at| self.queries.get(*at));
        let looks = looked.map(|(query, found)| Look::new(query.clone(), found, parts));
        looks.collect()
    }

    /// The last run used a row that is known.
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
