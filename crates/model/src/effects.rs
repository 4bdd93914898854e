//! Effects, carried out: from one write to everything that follows from it. Pure; whoever commits applies it.

mod copy;
mod counter;
mod head;
mod inverse;
mod kept;
mod ledger;
mod members;
mod orphans;
mod pairs;
mod plan;
mod settle;
mod unique;

use std::fmt;
use std::sync::Arc;

use trestle_expr::{Condition, KeyCondition};
use trestle_item::Item;

use self::ledger::{Ledger, ROOT, key_in};
use self::settle::settle_all;
use crate::entity::{Entity, Role};
use crate::model::{Model, Table};
use crate::refusal::Refusal;

pub use orphans::{COUNTS_KEY, COUNTS_TABLE, OrphanCount};
pub(crate) use plan::{Plan, has_effects, plans};

/// The rows of the database, as whoever commits sees them at this moment.
pub trait Rows {
    /// Why rows cannot be read.
    type Error;

    /// The row with this key. `table_name` is the name in the database.
    fn get(&self, table_name: &str, key: &Item) -> Result<Option<Arc<Item>>, Self::Error>;

    /// All rows that a query finds.
    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, Self::Error>;
}

/// A query: always of one partition, and always of all its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct RowQuery {
    /// The table in the database.
    pub table_name: String,
    /// The index, if it is not the table itself.
    pub index: Option<String>,
    /// Which rows are read.
    pub key_condition: KeyCondition,
    /// Which of those are returned.
    pub filter: Option<Condition>,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A client.
    Client,
    /// The database, because the row's time is over.
    TimeToLive,
    /// The database, because it follows from another write: see [`Changed::companions`].
    Companion,
}

/// A write of one row.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table in the database.
    pub table_name: &'a str,
    /// The row before; `None` if there was none.
    pub old: Option<&'a Item>,
    /// The row after; `None` if it is removed.
    pub new: Option<&'a Item>,
    /// The time of the write, in milliseconds since 1970.
    pub now_ms: u64,
    /// Who writes.
    pub by: By,
}

/// What a write must be, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changed {
    /// The row as it must be stored; `None` if that is how it came, or if it is removed.
    pub item: Option<Item>,
    /// The rows that follow, each once and as they are at the end: what follows from companions is among them.
    pub companions: Vec<Companion>,
}

/// A row that follows from a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// The table in the database.
    pub table_name: String,
    /// The row's key.
    pub key: Item,
    /// The whole row; `None` removes it.
    pub item: Option<Item>,
}

/// Why a write does not take place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped<E> {
    /// The model refuses it.
    Refused(Refusal),
    /// Rows could not be read.
    Rows(E),
}

impl<E> From<Refusal> for Stopped<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<E: fmt::Display> fmt::Display for Stopped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Rows(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Stopped<E> {}

impl Model {
    /// The row that a write must store, and the rows that follow from it.
    ///
    /// The companions are complete and absolute: they are to be applied in order, and nothing else follows from them.
    /// Asked about one of them again, as [`By::Companion`], the answer is that it is right as it is.
    ///
    /// A row whose time is over always goes: where the model would refuse that, nothing follows from it.
    pub fn change<R: Rows>(&self, change: &Change<'_>, rows: &R) -> Result<Changed, Stopped<R::Error>> {
        let Some(at) = self
            .table_at(change.table_name)
            .filter(|_| change.by != By::Companion)
        else {
            return Ok(Changed::default());
        };
        let Some(table) = self.tables.get(at) else {
            return Ok(Changed::default());
        };
        if !table.has_effects {
            return Ok(self.derived(change)?);
        }
        match self.followed(at, table, change, rows) {
            Err(Stopped::Refused(_)) if change.by == By::TimeToLive => Ok(Changed::default()),
            result => result,
        }
    }

    /// A write from which nothing follows.
    fn derived(&self, change: &Change<'_>) -> Result<Changed, Refusal> {
        let Some(new) = change.new else {
            return Ok(Changed::default());
        };
        let derived = self.derive(change.table_name, change.old, new, change.now_ms)?;
        if let Some(derived) = derived.as_ref().filter(|_| change.by == By::Client) {
            derived.entity.check_created(change.old, new)?;
        }
        let item = derived.filter(|derived| !derived.is_empty()).map(|derived| {
            let mut item = new.clone();
            derived.apply(&mut item);
            item
        });
        Ok(Changed {
            item,
            companions: Vec::new(),
        })
    }

    fn followed<R: Rows>(
        &self,
        at: usize,
        table: &Table,
        change: &Change<'_>,
        rows: &R,
    ) -> Result<Changed, Stopped<R::Error>> {
        let Some(given) = change.new.or(change.old) else {
            return Ok(Changed::default());
        };
        let entity = match change.new {
            Some(new) => self.recognise_in(table, new)?,
            // Whatever a row is, it may go.
            None => self.recognise_in(table, given).ok().flatten(),
        };
        let nothing_follows = entity.is_some_and(|entity| {
            entity.role == Role::Declared
                && entity.kept.is_empty()
                && self.plan_of(entity).is_none_or(Plan::is_empty)
        });
        if nothing_follows {
            return Ok(self.derived(change)?);
        }
        let mut ledger = Ledger::new(self, rows, change.now_ms, change.by);
        ledger.enter(at, key_in(table, given), change.old.cloned().map(Arc::new));
        match entity.filter(|_| change.by == By::Client) {
            Some(entity) if entity.role != Role::Declared => {
                kept::write(&mut ledger, entity, change.old, change.new)?;
            }
            Some(entity) => {
                let mut new = change.new.cloned();
                if let Some(new) = &mut new {
                    entity.with_kept(change.old, new)?;
                    entity.check_created(change.old, new)?;
                }
                ledger.write(ROOT, new);
            }
            None => ledger.write(ROOT, change.new.cloned()),
        }
        // Also a row that is written as it was is looked at: its time of change is new.
        ledger.wait(ROOT);
        settle_all(&mut ledger)?;
        let item = ledger.row(ROOT);
        let mut companions = Vec::new();
        if item.is_none() && change.new.is_some() {
            companions.push(Companion {
                table_name: change.table_name.to_owned(),
                key: key_in(table, given),
                item: None,
            });
        }
        companions.extend(ledger.companions());
        let item = item.filter(|item| change.new != Some(&**item));
        Ok(Changed {
            item: item.map(Arc::unwrap_or_clone),
            companions,
        })
    }

    pub(crate) fn plan_of(&self, entity: &Entity) -> Option<&Plan> {
        self.plans.get(entity.position)
    }
}
