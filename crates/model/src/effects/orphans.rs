//! Orphan counts: the counts of rows that do not exist now. They are kept in a table of Trestle's own, so
//! that a row that expires, or is removed and written again, still counts the existing rows.

use trestle_hook::Rows;
use trestle_item::{AttributeValue, Item, Number};

use super::Stopped;
use super::own_rows::{OwnRow, OwnRows, OwnTable, item_in, key_text, text_in};
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;

/// The table in the database that holds orphan counts. Its key is [`COUNTS_KEY`], a string.
pub const COUNTS_TABLE: &str = COUNTS.name;
/// The hash key of [`COUNTS_TABLE`].
pub const COUNTS_KEY: &str = COUNTS.key;
pub(super) const COUNTS: OwnTable = OwnTable {
    name: "_trestle.counts",
    key: "parent",
};

/// The count for a row that does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct OrphanCount {
    /// The model.
    pub model: String,
    /// The entity of the missing row.
    pub entity: String,
    /// Its attribute that counts.
    pub attribute: String,
    /// The identity of the missing row.
    pub identity: Item,
    /// The amount by which its attribute would exceed its default, or zero.
    pub count: Number,
}

impl OrphanCount {
    /// The key in [`COUNTS_TABLE`]. Two different rows, entities, attributes or models never have the same.
    #[must_use]
    pub fn key(&self) -> Item {
        COUNTS.key(self.key_text())
    }

    /// The row in [`COUNTS_TABLE`].
    #[must_use]
    pub fn to_item(&self) -> Item {
        let mut item = self.key();
        item.insert("model", self.model.as_str());
        item.insert("entity", self.entity.as_str());
        item.insert("attribute", self.attribute.as_str());
        item.insert("identity", AttributeValue::M(self.identity.clone()));
        item.insert("count", self.count);
        item
    }

    /// The count in a row of [`COUNTS_TABLE`]; `None` if it is not such a row.
    #[must_use]
    pub fn from_item(item: &Item) -> Option<Self> {
        Some(OrphanCount {
            model: text_in(item, "model")?,
            entity: text_in(item, "entity")?,
            attribute: text_in(item, "attribute")?,
            identity: item_in(item, "identity")?,
            count: *item.get("count")?.as_n()?,
        })
    }
}

impl OwnRow for OrphanCount {
    const TABLE: OwnTable = COUNTS;

    fn key_text(&self) -> String {
        key_text(&[&self.model, &self.entity, &self.attribute], &self.identity)
    }

    /// A count of zero is not stored.
    fn stored(&self) -> Option<Item> {
        (self.count != Number::default()).then(|| self.to_item())
    }

    fn recall(&mut self, stored: &Item) -> Result<(), Refusal> {
        let count = stored.get("count").and_then(AttributeValue::as_n);
        let count = count.ok_or_else(|| Refusal::defect("an orphan count is no number"))?;
        self.count = *count;
        Ok(())
    }

    fn too_long(&self) -> Refusal {
        Refusal::Unfit {
            entity: self.entity.clone(),
            attribute: self.attribute.clone(),
            reason: "counts rows that remain, and the row's identity is too long to keep their number; remove those rows first"
                .to_owned(),
        }
    }
}

/// The count for a missing row of an entity.
pub(super) fn count<'o>(
    orphans: &'o mut OwnRows<OrphanCount>,
    model: &Model,
    rows: &dyn Rows,
    entity: &Entity,
    attribute: &str,
    row: &Item,
) -> Result<&'o mut OrphanCount, Stopped> {
    let orphan = OrphanCount {
        model: model.name.clone(),
        entity: entity.name.clone(),
        attribute: attribute.to_owned(),
        identity: entity.identity_in(row),
        count: Number::default(),
    };
    orphans.row(orphan, rows).map(|(orphan, _)| orphan)
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
