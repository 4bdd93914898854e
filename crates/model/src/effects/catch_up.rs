//! Copies that follow in the background: how they are found, and how some of them are updated.

use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_hook::{By, Companion, Rows};
use trestle_item::Item;

use super::copy::{self, Follower};
use super::copy_note::{COPIES_TABLE, CopyNote};
use super::ledger::{Ledger, key_in};
use super::settle::{identified, settle_all};
use super::{Stopped, large_values, plain};
use crate::access::Bound;
use crate::entity::Entity;
use crate::model::{Model, Table};
use crate::refusal::Refusal;

/// The copies that a note concerns, according to the present model.
#[derive(Debug)]
pub struct NotedCopies<'m> {
    model: &'m Model,
    from: &'m Entity,
    follower: &'m Follower,
    entity: &'m Entity,
    /// The key of the original.
    key: Item,
}

impl Model {
    /// The copies that a note concerns; `None` if this model has no such copies.
    #[must_use]
    pub fn noted_copies(&self, note: &CopyNote) -> Option<NotedCopies<'_>> {
        let from = self.entity(&note.from).filter(|_| note.model == self.name)?;
        let mut followers = self.plan_of(from)?.followers.iter();
        let (follower, entity) = followers.find_map(|follower| {
            let entity = self.entities.get(follower.entity)?;
            let is_noted = entity.name == note.entity && follower.copy.name == note.copy;
            is_noted.then_some((follower, entity))
        })?;
        Some(NotedCopies {
            key: from.key_from(&note.identity).ok()?,
            model: self,
            from,
            follower,
            entity,
        })
    }
}

impl NotedCopies<'_> {
    /// The table in the database that has the original, and its key there.
    pub fn original(&self) -> Result<(&str, &Item), Refusal> {
        let table = self.model.known_table(self.from.table)?;
        Ok((&table.table_name, &self.key))
    }

    /// The query that finds the copies of this original; `None` if the original lacks an attribute for it.
    pub fn finder(&self, original: &Item) -> Result<Option<Bound>, Refusal> {
        let original = identified(self.from, Arc::new(original.clone()));
        copy::bound(&self.follower.finder, &original)
    }

    /// The keys of rows that the finder found.
    pub fn keys<'r>(&self, found: impl Iterator<Item = &'r Item>) -> Result<Vec<Item>, Refusal> {
        let table: &Table = self.model.known_table(self.entity.table)?;
        Ok(found.map(|row| key_in(table, row)).collect())
    }

    /// Brings the copies in the rows with these keys in step.
    fn catch_up(&self, keys: Vec<Item>, rows: &dyn Rows, now: Timestamp) -> Result<Vec<Companion>, Stopped> {
        let mut ledger = Ledger::new(self.model, rows, now, By::Companion);
        let original = ledger.find(self.from, self.key.clone())?;
        let Some(original) = ledger.row(original).map(|row| identified(self.from, row)) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            found.push(ledger.find(self.entity, key)?);
        }
        let copies = copy::referring(&ledger, self.follower, (self.from, &self.key), found)?;
        copy::bring(&mut ledger, self.follower, &original, copies)?;
        settle_all(&mut ledger).map_err(plain)?;
        large_values::finish(&mut ledger).map_err(plain)?;
        Ok(ledger.companions(0))
    }
}

/// A page of the rows that a note's finder found.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyPage {
    /// The keys of the rows.
    pub keys: Vec<Item>,
    /// The note's stamp when the walk began: see [`CopyNote::position`].
    pub stamp: u64,
    /// The layout of keys that `next` refers to.
    pub layout: String,
    /// Where the next page begins; `None` at the end of the walk.
    pub next: Option<Item>,
}

impl Model {
    /// The rows to write, with everything that follows, so that the copies in the rows with these keys equal
    /// the present original of a note. None where they are equal, or where the original is gone: its copies
    /// stay.
    pub fn catch_up(
        &self,
        note: &CopyNote,
        keys: Vec<Item>,
        rows: &dyn Rows,
        now: Timestamp,
    ) -> Result<Vec<Companion>, Stopped> {
        match self.noted_copies(note) {
            Some(noted) => noted.catch_up(keys, rows, now),
            None => Ok(Vec::new()),
        }
    }

    /// Like [`Model::catch_up`] for one page, together with the note as it is after the page. None where the
    /// note is gone.
    pub fn catch_up_page(
        &self,
        note: &CopyNote,
        page: CopyPage,
        rows: &dyn Rows,
        now: Timestamp,
    ) -> Result<Vec<Companion>, Stopped> {
        let key = note.key();
        let Some(stored) = rows.get(COPIES_TABLE, &key).map_err(Stopped::Rows)? else {
            return Ok(Vec::new());
        };
        let mut companions = self.catch_up(note, page.keys, rows, now)?;
        // Copies that change originals may have renewed the note itself.
        let renewed = companions
            .iter()
            .position(|companion| companion.table == COPIES_TABLE && companion.key == key);
        let newest = renewed
            .and_then(|at| companions.swap_remove(at).item)
            .unwrap_or(stored);
        let newest = CopyNote::from_item(&newest);
        let newest = newest.ok_or_else(|| Refusal::defect("a copy note cannot be read"))?;
        let after = newest.after_page(page.stamp, &page.layout, page.next);
        companions.push(Companion {
            table: COPIES_TABLE.to_owned(),
            key,
            item: after.map(|note| Arc::new(note.to_item())),
        });
        Ok(companions)
    }
}
