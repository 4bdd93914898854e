//! Moves a row from its former place to its own: both change in one commit, with everything that depends on
//! them.

use std::sync::Arc;

use trestle_api::Error;
use trestle_item::Item;

use super::find::{Found, find, own_key};
use crate::catalog::Table;
use crate::consequences::checked;
use crate::image::Image;
use crate::layout::ItemKey;
use crate::transaction::{Actor, Transaction};

impl Transaction<'_> {
    /// Moves the row that belongs at `key` there, before it is written.
    pub(crate) fn move_to_own_key(&mut self, table: &Arc<Table>, key: &ItemKey) -> Result<(), Error> {
        if table.former.is_none() {
            return Ok(());
        }
        let found = find(self, table, key)?;
        if let Some(Found {
            image,
            former: Some(place),
        }) = found
        {
            let image = checked(table, key, Arc::clone(image.shared_item()))?;
            let before = self.lying(table, &place)?;
            self.relocate(table, (&place, before.as_ref()), (key, image));
        }
        Ok(())
    }

    /// The place and the row to write, given the row `lying` at `key`: a different place, if `key` is a
    /// former one.
    pub(crate) fn belonging(
        &self,
        table: &Table,
        key: &ItemKey,
        lying: Arc<Image>,
    ) -> Result<(ItemKey, Arc<Image>), Error> {
        match renewed(table, &lying)? {
            Some(row) => Ok((own_key(table, &row)?, Arc::new(Image::new(row)))),
            None => Ok((key.clone(), lying)),
        }
    }

    /// Moves a row, unless it has changed since it was read. Returns whether it was moved.
    pub(super) fn relocate_if_unchanged(
        &mut self,
        table: &Arc<Table>,
        row: &Relocation,
    ) -> Result<bool, Error> {
        let lying = self.lying(table, &row.from)?;
        if lying.as_ref() != Some(&row.before) {
            return Ok(false);
        }
        if self.lying(table, &row.to)?.is_some() {
            // Only possible if a write bypassed this code; then the row in its own place is newer.
            self.write(table, &row.from, lying.as_ref(), None, Actor::Migration);
            return Ok(true);
        }
        self.relocate(
            table,
            (&row.from, lying.as_ref()),
            (&row.to, Arc::clone(&row.after)),
        );
        Ok(true)
    }

    fn relocate(
        &mut self,
        table: &Arc<Table>,
        (from, before): (&ItemKey, Option<&Arc<Image>>),
        (to, after): (&ItemKey, Arc<Image>),
    ) {
        self.write(table, from, before, None, Actor::Migration);
        self.write(table, to, None, Some(after), Actor::Migration);
    }
}

/// The row as it will be, if it is in a former place.
fn renewed(table: &Table, row: &Item) -> Result<Option<Item>, Error> {
    let former = table.former.as_ref().filter(|former| former.is_former(row));
    former.map(|former| former.renew(row.clone())).transpose()
}

/// A row that is to be moved, as it was read.
pub(super) struct Relocation {
    pub(super) from: ItemKey,
    pub(super) before: Arc<Image>,
    pub(super) to: ItemKey,
    pub(super) after: Arc<Image>,
}

impl Relocation {
    /// The move of a row that is in a former place, or why it cannot move.
    pub(super) fn of(table: &Table, from: ItemKey, before: Arc<Image>) -> Result<Option<Self>, Error> {
        let Some(renewed) = renewed(table, &before)? else {
            return Ok(None);
        };
        let to = own_key(table, &renewed)?;
        let after = checked(table, &to, Arc::new(renewed))?;
        Ok(Some(Self {
            from,
            before,
            to,
            after,
        }))
    }
}
