//! Rows in hidden tables of Trestle's own, as one write reads and changes them. They commit with the write.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use trestle_hook::{Companion, Rows};
use trestle_item::key::HASH_BYTES_MAX;
use trestle_item::{AttributeValue, Item};

use super::Stopped;
use crate::attribute::plain;
use crate::effect::{Effect, Once};
use crate::large_value::PARTS_TABLE;
use crate::model::Model;
use crate::refusal::Refusal;

/// A hidden table of Trestle's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnTable {
    /// Its name in the database.
    pub name: &'static str,
    /// Its hash key, a string. It has no other key.
    pub key: &'static str,
}

impl OwnTable {
    /// All tables whose rows are removed with their model.
    pub const ALL: [OwnTable; 2] = [super::orphans::COUNTS, super::copy_note::COPIES];

    /// The key in one of its rows; `None` if the row has none.
    #[must_use]
    pub fn key_in(self, row: &Item) -> Option<Item> {
        Some(Item::from_iter([(self.key, row.get(self.key)?.clone())]))
    }

    /// The model that one of its rows belongs to.
    #[must_use]
    pub fn model_in(row: &Item) -> Option<&str> {
        row.get("model")?.as_s()
    }

    /// The key of one of its rows.
    pub(super) fn key(self, text: String) -> Item {
        Item::from_iter([(self.key, AttributeValue::S(text))])
    }
}

/// All tables of Trestle's own whose rows belong to rows of models, and are copied with them.
pub const KEPT_ABOUT_ROWS: [&str; 5] = [
    super::orphans::COUNTS.name,
    super::copy_note::COPIES.name,
    super::large_values::NAMED.name,
    super::large_values::LOOSE.name,
    PARTS_TABLE,
];

/// Whether a table is one of [`KEPT_ABOUT_ROWS`].
#[must_use]
pub fn is_kept_about_rows(table: &str) -> bool {
    KEPT_ABOUT_ROWS.contains(&table)
}

impl Model {
    /// The hidden tables that writes of this model's rows need.
    #[must_use]
    pub fn own_tables(&self) -> Vec<OwnTable> {
        let has = |is_such: fn(&Effect) -> bool| {
            let mut effects = self.entities.iter().flat_map(|entity| &entity.effects);
            effects.any(is_such)
        };
        let counts = has(|effect| matches!(effect, Effect::Counter(counter) if counter.once == Once::Row));
        let notes = has(|effect| matches!(effect, Effect::Copy(copy) if copy.background));
        let large = self.has_large_values();
        let needed = [
            (counts, super::orphans::COUNTS),
            (notes, super::copy_note::COPIES),
            (large, super::large_values::NAMED),
            (large, super::large_values::LOOSE),
        ];
        let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed);
        needed.map(|(_, table)| table).collect()
    }
}

impl Model {
    /// Whether a row of a hidden table concerns rows of this table: a missing row, or an original or its
    /// copies.
    #[must_use]
    pub fn keeps_about(&self, table_name: &str, row: &Item) -> bool {
        let is_there = |name: &str| {
            let entity = row.get(name).and_then(AttributeValue::as_s);
            let entity = entity.and_then(|entity| self.entity(entity));
            let table = entity.and_then(|entity| self.table_of(entity));
            table.is_some_and(|table| table.table_name == table_name)
        };
        OwnTable::model_in(row) == Some(&*self.name) && (is_there("entity") || is_there("from"))
    }
}

/// The content of a row of one of those tables.
pub(super) trait OwnRow: Sized {
    /// The table.
    const TABLE: OwnTable;

    /// Its key. Two rows with different meanings never have the same key.
    fn key_text(&self) -> String;

    /// The row to store; `None` where nothing is to be kept.
    fn stored(&self) -> Option<Item>;

    /// Adds the stored row.
    fn recall(&mut self, stored: &Item) -> Result<(), Refusal>;

    /// Why it cannot be kept: its key is longer than a key may be.
    fn too_long(&self) -> Refusal;
}

/// The rows of one table that one write reads and changes.
pub(super) struct OwnRows<R> {
    /// By the text of the key: the row that is stored, and the row as it will be.
    rows: BTreeMap<String, (Option<Arc<Item>>, R)>,
}

impl<R> Default for OwnRows<R> {
    fn default() -> Self {
        OwnRows {
            rows: BTreeMap::new(),
        }
    }
}

impl<R: OwnRow> OwnRows<R> {
    /// A row with its stored state, and whether it is read for the first time.
    pub(super) fn row(&mut self, mut row: R, rows: &dyn Rows) -> Result<(&mut R, bool), Stopped> {
        let text = row.key_text();
        if text.len() > HASH_BYTES_MAX {
            return Err(row.too_long().into());
        }
        match self.rows.entry(text) {
            Entry::Occupied(known) => Ok((&mut known.into_mut().1, false)),
            Entry::Vacant(new) => {
                let key = R::TABLE.key(new.key().clone());
                let stored = rows.get(R::TABLE.name, &key).map_err(Stopped::Rows)?;
                if let Some(stored) = &stored {
                    row.recall(stored)?;
                }
                Ok((&mut new.insert((stored, row)).1, true))
            }
        }
    }

    /// The rows that were read.
    pub(super) fn iter(&self) -> impl Iterator<Item = &R> {
        self.rows.values().map(|(_, row)| row)
    }

    /// What differs from storage.
    pub(super) fn companions(self) -> impl Iterator<Item = Companion> {
        self.rows.into_iter().filter_map(|(text, (stored, row))| {
            let item = row.stored().map(Arc::new);
            (item != stored).then(|| Companion {
                table: R::TABLE.name.to_owned(),
                key: R::TABLE.key(text),
                item,
            })
        })
    }
}

/// A key of names and of what identifies a row.
pub(super) fn key_text(names: &[&str], identity: &Item) -> String {
    let mut parts: Vec<String> = names.iter().map(|name| escaped(name)).collect();
    for (name, value) in identity {
        parts.push(format!("{}={}", escaped(name), escaped(&identifying(value))));
    }
    parts.join("#")
}

/// A value with its type, so that a number and its text are not the same.
fn identifying(value: &AttributeValue) -> String {
    let text = match value {
        AttributeValue::B(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        value => plain(value),
    };
    format!("{}:{text}", value.type_name())
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('#', "%23").replace('=', "%3D")
}

/// A text attribute of a row.
pub(super) fn text_in(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().map(str::to_owned)
}

/// An attribute of a row that is itself a row or a key.
pub(super) fn item_in(item: &Item, name: &str) -> Option<Item> {
    item.get(name)?.as_m().cloned()
}
