//! Raising the version attribute of many rows, for a reindex: rows are independent of each other, many in one
//! commit.

use std::sync::Arc;

use trestle_api::{Error, TouchRows, Touched};
use trestle_expr::KeyAttribute;
use trestle_item::{AttributeValue, Item, Number, ScalarType};

use trestle_store::Space;

use crate::Engine;
use crate::amend::Amendment;
use crate::capacity::write_units;
use crate::catalog::Table;
use crate::consequences::RowChange;
use crate::image::Image;
use crate::layout::ItemKey;
use crate::transaction::{Actor, Transaction};

/// How many rows one call may name: other writes wait during it.
pub const TOUCHED_MAX: usize = 1_000;
/// How many rows are raised in one job of the committer. Jobs share commits while their bytes stay within a
/// limit, which is checked between jobs.
const JOB_ROWS_MAX: usize = 32;

/// A touch in progress. Dropping this does not cancel it.
#[must_use = "what became of the rows is known when they have been waited for"]
pub struct Touching {
    jobs: Vec<Amendment<Vec<TouchedRow>>>,
}

/// The outcome for a row, and the write units that it took.
type TouchedRow = (Touched, f64);

impl Touching {
    /// Blocks this thread until everything is durable. Returns the outcome of each row, in the order of the
    /// keys.
    pub fn wait(self) -> Result<Vec<Touched>, Error> {
        let mut touched = Vec::new();
        for job in self.jobs {
            touched.extend(job.wait()?.into_iter().map(|(row, _)| row));
        }
        Ok(touched)
    }

    /// The asynchronous form, with the write units of all rows together: those of each written row and of its
    /// rows in indexes.
    pub async fn done(self) -> Result<(Vec<Touched>, f64), Error> {
        let (mut touched, mut units) = (Vec::new(), 0.0);
        for job in self.jobs {
            for (row, used) in job.done().await? {
                touched.push(row);
                units += used;
            }
        }
        Ok((touched, units))
    }
}

impl std::fmt::Debug for Touching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Touching").finish_non_exhaustive()
    }
}

impl Engine {
    /// Raises the version attribute of rows, in the commit. Rows are independent: a refused row does not
    /// affect the others. The hook is called for each row, so that its effects are in the same commit. A row
    /// that has the version or a later one is not written, and none is created; with `records_again`, the
    /// stream gets another record of such a row, but not of its companions. At most [`TOUCHED_MAX`] rows.
    pub fn touch(&self, rows: TouchRows) -> Result<Touching, Error> {
        let shared = self.shared();
        let table = shared
            .catalog
            .load()
            .table(&rows.table, shared.clock.now())
            .cloned()?;
        check(&table, &rows)?;
        let mut rows = rows;
        let mut keys = std::mem::take(&mut rows.keys);
        let raise = Arc::new(Raise {
            table,
            version: rows.version.into(),
            rows,
        });
        let mut jobs = Vec::with_capacity(keys.len().div_ceil(JOB_ROWS_MAX));
        while !keys.is_empty() {
            let later = keys.split_off(keys.len().min(JOB_ROWS_MAX));
            jobs.push(self.raise(Arc::clone(&raise), keys));
            keys = later;
        }
        Ok(Touching { jobs })
    }

    /// Queues one job.
    fn raise(&self, raise: Arc<Raise>, keys: Vec<Item>) -> Amendment<Vec<TouchedRow>> {
        let placed = keys.into_iter().map(|key| self.placed(&raise, key));
        let placed: Vec<Placed> = placed.collect();
        self.submit_amendment(move |transaction| {
            // The table may have been dropped, or have gained or lost an index or its hook, since the call.
            let table = transaction.table(&raise.table.name)?;
            let rows = transaction.each(placed, |transaction, row| {
                let (key, seen) = row.key(&raise.table, &table)?;
                raise.row(transaction, &table, &key, seen)
            });
            let refused = |error| (Touched::Refused(error), 0.0);
            let outcomes = rows.into_iter().map(|row| row.unwrap_or_else(refused));
            Ok(outcomes.collect())
        })
    }
}

/// Checks everything that concerns all rows.
fn check(table: &Table, rows: &TouchRows) -> Result<(), Error> {
    if rows.keys.len() > TOUCHED_MAX {
        return Err(Error::validation(format!(
            "{} rows cannot be touched in one call: {TOUCHED_MAX} are the most. Name them in several calls",
            rows.keys.len()
        )));
    }
    match why_unfit(table, &rows.attribute) {
        Some(why) => Err(Error::validation(format!(
            "The rows of table {} cannot be touched through attribute `{}`: {why}. Name another attribute",
            table.name, rows.attribute
        ))),
        None => Ok(()),
    }
}

/// Why an attribute cannot hold a version in any row of a table.
fn why_unfit(table: &Table, attribute: &str) -> Option<String> {
    if attribute.is_empty() {
        return Some("an attribute has a name".to_owned());
    }
    if table.key.contains(attribute) {
        return Some("it is part of the table's key".to_owned());
    }
    let is_other = |part: &KeyAttribute| part.name == attribute && part.kind != ScalarType::N;
    let index = table
        .indexes
        .iter()
        .find(|index| index.key.attributes().any(is_other))?;
    Some(format!("it is a key of index {} and no number", index.name))
}

/// A row whose key was computed on the caller's thread, to spare the committer.
struct Placed {
    given: Item,
    key: Result<ItemKey, Error>,
    seen: Option<Seen>,
}

/// A row as read before the commit, and its new state, valid if the row has not changed.
struct Seen {
    old: Arc<Image>,
    new: Arc<Image>,
}

impl Placed {
    /// Its key in the table's current layout, and what was read there.
    fn key(self, then: &Arc<Table>, now: &Arc<Table>) -> Result<(ItemKey, Option<Seen>), Error> {
        match Arc::ptr_eq(then, now) {
            true => Ok((self.key?, self.seen)),
            false => Ok((now.item_key(&self.given)?, None)),
        }
    }
}

impl Engine {
    fn placed(&self, raise: &Raise, given: Item) -> Placed {
        let key = raise.table.item_key(&given);
        let seen = key.as_ref().ok().and_then(|key| self.seen(raise, key));
        Placed { given, key, seen }
    }

    /// Reads a row and computes its new state outside the commit, so that other writes do not wait. Errors
    /// are ignored here: the commit reads the row again and reports them.
    fn seen(&self, raise: &Raise, key: &ItemKey) -> Option<Seen> {
        let table = &raise.table;
        if table.former.is_some() {
            return None;
        }
        let stored = self.shared().store.get(Space::Items, &key.in_table(table.id));
        let old = Image::stored(stored.ok()??).ok()?;
        if raise.is_there(&old).ok()? {
            return None;
        }
        let new = raise.raised(table, &old).ok()?;
        if table.hook.is_none() {
            new.bytes();
        }
        Some(Seen {
            old: Arc::new(old),
            new,
        })
    }
}

/// What is raised, and to which version.
struct Raise {
    table: Arc<Table>,
    version: Number,
    /// The request without the keys.
    rows: TouchRows,
}

impl Raise {
    /// Raises one row.
    fn row(
        &self,
        transaction: &mut Transaction<'_>,
        table: &Arc<Table>,
        key: &ItemKey,
        seen: Option<Seen>,
    ) -> Result<TouchedRow, Error> {
        let before = seen.as_ref().map(|seen| &seen.old);
        let old = match before {
            Some(_) => transaction.look_again(table, key, before)?.row,
            None => transaction.item(table, key)?,
        };
        let Some(old) = old else {
            return Ok((Touched::Gone, 0.0));
        };
        let is_there = self.is_there(&old)?;
        if is_there && !self.rows.records_again {
            return Ok((Touched::AlreadyThere, 0.0));
        }
        if !self.rows.expects(&old) {
            return Err(Error::condition_failed(None));
        }
        if is_there {
            return recorded_again(transaction, table, key, &old);
        }
        let new = match seen {
            Some(seen) if Arc::ptr_eq(&seen.old, &old) => seen.new,
            _ => self.raised(table, &old)?,
        };
        let mut change = RowChange::new(Arc::clone(table), key.clone(), Some(old), Some(new));
        change.write(transaction, Actor::Touch)?;
        // A hook leaves companions unchanged: they are raised together with their row.
        let is_raised = change.old != change.new;
        Ok(if is_raised {
            (Touched::Raised, change.consumed.total())
        } else {
            (Touched::AlreadyThere, 0.0)
        })
    }

    /// Whether a row has the version or a later one.
    fn is_there(&self, row: &Item) -> Result<bool, Error> {
        match row.get(&self.rows.attribute) {
            None => Ok(false),
            Some(AttributeValue::N(version)) => Ok(*version >= self.version),
            Some(other) => Err(Error::validation(format!(
                "The row cannot be touched: its attribute `{}` is of type {}, and a version is a number. Name another attribute",
                self.rows.attribute,
                other.type_name()
            ))),
        }
    }

    fn raised(&self, table: &Table, old: &Image) -> Result<Arc<Image>, Error> {
        let mut image = old.clone();
        image.edit(|item| item.insert(self.rows.attribute.clone(), self.version));
        trestle_writes::check_limits(&image, image.size())?;
        table.check_index_keys(&image)?;
        Ok(Arc::new(image))
    }
}

/// Records an unchanged row once more.
fn recorded_again(
    transaction: &mut Transaction<'_>,
    table: &Arc<Table>,
    key: &ItemKey,
    row: &Image,
) -> Result<TouchedRow, Error> {
    table.refuse_while_paused(transaction.now())?;
    transaction.move_to_own_key(table, key)?;
    Ok(match transaction.record_again(table, key, row, Actor::Touch) {
        true => (Touched::Raised, write_units(row.size())),
        false => (Touched::AlreadyThere, 0.0),
    })
}
