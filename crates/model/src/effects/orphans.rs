//! Orphan counts: what was counted for a row that is not there now. They are kept in a table of Trestle's own, so that a
//! row that is removed and written again, or that expires, counts the rows that are still there.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_hook::{Companion, Rows};
use trestle_item::{AttributeValue, Item, Map, Number};

use super::Stopped;
use crate::attribute::plain;
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;

/// The table in the database that holds orphan counts. Its key is [`COUNTS_KEY`], a string.
pub const COUNTS_TABLE: &str = "_trestle.counts";
/// The hash key of [`COUNTS_TABLE`].
pub const COUNTS_KEY: &str = "parent";
/// The longest hash key of a table, in bytes.
const KEY_MAX: usize = 2048;

/// What was counted for a row that is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct OrphanCount {
    /// The model.
    pub model: String,
    /// The entity of the missing row.
    pub entity: String,
    /// Its attribute that counts.
    pub attribute: String,
    /// What identifies the missing row.
    pub identity: Item,
    /// How much its attribute would be above its default, or above zero.
    pub count: Number,
}

impl OrphanCount {
    /// The key in [`COUNTS_TABLE`]. Two different rows, entities, attributes or models never have the same.
    #[must_use]
    pub fn key(&self) -> Item {
        Item::from_iter([(COUNTS_KEY, AttributeValue::S(self.key_text()))])
    }

    fn key_text(&self) -> String {
        let names = [&self.model, &self.entity, &self.attribute];
        let mut parts: Vec<String> = names.into_iter().map(|name| escaped(name)).collect();
        for (name, value) in &self.identity {
            parts.push(format!("{}={}", escaped(name), escaped(&identifying(value))));
        }
        parts.join("#")
    }

    /// The row in [`COUNTS_TABLE`].
    #[must_use]
    pub fn to_item(&self) -> Item {
        let mut item = self.key();
        item.insert("model", self.model.as_str());
        item.insert("entity", self.entity.as_str());
        item.insert("attribute", self.attribute.as_str());
        let identity = self.identity.iter();
        let identity: Map = identity
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        item.insert("identity", AttributeValue::M(identity));
        item.insert("count", self.count);
        item
    }

    /// What a row of [`COUNTS_TABLE`] says; `None` if it is no such row.
    #[must_use]
    pub fn from_item(item: &Item) -> Option<Self> {
        let text = |name: &str| item.get(name)?.as_s().map(str::to_owned);
        let AttributeValue::M(identity) = item.get("identity")? else {
            return None;
        };
        let identity = identity.iter();
        Some(OrphanCount {
            model: text("model")?,
            entity: text("entity")?,
            attribute: text("attribute")?,
            identity: identity
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            count: *item.get("count")?.as_n()?,
        })
    }
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

/// The orphan counts that one write reads and changes.
#[derive(Default)]
pub(super) struct Orphans {
    /// By the text of the key: the row that is stored, and the count as it will be.
    counts: BTreeMap<String, (Option<Arc<Item>>, OrphanCount)>,
}

impl Orphans {
    /// What is counted for a missing row of an entity.
    pub(super) fn count(
        &mut self,
        model: &Model,
        rows: &dyn Rows,
        entity: &Entity,
        attribute: &str,
        row: &Item,
    ) -> Result<&mut OrphanCount, Stopped> {
        let identity = entity.identity.iter();
        let identity = identity.filter_map(|name| Some((name.clone(), row.get(name)?.clone())));
        let mut orphan = OrphanCount {
            model: model.name.clone(),
            entity: entity.name.clone(),
            attribute: attribute.to_owned(),
            identity: identity.collect(),
            count: Number::default(),
        };
        let key = orphan.key();
        let text = orphan.key_text();
        if text.len() > KEY_MAX {
            return Err(too_long(&orphan).into());
        }
        let (_, orphan) = match self.counts.entry(text) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let stored = rows.get(COUNTS_TABLE, &key).map_err(Stopped::Rows)?;
                if let Some(stored) = &stored {
                    let count = stored.get("count").and_then(AttributeValue::as_n);
                    let count = count.ok_or_else(|| Refusal::defect("an orphan count is no number"))?;
                    orphan.count = *count;
                }
                new.insert((stored, orphan))
            }
        };
        Ok(orphan)
    }

    /// What differs from storage. A count of zero has no row.
    pub(super) fn companions(self) -> impl Iterator<Item = Companion> {
        let counts = self.counts.into_values();
        counts.filter_map(|(stored, orphan)| {
            let is_zero = orphan.count == Number::default();
            let item = (!is_zero).then(|| Arc::new(orphan.to_item()));
            (item != stored).then(|| Companion {
                table: COUNTS_TABLE.to_owned(),
                key: orphan.key(),
                item,
            })
        })
    }
}

fn too_long(orphan: &OrphanCount) -> Refusal {
    Refusal::Unfit {
        entity: orphan.entity.clone(),
        attribute: orphan.attribute.clone(),
        reason: "counts rows that remain, and the row's identity is too long to keep their number; remove those rows first"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphan(entity: &str, identity: &[(&str, AttributeValue)]) -> OrphanCount {
        let identity = identity.iter();
        OrphanCount {
            model: "m".to_owned(),
            entity: entity.to_owned(),
            attribute: "count".to_owned(),
            identity: identity
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            count: Number::from(3_i64),
        }
    }

    #[test]
    fn the_row_says_what_was_counted() {
        let count = orphan("shop", &[("a", "x#y".into()), ("b", AttributeValue::from(7_i64))]);
        assert_eq!(OrphanCount::from_item(&count.to_item()), Some(count));
    }

    #[test]
    fn no_two_rows_have_one_key() {
        let all = [
            orphan("shop", &[("a", "x".into()), ("b", "y".into())]),
            orphan("shop", &[("a", "x#b=S:y".into())]),
            orphan("shop", &[("a", "x%23b".into())]),
            orphan("shop", &[("a", "1".into())]),
            orphan("shop", &[("a", AttributeValue::from(1_i64))]),
            orphan("shop", &[("a", AttributeValue::B(vec![1]))]),
            orphan("shop", &[("a", AttributeValue::B(vec![2]))]),
            orphan("shop#count#a=S:x", &[]),
        ];
        let mut keys: Vec<String> = all.iter().map(|count| format!("{:?}", count.key())).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
    }
}
