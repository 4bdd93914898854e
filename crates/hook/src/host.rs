//! A database in which models are in force.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Database, Error};
use trestle_env::{Clock, Timestamp};
use trestle_item::Item;

use crate::{Companion, Hook, Rows};

/// Named byte strings that are stored beside the rows; `None` removes the document.
pub type Documents = Vec<(String, Option<Vec<u8>>)>;

/// Work on rows, which may be run several times, each time on the current rows, until its result can be
/// written.
pub type AmendWork = Box<dyn FnMut(&dyn Rows, Timestamp) -> Result<Vec<Companion>, Error> + Send>;

/// A database in which models are in force: an engine in this process, or an endpoint behind a gateway. The
/// code that applies, fills, migrates, audits and repairs models is written against this trait.
pub trait Host: Database + fmt::Debug {
    /// The clock of this database.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// All documents with their names, in the order of the names.
    fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error>;

    /// Waits until the models that other processes have installed are in force in this process.
    fn catch_up(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Stores documents and puts `hook`, or none, into effect, in one step.
    fn install(&self, documents: Documents, hook: Option<Arc<dyn Hook>>) -> Result<(), Error>;

    /// Puts `hook` into effect during a preparation, in every process that shares these rows; the other
    /// processes build it from the documents. It ends with the next installation, or when the returned value
    /// is dropped.
    fn hold(&self, _documents: Documents, hook: Arc<dyn Hook>) -> Result<Box<dyn Any + Send>, Error> {
        self.install(Vec::new(), Some(hook))?;
        Ok(Box::new(()))
    }

    /// Stores documents. The installed hook stays.
    fn store_documents(&self, documents: Documents) -> Result<(), Error>;

    /// The current rows: a snapshot in an engine; at an endpoint, each row as it is when it is read.
    fn view(&self) -> Box<dyn HostView>;

    /// A snapshot of the rows under the models in force, valid until it is dropped. Counts are compared with
    /// their rows only in such a view, because clients continue to write. While it exists, no other process
    /// has one; if it is taken from this process, its amendments are refused.
    fn moment(&self) -> Result<Box<dyn HostView>, Error> {
        Ok(self.view())
    }

    /// Starts work on the current rows. The rows that it returns are written; no effects are computed for
    /// them. See [`amend`].
    fn start_amendment(&self, work: AmendWork) -> Started;

    /// The next `at_most` rows of a table in their storage order and places, from `from` on.
    fn lying(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error>;

    /// The fraction of a table, from 0 to 1, that is before a position, where that is known.
    fn walked(&self, place: &[u8]) -> Option<f64>;

    /// Checks whether a table could hold a row like this, by the rules for rows that clients write.
    fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error>;

    /// The right of this process to move rows, among the processes that share them; `None` while another
    /// process has it. If the number differs from the last one, other processes may have moved rows in
    /// between.
    fn sweep_turn(&self) -> Result<Option<u64>, Error> {
        Ok(Some(0))
    }

    /// Moves the rows in former places among the next `at_most` rows of a table, from `from` on. A row that
    /// was written or removed meanwhile is skipped. Repeating the call does no harm.
    fn move_rows(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<MovedPage, Error>;

    /// Finds the rows in former places among the next `at_most` rows of a table, from `from` on.
    fn rows_to_move(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Remaining, Error>;

    /// Prepares for the move of a table's rows, to make reads cheaper during the move.
    fn look_ahead(&self, _table: &str) {}

    /// How many writes were submitted, including those of background work. Low-priority work uses it to
    /// detect other writers.
    fn writes_handed_in(&self) -> u64;
}

/// A view of the rows, of one moment if the host supports that: walks through parts of tables, and lookups by
/// key.
pub trait HostView: Send + Sync {
    /// Whether there is such a table.
    fn has_table(&self, table: &str) -> bool;

    /// The approximate number of rows in a table.
    fn row_count(&self, table: &str) -> u64;

    /// The row with this table key.
    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error>;

    /// Calls `each` with the rows of one of several equal parts of a table.
    fn walk(
        &self,
        table: &str,
        part: (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// A row found by a walk.
#[derive(Clone, Debug, PartialEq)]
pub enum Met {
    /// It is in its own place.
    Row(Item),
    /// It is still in a former place; this is the row as it will be in its own.
    ToMove(Item),
    /// It is in a former place and cannot move: its key there, and the reason.
    Stuck(Item, String),
    /// It cannot be decoded.
    Unreadable,
}

/// The result of moving a page of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovedPage {
    /// Rows looked at.
    pub looked_at: u64,
    /// Rows moved.
    pub moved: u64,
    /// The cost, in units of the cheapest row; at least the number of moved rows.
    pub cost: u64,
    /// Rows that cannot move.
    pub stuck: Vec<Stuck>,
    /// The position of the next page; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// A row that cannot move.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    /// Its key, in its former place.
    pub key: Item,
    /// The reason.
    pub reason: String,
}

/// The rows of a page that are in former places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remaining {
    /// Rows looked at.
    pub looked_at: u64,
    /// The keys of those in former places.
    pub keys: Vec<Item>,
    /// The position of the next page; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// Some rows of a table, each in the place where it is stored, former or own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lying {
    /// The rows.
    pub rows: Vec<Item>,
    /// The position of the next page; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// Work that was started. Dropping this does not cancel it.
#[must_use = "work is durable only when it has been waited for"]
pub struct Started(Box<dyn FnOnce() -> Result<(), Error> + Send>);

impl Started {
    /// Work that is done when `wait` returns.
    pub fn new(wait: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Self {
        Started(Box::new(wait))
    }

    /// Blocks this thread until it is done.
    pub fn wait(self) -> Result<(), Error> {
        (self.0)()
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").finish_non_exhaustive()
    }
}

/// Started work on rows that also returns a value.
#[must_use = "an amendment is durable only when it has been waited for"]
#[derive(Debug)]
pub struct Amending<T> {
    started: Started,
    told: Arc<Mutex<Option<T>>>,
}

impl<T> Amending<T> {
    /// Blocks this thread until the rows are durable. Returns the value of the last run of the work.
    pub fn wait(self) -> Result<T, Error> {
        self.started.wait()?;
        let told = self.told.lock().take();
        told.ok_or_else(|| Error::defect("rows were amended, but the work did not run"))
    }
}

/// Runs `work` on the current rows and writes the rows it returns. The hook is not called, so the returned
/// rows must include all effects. Rows that did not change are not written. After a refusal nothing is
/// written. If others write the same rows, the work may run again.
///
/// Several amendments that are started before the first is waited for may share commits.
pub fn amend<T: Send + 'static>(
    host: &dyn Host,
    mut work: impl FnMut(&dyn Rows, Timestamp) -> Result<(Vec<Companion>, T), Error> + Send + 'static,
) -> Amending<T> {
    let told = Arc::new(Mutex::new(None));
    let tell = Arc::clone(&told);
    let started = host.start_amendment(Box::new(move |rows, now| {
        let (companions, said) = work(rows, now)?;
        *tell.lock() = Some(said);
        Ok(companions)
    }));
    Amending { started, told }
}
