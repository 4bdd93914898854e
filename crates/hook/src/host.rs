//! Where models are in force.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Database, Error};
use trestle_env::{Clock, Timestamp};
use trestle_item::Item;

use crate::{Companion, Hook, Rows};

/// Named bytes that are stored beside the rows; those without bytes are removed.
pub type Documents = Vec<(String, Option<Vec<u8>>)>;

/// Work on rows that may be run several times, on the rows of the moment, until what it returns could be written.
pub type AmendWork = Box<dyn FnMut(&dyn Rows, Timestamp) -> Result<Vec<Companion>, Error> + Send>;

/// A database in which models are in force: an engine in this process, or an endpoint behind a gateway. What drives models
/// (applying, filling in, moving rows, auditing, mending) is written against this trait.
pub trait Host: Database + fmt::Debug {
    /// The clock that everything here follows.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// All documents with their names, in the names' order.
    fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error>;

    /// Waits until what other processes have installed is in force here, too.
    fn catch_up(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Stores documents and lets `hook` take effect, or none, as one.
    fn install(&self, documents: Documents, hook: Option<Arc<dyn Hook>>) -> Result<(), Error>;

    /// Lets `hook` take effect while something is prepared, in every process that shares these rows: the documents tell the others
    /// what it is. It ends when something is installed, or when what this returns is dropped.
    fn hold(&self, _documents: Documents, hook: Arc<dyn Hook>) -> Result<Box<dyn Any + Send>, Error> {
        self.install(Vec::new(), Some(hook))?;
        Ok(Box::new(()))
    }

    /// Stores documents. What is installed stays so.
    fn store_documents(&self, documents: Documents) -> Result<(), Error>;

    /// The rows as they are now: of one moment in an engine, each as it is when it is read at an endpoint.
    fn view(&self) -> Box<dyn HostView>;

    /// The rows of one moment under the models in force, as long as this is kept. Sums over rows are held against counts on such
    /// rows only: clients go on writing meanwhile. While it is kept, no other process has one, and amendments are refused if it was
    /// taken from this one.
    fn moment(&self) -> Result<Box<dyn HostView>, Error> {
        Ok(self.view())
    }

    /// Starts work on the rows of the moment: what it returns is written, and nothing else follows. See [`amend`].
    fn start_amendment(&self, work: AmendWork) -> Started;

    /// The next `at_most` rows of a table as they lie, from `from` on.
    fn lying(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error>;

    /// How much of a table lies before a place to go on at, from 0 to 1, where that can be told.
    fn walked(&self, place: &[u8]) -> Option<f64>;

    /// Whether a table could hold a row like this, by the rules for what clients put there; otherwise why not.
    fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error>;

    /// The turn of this process to move rows, of those that share them; `None` while another one has it. With another number, others
    /// may have moved rows since.
    fn sweep_turn(&self) -> Result<Option<u64>, Error> {
        Ok(Some(0))
    }

    /// Moves the rows in former places among the next `at_most` rows of a table, from `from` on. A row that was written or
    /// removed meanwhile is left alone. Repeating it does no harm.
    fn move_rows(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<MovedPage, Error>;

    /// Looks for rows in former places among the next `at_most` rows of a table, from `from` on.
    fn rows_to_move(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Remaining, Error>;

    /// Rows of this table are about to move. Reads may be spared some work.
    fn look_ahead(&self, _table: &str) {}

    /// How many writes were handed in, those of background work included. Work that can wait tells by it whether others write.
    fn writes_handed_in(&self) -> u64;
}

/// Rows of one moment, as far as the host has such: tables walked in parts and rows found by their keys.
pub trait HostView: Send + Sync {
    /// Whether there is such a table.
    fn has_table(&self, table: &str) -> bool;

    /// About how many rows a table has.
    fn row_count(&self, table: &str) -> u64;

    /// The row with this table key.
    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error>;

    /// Hands the rows of one of several even parts of a table to `each`.
    fn walk(
        &self,
        table: &str,
        part: (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// A row that a walk meets.
#[derive(Clone, Debug, PartialEq)]
pub enum Met {
    /// It lies in its own place.
    Row(Item),
    /// It still lies in a former place; this is the row as it will be.
    ToMove(Item),
    /// It lies in a former place and cannot move: its key there, and why.
    Stuck(Item, String),
    /// Its bytes have no meaning.
    Unreadable,
}

/// What became of a page of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovedPage {
    /// Rows looked at.
    pub looked_at: u64,
    /// Rows moved.
    pub moved: u64,
    /// What that cost, in rows of the least cost; at least as many as were moved.
    pub cost: u64,
    /// Rows that cannot move.
    pub stuck: Vec<Stuck>,
    /// Where to go on; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// A row that cannot move.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    /// Its key, in its former place.
    pub key: Item,
    /// Why it cannot.
    pub reason: String,
}

/// The rows of a page that lie in former places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remaining {
    /// Rows looked at.
    pub looked_at: u64,
    /// The keys of those in former places.
    pub keys: Vec<Item>,
    /// Where to go on; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// Some rows of a table as they lie, whether in former places or in their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lying {
    /// The rows.
    pub rows: Vec<Item>,
    /// Where to go on; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// Work that was started. Dropping it does not take it back.
#[must_use = "work is durable only when it has been waited for"]
pub struct Started(Box<dyn FnOnce() -> Result<(), Error> + Send>);

impl Started {
    /// Work that ends when `wait` returns.
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

/// Work on rows that also says something.
#[must_use = "an amendment is durable only when it has been waited for"]
#[derive(Debug)]
pub struct Amending<T> {
    started: Started,
    told: Arc<Mutex<Option<T>>>,
}

impl<T> Amending<T> {
    /// Blocks this thread until the rows are durable; what the work said besides, the last time it was run.
    pub fn wait(self) -> Result<T, Error> {
        self.started.wait()?;
        let told = self.told.lock().take();
        told.ok_or_else(|| Error::defect("rows were amended, but the work did not run"))
    }
}

/// Runs `work` over the rows of the moment and writes the rows it returns. The hook is not asked: what follows from these rows
/// must be among them. Rows that are already so are not written. A refusal leaves nothing behind. Where others write the same
/// rows, the work may be run again.
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
