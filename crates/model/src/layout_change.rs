//! A new layout of keys: which rows move between two versions of a model, the former and the own key of each,
//! and its new content. Pure; the storage layer moves the rows.
//!
//! A row is in its *former place* until it moves to its *own place*: its key in the present version.
//!
//! *Invariants*: a key is that of a former place or of an own place, never of both (`apart.rs`). The former
//! place follows from the own place (`hindrance.rs`). Renewing is a function of the row alone.

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
    /// What moves between two versions, or why rows could not be found or distinguished during the migration.
    pub fn between(from: &Arc<Model>, to: &Arc<Model>) -> Result<Self, Vec<Hindrance>> {
        Self::plan(from, to, ChangeDirection::Forward)
    }

    /// The same way in the other direction, or why a row could not be found. Where the previous version has
    /// no attribute for what `set` gave, every row is assumed to have that value.
    pub fn reversed(&self) -> Result<Self, Vec<Hindrance>> {
        let way = match self.way {
            ChangeDirection::Forward => ChangeDirection::Back,
            ChangeDirection::Back => ChangeDirection::Forward,
        };
        Self::plan(&self.present, &self.former, way)
    }

    /// Whether no rows move: no entity's table key differs.
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

    /// Whether [`LayoutChange::is_former`] may hold for a key whose hash and range parts have these bytes:
    /// those of a text, or those of a key that is not a text. Cheaper; `false` is always right.
    #[must_use]
    pub fn may_be_former(&self, table: &str, key: [&[u8]; 2]) -> bool {
        let begins = |moving: MovedEntity<'_>| {
            let mut templates = moving.former.table_key.iter().zip(key);
            templates.all(|(template, text)| template.begins_with(Some(text)))
        };
        self.moved(table)
            .is_some_and(|moved| self.moving(moved).any(begins))
    }

    /// The own place of the row at a table key, as far as it follows from the key. Attributes besides the key
    /// are ignored.
    #[must_use]
    pub fn belongs(&self, table: &str, key: &Item) -> Belongs {
        match self.moved(table) {
            Some(moved) => self.belonging(moved, key),
            None => Belongs::Here,
        }
    }

    /// The former place of the row that belongs at `key`; `None` if it is the same place, or if there is
    /// none.
    ///
    /// Where the present key contains more than the former one, several own places share one former place:
    /// the row there belongs at `key` only if [`LayoutChange::renew`] gives that key.
    #[must_use]
    pub fn former_place(&self, table: &str, key: &Item) -> Option<Item> {
        let mut moving = self.moving(self.moved(table)?);
        moving.find_map(|moving| {
            let former = moving.former_place(&moving.own.said(key)?).ok()?;
            (!holds(key, &former)).then_some(former)
        })
    }

    /// A former row as it will be in its own place; a row that is already there is returned unchanged.
    ///
    /// It keeps its content and its times. Attributes that its version derived are removed,
    /// `[entity.X.migrate] set` supplies missing ones, and the present version derives the rest.
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

    /// The same for a row in its stored form, where that is possible without decoding all of its values.
    #[must_use]
    pub fn renew_stored(&self, table: &str, row: &[u8]) -> Renewal {
        match self.moved(table) {
            Some(moved) => self.renewed_stored(moved, row),
            None => Renewal::Here,
        }
    }

    /// The own place of a former key; a key that is not former is returned unchanged. Only its key attributes
    /// are used.
    ///
    /// What `set` gives is part of it, if the previous version does not know that attribute.
    pub fn renew_key(&self, table: &str, key: &Item) -> Result<Item, Refusal> {
        match self.moved(table) {
            Some(moved) => self.renewed_key(moved, key),
            None => Ok(key.clone()),
        }
    }

    /// A put in the former layout without its keys and with what `set` gives, so that [`Model::place`] can
    /// compute its key. Any other put is returned unchanged.
    pub fn renew_given(&self, table: &str, item: Item) -> Result<Item, Refusal> {
        match self.moved(table) {
            Some(moved) => self.renewed_given(moved, item),
            None => Ok(item),
        }
    }

    /// A key condition in the former layout, translated to the present one; `None` if it is not in the former
    /// layout.
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

    /// The parts that may hold former rows of a selection of own places; without a selection, those of a
    /// scan. For the table, or for one of its indexes.
    ///
    /// No such row is anywhere else; other rows may be there, too.
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
