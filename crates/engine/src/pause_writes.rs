//! Tables that are read-only for a while, so that writes can be switched to a copy of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trestle_api::{Error, ErrorKind, ListTablesOutput, Response, table_name};
use trestle_env::Timestamp;

use crate::Engine;
use crate::catalog::Table;
use crate::transaction::Transaction;

/// The rows of a table are read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WritePause {
    /// When the pause ends; without a time, it lasts until it is ended.
    until: Option<Timestamp>,
}

/// A table whose rows are read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedTable {
    /// Its name.
    pub name: String,
    /// When that ends, if it has a time.
    pub until: Option<Timestamp>,
}

impl Engine {
    /// Makes the rows of tables read-only: for the given time, or until [`Engine::resume_writes`]. A table
    /// that is already paused gets the new time.
    ///
    /// This is one commit: when it returns, earlier commits are in the tables and their streams, and nothing
    /// more is written to them by clients, expiry or background work.
    pub fn pause_writes(&self, tables: &[String], time: Option<Duration>) -> Result<(), Error> {
        self.set_pause(tables, move |now| {
            let until = time.map(|time| now.plus(time));
            Some(WritePause { until })
        })
    }

    /// Resumes writes to tables.
    pub fn resume_writes(&self, tables: &[String]) -> Result<(), Error> {
        self.set_pause(tables, |_| None)
    }

    /// The tables whose rows are read-only now, by name.
    pub fn paused_tables(&self) -> Vec<PausedTable> {
        let now = self.shared().clock.now();
        let catalog = self.shared().catalog.load();
        let paused = catalog.tables.values().filter_map(|table| {
            Some(PausedTable {
                name: table.name.clone(),
                until: table.pause.filter(|pause| pause.is_on(now))?.until,
            })
        });
        paused.collect()
    }

    fn set_pause(
        &self,
        tables: &[String],
        pause: impl FnOnce(Timestamp) -> Option<WritePause> + Send + 'static,
    ) -> Result<(), Error> {
        let tables: Vec<String> = tables.iter().map(|table| table_name(table).to_owned()).collect();
        let work = move |transaction: &mut Transaction<'_>| {
            let pause = pause(transaction.now());
            for name in tables {
                let table = transaction.catalog().tables.get(&name);
                let table = table.ok_or_else(|| Error::table_not_found(&name))?;
                if table.pause != pause {
                    let table = Table::clone(table);
                    transaction.put_table(Table { pause, ..table })?;
                }
            }
            // As with documents: any empty response will do.
            Ok(Response::from(ListTablesOutput::default()))
        };
        self.submit(Box::new(work), None).wait().map(|_| ())
    }
}

impl WritePause {
    fn is_on(self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl Table {
    /// Refuses a write while the rows are read-only.
    pub(crate) fn refuse_while_paused(&self, now: Timestamp) -> Result<(), Error> {
        let name = &self.name;
        match self.pause.filter(|pause| pause.is_on(now)) {
            None => Ok(()),
            // Clients repeat this automatically.
            Some(WritePause { until: Some(_) }) => Err(Error::new(
                ErrorKind::Throttling,
                format!("Table {name} is read-only for a moment: writing is paused. Try again."),
            )),
            Some(WritePause { until: None }) => Err(Error::validation(format!(
                "Table {name} is read-only: writing is paused, because the table was copied to another database. \
                 `trestle copy resume-writes` allows writes here again."
            ))),
        }
    }
}
