//! A new layout of keys: which rows move between two versions of a model, where each lies and belongs, and what it
//! becomes. Pure; whoever stores rows moves them.
//!
//! A row lies in its *former place* until it moves to its *own place*: the key that the present version gives it.

mod hindrance;
mod moves;
mod sources;

use std::sync::Arc;

use trestle_expr::KeySelection;
use trestle_item::Item;

use crate::model::Model;
use crate::refusal::Refusal;

pub use hindrance::Hindrance;
pub use moves::{Move, MovedKey};
pub use sources::{FormerRange, Sources};

/// What moves between two versions of one model.
#[derive(Clone, Debug)]
pub struct Relayout {
    former: Arc<Model>,
    present: Arc<Model>,
}

impl Relayout {
    /// What moves between two versions, or why rows could not be found, kept apart or moved.
    pub fn between(from: &Arc<Model>, to: &Arc<Model>) -> Result<Self, Vec<Hindrance>> {
        Ok(Relayout {
            former: from.clone(),
            present: to.clone(),
        })
    }

    /// The way back, or why rows of the present layout could not be found from their former keys.
    pub fn reversed(&self) -> Result<Self, Vec<Hindrance>> {
        Self::between(&self.present, &self.former)
    }

    /// Whether nothing moves: no entity's table key differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves().next().is_none()
    }

    /// The names, in the database, of the tables in which rows move.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// The entities whose rows move.
    pub fn moves(&self) -> impl Iterator<Item = Move<'_>> {
        std::iter::empty()
    }

    /// Whether a key is that of a former place. Attributes besides the table's key are ignored.
    #[must_use]
    pub fn is_former(&self, _table: &str, _key: &Item) -> bool {
        false
    }

    /// The former place of the row that belongs at `key`; `None` if it is the same, or if there is none.
    ///
    /// Where the present key says more than the former one, several own places have one former place: the row that
    /// lies there belongs at `key` only if [`Relayout::renew`] says so.
    #[must_use]
    pub fn former_place(&self, _table: &str, _key: &Item) -> Option<Item> {
        None
    }

    /// A former row as it will be in its own place. A row that is in its own place is returned as it is.
    pub fn renew(&self, _table: &str, row: &Item) -> Result<Item, Refusal> {
        Ok(row.clone())
    }

    /// The own place of a former key; a key that is not former is returned as it is.
    pub fn renew_key(&self, _table: &str, key: &Item) -> Result<Item, Refusal> {
        Ok(key.clone())
    }

    /// A put in the former layout, without its keys, so that [`Model::place`] places it.
    pub fn renew_given(&self, _table: &str, item: Item) -> Result<Item, Refusal> {
        Ok(item)
    }

    /// What a key condition on the table that speaks of the former layout means in the present one; `None` if it does
    /// not speak of the former one.
    pub fn renew_selection(
        &self,
        _table: &str,
        _selection: &KeySelection,
    ) -> Result<Option<KeySelection>, Refusal> {
        Ok(None)
    }

    /// Where former rows lie that a selection of own places might want; without a selection, a scan's. For the table,
    /// or for one of its indexes.
    #[must_use]
    pub fn sources(&self, _table: &str, _index: Option<&str>, _selection: Option<&KeySelection>) -> Sources {
        Sources::default()
    }
}
