//! Rows that were looked up a moment ago: many rows ask for the same head, original or counting row in turn.

use std::sync::Arc;

use trestle_item::{Item, key};

use super::key_bytes;
use crate::entity::Entity;
use crate::model::Model;
use trestle_api::Error;
use trestle_hook::Rows;

const SLOTS: usize = 1 << 10;

struct Slot {
    table: usize,
    key: Vec<u8>,
    row: Option<Arc<Item>>,
}

/// One row for each place that keys hash to.
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

    /// The row of an entity with this key.
    pub(super) fn get(
        &mut self,
        model: &Model,
        entity: &Entity,
        key: &Item,
        rows: &dyn Rows,
    ) -> Result<Option<Arc<Item>>, Error> {
        self.scratch.clear();
        key_bytes(key.values(), &mut self.scratch);
        let Some(slot) = self.slots.get_mut(key::hash(&self.scratch) as usize % SLOTS) else {
            return Ok(None);
        };
        if let Some(known) = slot
            && known.table == entity.table
            && known.key == self.scratch
        {
            return Ok(known.row.clone());
        }
        let row = match model.tables.get(entity.table) {
            Some(table) => rows.get(&table.table_name, key)?,
            None => None,
        };
        *slot = Some(Slot {
            table: entity.table,
            key: self.scratch.clone(),
            row: row.clone(),
        });
        Ok(row)
    }
}
