//! Applies the hook's verdict on the changes of a request: the items as they are stored, then the companions,
//! each written the same way. The engine does not know the reason for a companion; it limits their number.

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

/// How long a chain of companions may be.
const DEPTH_MAX: usize = 8;
/// How many companions a request may have: they commit with it, and all other writes wait during the commit.
const COMPANIONS_MAX: usize = 10_000;

/// The change of one row.
pub(crate) struct RowChange {
    pub(crate) table: Arc<Table>,
    pub(crate) key: ItemKey,
    pub(crate) old: Option<Arc<Image>>,
    pub(crate) new: Option<Arc<Image>>,
    /// Whether this only checks a condition and writes nothing.
    pub(crate) is_check: bool,
    /// The capacity that the change used of its table, including its companions there.
    pub(crate) consumed: Consumed,
}

impl RowChange {
    /// A change that is not staged yet.
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

    /// Stages the change with all its effects, and updates `self` to the result.
    pub(crate) fn write(&mut self, transaction: &mut Transaction<'_>, actor: Actor) -> Result<(), Error> {
        if !self.is_asked_about() {
            return self.stage(transaction, actor);
        }
        write_all(std::slice::from_mut(self), transaction, actor).map_err(|refused| refused.error)
    }

    /// Whether the hook is called for the change.
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

    /// Applies the hook's verdict to the row.
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
    /// Applies edits to the result of the write. The item belongs to this change alone, so nothing is copied.
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

/// Stages the changes of one request with all their effects. Each change is updated to its result.
pub(crate) fn write_all(
    changes: &mut [RowChange],
    transaction: &mut Transaction<'_>,
    actor: Actor,
) -> Result<(), Refused> {
    let by = match actor {
        Actor::Client => Some(By::Client),
        Actor::TimeToLive => Some(By::TimeToLive),
        Actor::Touch => Some(By::Touch),
        // A move is staged as it is, without the hook.
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
            // The effects of a touch are not changes by the application either.
            Actor::Touch => Actor::Touch,
            // Only the expired row was removed by time to live; its effects count as changes by a client.
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

/// Calls the hook, which decides what is stored for the rows and which companions there are.
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

/// The position of the change that causes all companions, if only one change can.
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

/// The changes of a request while their companions are staged.
struct Chain<'c, 't, 'g> {
    transaction: &'t mut Transaction<'g>,
    changes: &'c mut [RowChange],
    /// Who writes the companions.
    actor: Actor,
}

impl Chain<'_, '_, '_> {
    /// Writes a companion. If the row already has the wanted content, the chain ends.
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

/// Checks an item from a hook by the same rules as a client's.
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

/// An error that the client cannot correct; it says what happened.
fn defect(table: &Table, what: &str) -> Error {
    Error::validation(format!(
        "The write to table {} was refused: {what}. This is a defect in what gives the table's rows their meaning, not \
         in the request",
        table.name
    ))
}
