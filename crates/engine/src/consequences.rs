//! A write and what a hook makes of it: the item as it must be stored, then the rows that follow from it, each written
//! the same way. The engine does not know why they follow; it bounds how many there are.

use std::sync::Arc;

use trestle_api::Error;
use trestle_item::Item;

use crate::capacity::Consumed;
use crate::catalog::Table;
use crate::hook::{By, Companion, Hook, ItemChange};
use crate::image::{self, Image};
use crate::layout::{ItemKey, TableId};
use crate::transaction::{Actor, Transaction, Written};
use crate::write_item::image_to_put;

/// How many rows may follow one from another.
const DEPTH_MAX: usize = 8;
/// How many rows may follow from one request: they commit with it, and every other write waits meanwhile.
const COMPANIONS_MAX: usize = 1000;

/// The change of one row.
pub(crate) struct RowChange {
    pub(crate) table: Arc<Table>,
    pub(crate) key: ItemKey,
    pub(crate) old: Option<Arc<Image>>,
    pub(crate) new: Option<Arc<Image>>,
}

impl RowChange {
    /// Stages the change and everything that follows from it, and becomes what came of it. Tells what all that used of
    /// the row's own table.
    pub(crate) fn write(
        &mut self,
        transaction: &mut Transaction<'_>,
        actor: Actor,
    ) -> Result<Consumed, Error> {
        let is_nothing = self.old.is_none() && self.new.is_none();
        if self.table.hook.is_none() || is_nothing {
            return self.stage(transaction, actor);
        }
        let by = match actor {
            Actor::Client => By::Client,
            Actor::TimeToLive => By::TimeToLive,
            // A move is staged as it is; nobody is asked about it.
            Actor::Migration => return self.stage(transaction, actor),
        };
        let mut chain = Chain {
            transaction,
            home: self.table.id,
            consumed: Consumed::default(),
        };
        chain.write(self, by, 0)?;
        let consumed = chain.consumed;
        // The row may be among those that follow.
        self.new = transaction.item(&self.table, &self.key)?;
        Ok(consumed)
    }

    /// Stages the row alone.
    pub(crate) fn stage(&self, transaction: &mut Transaction<'_>, actor: Actor) -> Result<Consumed, Error> {
        if self.old.is_some() {
            transaction.settle(&self.table, &self.key)?;
        }
        let written = match (&self.old, &self.new) {
            (Some(old), Some(new)) if old == new => Written::default(),
            (old, new) => transaction.write(&self.table, &self.key, old.as_ref(), new.clone(), actor),
        };
        let size = |image: &Option<Arc<Image>>| image.as_ref().map_or(0, |image| image.size());
        Ok(Consumed::write(size(&self.old), size(&self.new), &written))
    }

    /// Takes on the item that the hook wants stored.
    fn becomes(&mut self, item: Item) -> Result<(), Error> {
        if self.new.is_none() {
            return Err(defect(&self.table, "a row that is removed was given an item"));
        }
        self.new = Some(checked(&self.table, &self.key, item)?);
        Ok(())
    }
}

/// A write on its way through everything that follows from it.
struct Chain<'t, 'g> {
    transaction: &'t mut Transaction<'g>,
    /// The table whose capacity the request's answer speaks of.
    home: TableId,
    consumed: Consumed,
}

impl Chain<'_, '_> {
    fn write(&mut self, change: &mut RowChange, by: By, depth: usize) -> Result<(), Error> {
        let table = Arc::clone(&change.table);
        let companions = match &table.hook {
            Some(hook) => self.ask(&**hook, change, by)?,
            None => Vec::new(),
        };
        // Only the row that expired was removed by time to live; what follows is told apart in no stream.
        let actor = match by {
            By::TimeToLive => Actor::TimeToLive,
            By::Client | By::Companion => Actor::Client,
        };
        let consumed = change.stage(self.transaction, actor)?;
        if table.id == self.home {
            self.consumed.add(consumed);
        }
        companions
            .into_iter()
            .try_for_each(|companion| self.follow(companion, depth + 1))
    }

    /// Lets the hook decide what the row becomes, and which rows follow.
    fn ask(&self, hook: &dyn Hook, change: &mut RowChange, by: By) -> Result<Vec<Companion>, Error> {
        let asked = ItemChange {
            table: &change.table.name,
            old: image::item(change.old.as_ref()),
            new: image::item(change.new.as_ref()),
            now: self.transaction.now(),
            by,
        };
        let verdict = hook.change(&asked, &*self.transaction)?;
        if let Some(item) = verdict.item {
            change.becomes(item)?;
        }
        Ok(verdict.companions)
    }

    /// Writes a row that follows. One that already is as it must be ends the chain.
    fn follow(&mut self, companion: Companion, depth: usize) -> Result<(), Error> {
        let table = self.transaction.other_table(&companion.table)?;
        let key = table.key.item_key(&companion.key)?;
        let old = self.transaction.item(&table, &key)?;
        let new = match companion.item {
            Some(item) => Some(checked(&table, &key, with_key(item, &companion.key))?),
            None => None,
        };
        if old == new {
            return Ok(());
        }
        if depth > DEPTH_MAX {
            return Err(Error::validation(format!(
                "The write was refused: more than {DEPTH_MAX} rows would follow one from another, the last in table {}",
                table.name
            )));
        }
        if self.transaction.count_companion() > COMPANIONS_MAX {
            return Err(Error::validation(format!(
                "The write was refused: more than {COMPANIONS_MAX} rows would be written together with it. Write fewer \
                 items in one request, or items on which fewer rows depend"
            )));
        }
        let mut change = RowChange { table, key, old, new };
        self.write(&mut change, By::Companion, depth)
    }
}

/// The item with its key, where it was left out.
pub(crate) fn with_key(mut item: Item, key: &Item) -> Item {
    for (name, value) in key.iter() {
        if !item.contains_key(name) {
            item.insert(name.clone(), value.clone());
        }
    }
    item
}

/// An item that a hook wants stored, held to the same rules as a client's.
pub(crate) fn checked(table: &Table, key: &ItemKey, item: Item) -> Result<Arc<Image>, Error> {
    let image = image_to_put(item)?;
    if !image.is_within_nesting_limit() {
        return Err(Error::validation("Nesting Levels have exceeded supported limits"));
    }
    if table.key.item_key_in(&image)? != *key {
        return Err(defect(table, "a row was given the key of another"));
    }
    table.check_index_keys(&image)?;
    Ok(image)
}

/// The client can do nothing about it, but is told what happened.
fn defect(table: &Table, what: &str) -> Error {
    Error::validation(format!(
        "The write to table {} was refused: {what}. This is a defect in what gives the table's rows their meaning, not \
         in the request",
        table.name
    ))
}
