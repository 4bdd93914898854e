//! A new layout of keys: which rows move between two versions of a model, where each lies and belongs, and what it
//! becomes. Pure; the storage layer moves the rows.
//!
//! A row lies in its *former place* until it moves to its *own place*: the key that the present version gives it.
//!
//! *Invariants*: a key is that of a former place or of an own place, never of both (`apart.rs`). From an own place the
//! former one can be told (`hindrance.rs`). Renewing is a function of the row, and of nothing else.

mod apart;
mod condition;
mod hindrance;
mod known;
mod moves;
mod pair;
mod part;
mod plan;
mod recipe;
mod renew;
mod sources;
mod stored;

use std::sync::Arc;

use trestle_expr::KeySelection;
use trestle_hook::{Belongs, Renewal, Sources};
use trestle_item::Item;

use self::pair::{MovedEntity, holds};
use self::plan::MovedTable;
use crate::model::Model;
use crate::refusal::Refusal;

pub use hindrance::Hindrance;
pub use moves::{EntityMove, MovedKey};

/// What moves between two versions of one model.
#[derive(Clone, Debug)]
pub struct LayoutChange {
    former: Arc<Model>,
    present: Arc<Model>,
    way: ChangeDirection,
    tables: Vec<MovedTable>,
}

/// Which of the versions is the newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeDirection {
    /// From the older version to the newer one.
    Forward,
    /// From the newer version to the older one.
    Back,
}

impl LayoutChange {
    /// What moves between two versions, or why rows could not be found or kept apart while they move.
    pub fn between(from: &Arc<Model>, to: &Arc<Model>) -> Result<Self, Vec<Hindrance>> {
        Self::plan(from, to, ChangeDirection::Forward)
    }

    /// The same way in the other direction, or why a row could not be found on it. What `set` gave is assumed of every
    /// row where the version before has no place for anything else.
    pub fn reversed(&self) -> Result<Self, Vec<Hindrance>> {
        let way = match self.way {
            ChangeDirection::Forward => ChangeDirection::Back,
            ChangeDirection::Back => ChangeDirection::Forward,
        };
        Self::plan(&self.present, &self.former, way)
    }

    /// Whether nothing moves: no entity's table key differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The names, in the database, of the tables in which rows move.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| table.name.as_str())
    }

    /// The entities whose rows move.
    pub fn moves(&self) -> impl Iterator<Item = EntityMove<'_>> {
        let tables = self.tables.iter();
        tables.flat_map(|moved| self.moving(moved).map(|moving| EntityMove::of(moved, moving)))
    }

    /// Whether a key is that of a former place. Attributes besides the table's key are ignored.
    #[must_use]
    pub fn is_former(&self, table: &str, key: &Item) -> bool {
        let Some(moved) = self.moved(table) else {
            return false;
        };
        self.moving(moved).any(|moving| moving.said(key).is_some())
    }

    /// Whether [`LayoutChange::is_former`] might hold for a key whose parts, hash and range, have these bytes: those of a
    /// text, or those of a key that is no text. Cheaper, and never wrongly false.
    #[must_use]
    pub fn may_be_former(&self, table: &str, key: [&[u8]; 2]) -> bool {
        let begins = |moving: MovedEntity<'_>| {
            let mut templates = moving.former.table_key.iter().zip(key);
            templates.all(|(template, text)| template.begins_with(Some(text)))
        };
        self.moved(table)
            .is_some_and(|moved| self.moving(moved).any(begins))
    }

    /// Where the row at a table key belongs, as far as the key says it. Attributes besides the key are ignored.
    #[must_use]
    pub fn belongs(&self, table: &str, key: &Item) -> Belongs {
        match self.moved(table) {
            Some(moved) => self.belonging(moved, key),
            None => Belongs::Here,
        }
    }

    /// The former place of the row that belongs at `key`; `None` if it is the same, or if there is none.
    ///
    /// Where the present key says more than the former one, several own places have one former place: the row that
    /// lies there belongs at `key` only if [`LayoutChange::renew`] says so.
    #[must_use]
    pub fn former_place(&self, table: &str, key: &Item) -> Option<Item> {
        let mut moving = self.moving(self.moved(table)?);
        moving.find_map(|moving| {
            let former = moving.former_place(&moving.own.said(key)?).ok()?;
            (!holds(key, &former)).then_some(former)
        })
    }

    /// A former row as it will be in its own place; a row that is there is returned as it is.
    ///
    /// Its content stays, its times included. What its version derived goes, `[entity.X.migrate] set` gives what it
    /// lacks, and the present version derives the rest.
    pub fn renew(&self, table: &str, row: &Item) -> Result<Item, Refusal> {
        self.renew_owned(table, row.clone())
    }

    /// The same, consuming the row.
    pub fn renew_owned(&self, table: &str, row: Item) -> Result<Item, Refusal> {
        match self.moved(table) {
            Some(moved) => self.renewed(moved, row),
            None => Ok(row),
        }
    }

    /// The same for a row in its stored form, as far as that can be told without making values of all of it.
    #[must_use]
    pub fn renew_stored(&self, table: &str, row: &[u8]) -> Renewal {
        match self.moved(table) {
            Some(moved) => self.renewed_stored(moved, row),
            None => Renewal::Here,
        }
    }

    /// The own place of a former key; a key that is not former is returned as it is. Only its key attributes are looked
    /// at.
    ///
    /// What `set` gives is part of it, if the version before does not know that attribute.
    pub fn renew_key(&self, table: &str, key: &Item) -> Result<Item, Refusal> {
        match self.moved(table) {
            Some(moved) => self.renewed_key(moved, key),
            None => Ok(key.clone()),
        }
    }

    /// A put in the former layout without its keys and with what `set` gives, so that [`Model::place`] places it. Any
    /// other put is returned as it is.
    pub fn renew_given(&self, table: &str, item: Item) -> Result<Item, Refusal> {
        match self.moved(table) {
            Some(moved) => self.renewed_given(moved, item),
            None => Ok(item),
        }
    }

    /// What a key condition on the table that speaks of the former layout means in the present one; `None` if it does
    /// not speak of the former one.
    pub fn renew_selection(
        &self,
        table: &str,
        selection: &KeySelection,
    ) -> Result<Option<KeySelection>, Refusal> {
        match self.moved(table) {
            Some(moved) => self.renewed_selection(moved, selection),
            None => Ok(None),
        }
    }

    /// Where former rows lie that a selection of own places might want; without a selection, a scan's. For the table,
    /// or for one of its indexes.
    ///
    /// No such row lies anywhere else; others may lie there, too.
    #[must_use]
    pub fn sources(&self, table: &str, index: Option<&str>, selection: Option<&KeySelection>) -> Sources {
        match (self.moved(table), index) {
            (None, _) => Sources::default(),
            (Some(moved), None) => self.in_table(moved, selection),
            (Some(moved), Some(index)) => self.in_index(moved, index, selection),
        }
    }

    fn moved(&self, table: &str) -> Option<&MovedTable> {
        self.tables.iter().find(|moved| moved.name == table)
    }

    fn moving<'r>(&'r self, moved: &'r MovedTable) -> impl Iterator<Item = MovedEntity<'r>> {
        moved.pairs.iter().filter_map(|pair| {
            Some(MovedEntity {
                pair,
                former: self.former.entities.get(pair.former)?,
                own: self.present.entities.get(pair.own)?,
            })
        })
    }
}
