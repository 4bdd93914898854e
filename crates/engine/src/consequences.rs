//! The changes of a request and what a hook makes of them: the items as they must be stored, then the rows that follow,
//! each written the same way. The engine does not know why they follow; it bounds how many there are.

use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::{Becomes, By, Change, Companion, Edits, Refused};
use trestle_item::Item;
use trestle_writes::{check_limits, with_key};

use crate::capacity::{Consumed, write_units};
use crate::catalog::{Index, Table};
use crate::image::Image;
use crate::layout::ItemKey;
use crate::transaction::{Actor, Transaction, Written};

/// How many rows may follow one from another.
const DEPTH_MAX: usize = 8;
/// How many rows may follow from one request: they commit with it, and every other write waits meanwhile.
const COMPANIONS_MAX: usize = 10_000;

/// The change of one row.
pub(crate) struct RowChange {
    pub(crate) table: Arc<Table>,
    pub(crate) key: ItemKey,
    pub(crate) old: Option<Arc<Image>>,
    pub(crate) new: Option<Arc<Image>>,
    /// Whether only a condition was to be checked: nothing is written.
    pub(crate) is_check: bool,
    /// What the change used of its table, with what follows there.
    pub(crate) consumed: Consumed,
}

impl RowChange {
    /// A change that is not written yet.
    pub(crate) fn new(
        table: Arc<Table>,
        key: ItemKey,
        old: Option<Arc<Image>>,
        new: Option<Arc<Image>>,
    ) -> Self {
        RowChange {
            table,
            key,
            old,
            new,
            is_check: false,
            consumed: Consumed::default(),
        }
    }

    /// Stages the change and everything that follows from it, and becomes what came of it.
    pub(crate) fn write(&mut self, transaction: &mut Transaction<'_>, actor: Actor) -> Result<(), Error> {
        if !self.is_asked_about() {
            return self.stage(transaction, actor);
        }
        write_all(std::slice::from_mut(self), transaction, actor).map_err(|refused| refused.error)
    }

    /// Whether the hook has to be asked about the change.
    fn is_asked_about(&self) -> bool {
        self.table.hook.is_some() && !self.is_check && !self.is_nothing()
    }

    fn is_nothing(&self) -> bool {
        self.old.is_none() && self.new.is_none()
    }

    /// Stages the row alone.
    pub(crate) fn stage(&mut self, transaction: &mut Transaction<'_>, actor: Actor) -> Result<(), Error> {
        let size = |image: &Option<Arc<Image>>| image.as_ref().map_or(0, |image| image.size());
        if self.is_check {
            self.consumed = Consumed::table(write_units(size(&self.old)));
            return Ok(());
        }
        if !self.is_nothing() {
            self.table.refuse_while_paused(transaction.now())?;
        }
        if self.old.is_some() {
            transaction.move_to_own_key(&self.table, &self.key)?;
        }
        let written = match (&self.old, &self.new) {
            (Some(old), Some(new)) if old == new => Written::default(),
            (old, new) => transaction.write(&self.table, &self.key, old.as_ref(), new.clone(), actor),
        };
        self.consumed = Consumed::write(size(&self.old), size(&self.new), &written);
        Ok(())
    }

    /// Takes on what the hook wants stored.
    fn becomes(&mut self, what: Becomes) -> Result<(), Error> {
        match what {
            Becomes::AsWritten => {}
            Becomes::Edited(edits) => self.edit(edits)?,
            Becomes::Item(item) => self.new = Some(checked(&self.table, &self.key, item)?),
            Becomes::Removed => self.new = None,
        }
        Ok(())
    }
}

impl RowChange {
    /// Takes on edits of what the write makes of the row. The item is this change's own: nothing is copied.
    fn edit(&mut self, edits: Edits) -> Result<(), Error> {
        let Some(shared) = &mut self.new else {
            return Err(defect(&self.table, "a row that is removed was edited"));
        };
        let mut names = edits.set.iter().map(|(name, _)| name).chain(&edits.remove);
        let changes_key = names.any(|name| self.table.key.contains(name));
        // The rest of the item was checked when it was written.
        let is_set = |index: &&Arc<Index>| edits.set.iter().any(|(name, _)| index.key.contains(name));
        let indexes: Vec<&Arc<Index>> = self.table.indexes.iter().filter(is_set).collect();
        let image = Arc::make_mut(shared);
        image.edit(|item| edits.apply(item));
        if changes_key {
            check_key(&self.table, &self.key, image)?;
        }
        check_limits(image, image.size())?;
        for index in indexes {
            index.key.check_index_key(&index.name, image)?;
        }
        Ok(())
    }
}

/// Stages the changes of one request and everything that follows from them. Each becomes what came of it.
pub(crate) fn write_all(
    changes: &mut [RowChange],
    transaction: &mut Transaction<'_>,
    actor: Actor,
) -> Result<(), Refused> {
    let by = match actor {
        Actor::Client => Some(By::Client),
        Actor::TimeToLive => Some(By::TimeToLive),
        Actor::Touch => Some(By::Touch),
        // A move is staged as it is; the hook is not asked about it.
        Actor::Migration => None,
    };
    let companions = match by {
        Some(by) => ask(changes, transaction, by)?,
        None => Vec::new(),
    };
    for (at, change) in changes.iter_mut().enumerate() {
        let staged = change.stage(transaction, actor);
        staged.map_err(|error| blamed(at, error))?;
    }
    let mut chain = Chain {
        transaction,
        changes,
        actor: match actor {
            // What follows from a touch is as little of the application as the touch.
            Actor::Touch => Actor::Touch,
            // Only the row that expired was removed by time to live; what follows is told apart in no stream.
            _ => Actor::Client,
        },
    };
    let followed = companions
        .into_iter()
        .try_for_each(|companion| chain.follow(companion, 1));
    followed.map_err(|error| Refused {
        at: only_asked(changes),
        error,
    })
}

/// Lets the hook decide what the rows become, and which rows follow.
fn ask(changes: &mut [RowChange], transaction: &Transaction<'_>, by: By) -> Result<Vec<Companion>, Refused> {
    let Some(hook) = changes
        .iter()
        .find(|change| change.is_asked_about())
        .and_then(|change| change.table.hook.clone())
    else {
        return Ok(Vec::new());
    };
    let now = transaction.now();
    let mut positions = Vec::with_capacity(changes.len());
    let mut asked = Vec::with_capacity(changes.len());
    for (at, change) in changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.is_asked_about())
    {
        positions.push(at);
        asked.push(Change {
            table: &change.table.name,
            old: change.old.as_ref().map(|image| image.shared_item()),
            new: change.new.as_ref().map(|image| image.shared_item()),
            now,
            by,
        });
    }
    let verdict = hook.change(&asked, transaction).map_err(|refused| Refused {
        at: refused.at.and_then(|at| positions.get(at).copied()),
        error: refused.error,
    })?;
    for (at, becomes) in positions.into_iter().zip(verdict.rows) {
        if let Some(change) = changes.get_mut(at) {
            change.becomes(becomes).map_err(|error| blamed(at, error))?;
        }
    }
    Ok(verdict.companions)
}

/// The position of the change from which everything follows, if there is only one.
fn only_asked(changes: &[RowChange]) -> Option<usize> {
    let mut asked = changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.is_asked_about());
    let only = asked.next()?;
    asked.next().is_none().then_some(only.0)
}

fn blamed(at: usize, error: Error) -> Refused {
    Refused { at: Some(at), error }
}

/// The changes of a request on their way through everything that follows from them.
struct Chain<'c, 't, 'g> {
    transaction: &'t mut Transaction<'g>,
    changes: &'c mut [RowChange],
    /// Who writes what follows.
    actor: Actor,
}

impl Chain<'_, '_, '_> {
    /// Writes a row that follows. One that already is as it must be ends the chain.
    fn follow(&mut self, companion: Companion, depth: usize) -> Result<(), Error> {
        let table = self.transaction.other_table(&companion.table)?;
        let key = table.key.item_key(&companion.key)?;
        let is_row = |change: &RowChange| change.table.id == table.id && change.key == key;
        if self
            .changes
            .iter()
            .any(|change| is_row(change) && !change.is_check && !change.is_nothing())
        {
            return Err(defect(
                &table,
                "a row of the request was also named as one that follows",
            ));
        }
        let old = self.transaction.item(&table, &key)?;
        let new = match companion.item {
            Some(item) => Some(checked(&table, &key, with_key(item, &companion.key))?),
            None => None,
        };
        if old == new {
            return Ok(());
        }
        self.bound(&table, depth)?;
        self.write(RowChange::new(table, key, old, new), depth)
    }

    fn bound(&mut self, table: &Table, depth: usize) -> Result<(), Error> {
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
        Ok(())
    }

    fn write(&mut self, mut change: RowChange, depth: usize) -> Result<(), Error> {
        let asked = ask(std::slice::from_mut(&mut change), self.transaction, By::Companion);
        let companions = asked.map_err(|refused| refused.error)?;
        change.stage(self.transaction, self.actor)?;
        let mut of_table = self.changes.iter_mut();
        if let Some(home) = of_table.find(|home| home.table.id == change.table.id) {
            home.consumed.add(change.consumed);
        }
        companions
            .into_iter()
            .try_for_each(|companion| self.follow(companion, depth + 1))
    }
}

/// An item that a hook wants stored, held to the same rules as a client's.
pub(crate) fn checked(table: &Table, key: &ItemKey, item: Arc<Item>) -> Result<Arc<Image>, Error> {
    check_key(table, key, &item)?;
    let image = Image::shared(item);
    check_limits(&image, image.size())?;
    table.check_index_keys(&image)?;
    Ok(Arc::new(image))
}

/// Refuses an item with another key.
fn check_key(table: &Table, key: &ItemKey, item: &Item) -> Result<(), Error> {
    if table.key.item_key_in(item)? != *key {
        return Err(defect(table, "a row was given the key of another"));
    }
    Ok(())
}

/// The client can do nothing about it, but is told what happened.
fn defect(table: &Table, what: &str) -> Error {
    Error::validation(format!(
        "The write to table {} was refused: {what}. This is a defect in what gives the table's rows their meaning, not \
         in the request",
        table.name
    ))
}
