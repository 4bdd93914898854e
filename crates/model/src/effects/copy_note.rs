//! Copy notes: which originals have copies that are still to be updated in the background. A note is
//! committed with the write of its original, and removed in the commit that updates the last copies.

use trestle_hook::Rows;
use trestle_item::{AttributeValue, Item, Number};

use super::own_rows::{OwnRow, OwnTable, item_in, key_text, text_in};
use crate::effect::Copy;
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;
use trestle_api::Error;

/// The table in the database that holds copy notes. Its key is [`COPIES_KEY`], a string.
pub const COPIES_TABLE: &str = COPIES.name;
/// The hash key of [`COPIES_TABLE`].
pub const COPIES_KEY: &str = COPIES.key;
pub(super) const COPIES: OwnTable = OwnTable {
    name: "_trestle.copies",
    key: "original",
};

/// An original whose copies are still to be updated.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyNote {
    /// The model.
    pub model: String,
    /// The entity that has the copies.
    pub entity: String,
    /// The copy.
    pub copy: String,
    /// The entity of the original.
    pub from: String,
    /// The identity of the original.
    pub identity: Item,
    /// Changes with every write of the original that its copies must follow.
    pub stamp: u64,
    /// How far the walk through the copies has come; `None` before its first page.
    pub walk: Option<CopyWalk>,
}

/// How far a walk through copies has come.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyWalk {
    /// The note's stamp when the walk began.
    pub stamp: u64,
    /// The layout of keys that the position refers to.
    pub layout: String,
    /// The last row that was looked at: where the next page begins.
    pub after: Item,
}

impl CopyNote {
    /// A note about an original, not stored yet.
    pub(super) fn new(model: &Model, entity: &Entity, copy: &Copy, identity: Item) -> Self {
        CopyNote {
            model: model.name.clone(),
            entity: entity.name.clone(),
            copy: copy.name.clone(),
            from: copy.from.clone(),
            identity,
            stamp: 0,
            walk: None,
        }
    }

    /// The key in [`COPIES_TABLE`]. Two different originals, copies or models never have the same.
    #[must_use]
    pub fn key(&self) -> Item {
        COPIES.key(self.key_text())
    }

    /// The row in [`COPIES_TABLE`].
    #[must_use]
    pub fn to_item(&self) -> Item {
        let mut item = self.key();
        item.insert("model", self.model.as_str());
        item.insert("entity", self.entity.as_str());
        item.insert("copy", self.copy.as_str());
        item.insert("from", self.from.as_str());
        item.insert("identity", AttributeValue::M(self.identity.clone()));
        item.insert("stamp", Number::from(self.stamp));
        if let Some(walk) = &self.walk {
            let mut position = Item::new();
            position.insert("stamp", Number::from(walk.stamp));
            position.insert("layout", walk.layout.as_str());
            position.insert("after", AttributeValue::M(walk.after.clone()));
            item.insert("walk", AttributeValue::M(position));
        }
        item
    }

    /// The note in a row of [`COPIES_TABLE`]; `None` if it is not such a row.
    #[must_use]
    pub fn from_item(item: &Item) -> Option<Self> {
        let walk = match item_in(item, "walk") {
            Some(walk) => Some(CopyWalk {
                stamp: stamp_in(&walk)?,
                layout: text_in(&walk, "layout")?,
                after: item_in(&walk, "after")?,
            }),
            None => None,
        };
        Some(CopyNote {
            model: text_in(item, "model")?,
            entity: text_in(item, "entity")?,
            copy: text_in(item, "copy")?,
            from: text_in(item, "from")?,
            identity: item_in(item, "identity")?,
            stamp: stamp_in(item)?,
            walk,
        })
    }

    /// Where a walk continues: the stamp with which it began, and the last row that was read. A walk in
    /// another layout of keys starts again.
    #[must_use]
    pub fn position(&self, layout: &str) -> (u64, Option<&Item>) {
        let walk = self.walk.as_ref().filter(|walk| walk.layout == layout);
        walk.map_or((self.stamp, None), |walk| (walk.stamp, Some(&walk.after)))
    }

    /// The note after a page of a walk that began with a stamp. `None` when the walk has ended and the
    /// original has not changed since; if it has, the walk starts again.
    #[must_use]
    pub fn after_page(mut self, stamp: u64, layout: &str, next: Option<Item>) -> Option<Self> {
        if next.is_none() && self.stamp == stamp {
            return None;
        }
        self.walk = next.map(|after| CopyWalk {
            stamp,
            layout: layout.to_owned(),
            after,
        });
        Some(self)
    }

    /// Whether there is a note about an original.
    pub(super) fn exists(&self, rows: &dyn Rows) -> Result<bool, Error> {
        Ok(rows.get(COPIES_TABLE, &self.key())?.is_some())
    }
}

impl OwnRow for CopyNote {
    const TABLE: OwnTable = COPIES;

    fn key_text(&self) -> String {
        key_text(
            &[&self.model, &self.entity, &self.copy, &self.from],
            &self.identity,
        )
    }

    fn stored(&self) -> Option<Item> {
        Some(self.to_item())
    }

    fn recall(&mut self, stored: &Item) -> Result<(), Refusal> {
        let stored = Self::from_item(stored);
        *self = stored.ok_or_else(|| Refusal::defect("a copy note cannot be read"))?;
        Ok(())
    }

    fn too_long(&self) -> Refusal {
        Refusal::Unfit {
            entity: self.from.clone(),
            attribute: self.identity.keys().cloned().collect::<Vec<_>>().join(", "),
            reason: format!(
                "is too long to note that copy {} of {} follows in the background",
                self.copy, self.entity
            ),
        }
    }
}

fn stamp_in(item: &Item) -> Option<u64> {
    let stamp = item.get("stamp")?.as_n()?.to_i64()?;
    u64::try_from(stamp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> CopyNote {
        CopyNote {
            model: "m".to_owned(),
            entity: "book".to_owned(),
            copy: "author".to_owned(),
            from: "author".to_owned(),
            identity: Item::from([("id", "1")]),
            stamp: 7,
            walk: None,
        }
    }

    #[test]
    fn the_row_says_what_was_noted() {
        let begun = note();
        assert_eq!(CopyNote::from_item(&begun.to_item()), Some(begun.clone()));
        let further = begun.after_page(7, "1", Some(Item::from([("pk", "a")]))).unwrap();
        assert_eq!(CopyNote::from_item(&further.to_item()), Some(further));
    }

    #[test]
    fn a_note_goes_when_the_walk_is_through_and_nothing_changed_since() {
        assert_eq!(note().after_page(7, "1", None), None);
        let mut changed = note()
            .after_page(7, "1", Some(Item::from([("pk", "a")])))
            .unwrap();
        changed.stamp = 8;
        assert_eq!(changed.position("1"), (7, Some(&Item::from([("pk", "a")]))));
        let again = changed.after_page(7, "1", None).unwrap();
        assert_eq!((again.position("1"), again.walk.clone()), ((8, None), None));
    }

    #[test]
    fn a_position_means_nothing_in_another_layout() {
        let mut further = note()
            .after_page(7, "1", Some(Item::from([("pk", "a")])))
            .unwrap();
        further.stamp = 8;
        assert_eq!(further.position("2"), (8, None));
    }
}
