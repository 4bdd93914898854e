//! Amendments: writes that are computed from stored rows instead of from a request. The work reads the rows
//! of its own commit and returns those that change.

use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Error, ListTablesOutput, Response};
use trestle_env::Timestamp;
use trestle_hook::{Companion, Rows};
use trestle_writes::with_key;

use crate::Engine;
use crate::completion::Completion;
use crate::consequences::{RowChange, checked};
use crate::transaction::{Actor, Transaction};

/// How many rows one amendment may write: all other writes wait during it.
const ROWS_MAX: usize = 10_000;

/// An amendment in progress. Dropping this does not cancel it.
#[must_use = "an amendment is durable only when it has been waited for"]
pub struct Amendment<T> {
    completion: Completion,
    told: Arc<Mutex<Option<T>>>,
}

impl<T> Amendment<T> {
    /// Blocks this thread until the rows are durable. Returns the value of the work.
    pub fn wait(self) -> Result<T, Error> {
        self.completion.wait()?;
        take(&self.told)
    }

    /// The asynchronous form of [`Amendment::wait`].
    pub async fn done(self) -> Result<T, Error> {
        self.completion.await?;
        take(&self.told)
    }
}

fn take<T>(told: &Mutex<Option<T>>) -> Result<T, Error> {
    let told = told.lock().take();
    told.ok_or_else(|| Error::defect("an amendment was committed, but its work did not run"))
}

impl<T> std::fmt::Debug for Amendment<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Amendment").finish_non_exhaustive()
    }
}

impl Engine {
    /// Runs `work` in the commit, on the current rows, and writes the rows it returns together with their
    /// index rows, change records, expiry entries and counts. The hook is not called, so the returned rows
    /// must include all effects. Rows that did not change are not written. After a refusal nothing is
    /// written.
    ///
    /// Several amendments that are started before the first is waited for share commits.
    pub fn amend<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Rows, Timestamp) -> Result<(Vec<Companion>, T), Error> + Send + 'static,
    ) -> Amendment<T> {
        self.submit_amendment(move |transaction| {
            let (companions, said) = work(&*transaction, transaction.now())?;
            if companions.len() > ROWS_MAX {
                return Err(Error::validation(format!(
                    "The amendment was refused: it has {} rows, and {ROWS_MAX} are the most",
                    companions.len()
                )));
            }
            for companion in companions {
                write(transaction, companion)?;
            }
            Ok(said)
        })
    }

    /// Queues work that is not a request and that returns a value.
    pub(crate) fn submit_amendment<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Amendment<T> {
        let told = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&told);
        let work = move |transaction: &mut Transaction<'_>| {
            let said = work(transaction)?;
            *tell.lock() = Some(said);
            // The committer answers with responses; this work has none, so any empty one will do.
            Ok(Response::from(ListTablesOutput::default()))
        };
        Amendment {
            completion: self.submit(Box::new(work), None),
            told,
        }
    }
}

fn write(transaction: &mut Transaction<'_>, companion: Companion) -> Result<(), Error> {
    let table = transaction.other_table(&companion.table)?;
    let key = table.key.item_key(&companion.key)?;
    let old = transaction.item(&table, &key)?;
    let new = match companion.item {
        Some(item) => Some(checked(&table, &key, with_key(item, &companion.key))?),
        None => None,
    };
    if old == new {
        return Ok(());
    }
    RowChange::new(table, key, old, new).stage(transaction, Actor::Client)
}
