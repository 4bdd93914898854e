//! Computes what a write would change, without changing it.

use std::collections::HashMap;

use trestle_api::{Error, Request};
use trestle_item::Item;
use trestle_writes::Write;

use crate::Engine;
use crate::catalog::Table;
use crate::image::Image;
use crate::transaction::{Actor, Transaction};
use crate::write_item::ItemWrite;

/// A row that a write would change.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewedRow {
    /// Its table.
    pub table: String,
    /// Its key.
    pub key: Item,
    /// The row as it is, if it exists.
    pub before: Option<Item>,
    /// The row as it would be, unless it would be deleted.
    pub after: Option<Item>,
}

impl Engine {
    /// The rows that a PutItem, UpdateItem or DeleteItem would change: its own row first, then the
    /// companions. A write that would be refused is refused with the same error. Nothing is written.
    ///
    /// The write is computed in its turn among other writes, so that it sees one consistent state.
    pub fn preview(&self, request: Request) -> Result<Vec<PreviewedRow>, Error> {
        let shared = self.shared();
        let write = ItemWrite::from(Write::of_previewed(request)?);
        let placed = write.place(&shared.catalog.load(), shared)?;
        let run = move |transaction: &mut Transaction<'_>| {
            transaction.preview(|transaction| placed.run(transaction, Actor::Client).map(drop))
        };
        self.submit_amendment(run).wait()
    }
}

/// The rows that a transaction has changed, if it is only a preview.
#[derive(Default)]
pub(crate) struct Preview {
    rows: Vec<PreviewedRow>,
    /// The index in `rows` of the row with this storage key.
    at: HashMap<Vec<u8>, usize>,
}

impl Preview {
    /// Records the change of the row with this storage key. For a row that changes twice, the state before
    /// the first and after the last change counts.
    pub(crate) fn note(&mut self, table: &Table, place: &[u8], old: Option<&Image>, new: Option<&Image>) {
        let Some(image) = old.or(new) else { return };
        let item = |image: Option<&Image>| image.map(|image| Item::clone(image));
        let known = self.at.get(place).and_then(|at| self.rows.get_mut(*at));
        if let Some(row) = known {
            row.after = item(new);
            return;
        }
        self.at.insert(place.to_vec(), self.rows.len());
        self.rows.push(PreviewedRow {
            table: table.name.clone(),
            key: table.key.key_of(image),
            before: item(old),
            after: item(new),
        });
    }

    /// The rows that differ from their state before.
    pub(crate) fn changed(self) -> Vec<PreviewedRow> {
        let rows = self.rows.into_iter();
        rows.filter(|row| row.before != row.after).collect()
    }
}
