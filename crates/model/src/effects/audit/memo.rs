//! A cache of recently read rows: many successive rows need the same head, original or counting row.

use std::sync::Arc;

use trestle_item::{AttributeValue, Item, key};

use super::relation::rendered;
use crate::entity::Entity;
use crate::model::Model;
use trestle_api::Error;
use trestle_hook::Rows;

const SLOTS: usize = 1 << 14;

struct Slot {
    table: usize,
    key: Vec<u8>,
    row: Option<Arc<Item>>,
}

/// One row for each hash of a key.
pub(super) struct Memo {
    slots: Vec<Option<Slot>>,
    scratch: Vec<u8>,
}

impl Memo {
    pub(super) fn new() -> Self {
        Memo {
            slots: std::iter::repeat_with(|| None).take(SLOTS).collect(),
            scratch: Vec::new(),
        }
    }

    /// The row of an entity whose key is made of attributes that are found like this; `None` also if no key can be made.
    pub(super) fn find<'v>(
        &mut self,
        model: &Model,
        entity: &Entity,
        attribute: impl Fn(&str) -> Option<&'v AttributeValue>,
        rows: &dyn Rows,
    ) -> Result<Option<Arc<Item>>, Error> {
        self.scratch.clear();
        if !rendered(entity, &attribute, &mut self.scratch) {
            return Ok(None);
        }
        let Some(slot) = self.slots.get_mut(key::hash(&self.scratch) as usize % SLOTS) else {
            return Ok(None);
        };
        if let Some(known) = slot
            && known.table == entity.table
            && known.key == self.scratch
        {
            return Ok(known.row.clone());
        }
        let row = match (model.tables.get(entity.table), entity.key_where(&attribute)) {
            (Some(table), Ok(key)) => rows.get(&table.table_name, &key)?,
            _ => None,
        };
        *slot = Some(Slot {
            table: entity.table,
            key: self.scratch.clone(),
            row: row.clone(),
        });
        Ok(row)
    }
}
