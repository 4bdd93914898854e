//! The lease that decides which process of a program may use the program's queues and the positions of its
//! routes at an endpoint.
//!
//! The state of queues is held in memory, so only one process may use them at a time, as with a data
//! directory. A row names the holder and counts its changes: the epoch. The holder renews another row. A
//! process that finds a holder watches that row: if it is renewed, the program is running elsewhere, and this
//! process is refused; if there is no renewal for [`LEASE`], the holder has expired and this process replaces
//! it. Clocks of different machines are not compared.
//!
//! *Invariant*: each write of the holder through a [`Fence`] is one transaction with the check that the epoch
//! is unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use trestle_api::{
    ConditionCheck, Database, DatabaseExt, Error, ErrorKind, GetItem, TransactWriteItem, UpdateItem, Wait,
    pause_after,
};
use trestle_env::ids;
use trestle_item::{AttributeValue, Item, Map};

use crate::duty::{names, number};
use crate::fence::Fence;
use crate::own_table::OwnTable;
use crate::transactions::{has_transactions, refusal};

/// A holder without a renewal for this long has expired.
const LEASE: Duration = Duration::from_secs(10);
/// The time between two renewals.
const RENEWAL: Duration = Duration::from_secs(1);
/// The pauses between checks of another process's renewals are those after at most this many attempts.
const PAUSE_MAX: usize = 10;
/// How long after a renewal the holder may begin something that is not written through the fence: less than
/// [`LEASE`].
const SEEN_MAX: Duration = Duration::from_secs(4);

const ID: &str = "id";
const OWNER: &str = "owner";
const RENEWED: &str = "renewed";
const HOLDER: &str = "holder";
const EPOCH: &str = "epoch";

/// The lease of a program, held by this process until it is dropped.
#[derive(Debug)]
pub struct ProgramLease {
    held: Arc<Held>,
    renewing: Option<JoinHandle<()>>,
}

struct Held {
    database: Arc<dyn Database>,
    program: String,
    table: String,
    holder: String,
    epoch: u64,
    /// When the last successful renewal was begun.
    renewed: Mutex<Instant>,
    is_lost: AtomicBool,
    is_over: Mutex<bool>,
    bell: Condvar,
}

/// The holder of the lease, and the number of changes of the holder.
#[derive(Clone, Default, PartialEq, Eq)]
struct OwnerRow {
    holder: Option<String>,
    epoch: u64,
}

impl ProgramLease {
    /// Takes the lease of a program, whose rows are in the table `PROGRAM.trestle-lease`. Refused while
    /// another process renews it; after a process that ended without giving it up, this takes some seconds.
    /// An endpoint without transactions is refused.
    pub async fn take(database: Arc<dyn Database>, program: &str) -> Result<Self, Error> {
        if !has_transactions(&*database).await? {
            return Err(refusal(
                "a program keeps no queues there, and runs no routes",
                "open a data directory or a Trestle server for them",
            ));
        }
        let mut held = Held {
            database,
            program: program.to_owned(),
            table: format!("{program}.trestle-lease"),
            holder: ids::uuid(),
            epoch: 0,
            renewed: Mutex::new(Instant::now()),
            is_lost: AtomicBool::new(false),
            is_over: Mutex::new(false),
            bell: Condvar::new(),
        };
        let table = OwnTable {
            name: &held.table,
            key: ID,
            range: None,
            ttl: None,
        };
        table.ensure(&*held.database).await?;
        loop {
            let owner = held.owner().await?;
            if owner.holder.is_some() {
                held.until_over(&owner).await?;
            }
            held.epoch = owner.epoch + 1;
            let begun = Instant::now();
            if held.change_owner(owner.epoch, Some(&held.holder)).await? {
                held.renewed = Mutex::new(begun);
                return Self::renewing(held);
            }
        }
    }

    fn renewing(held: Held) -> Result<Self, Error> {
        let held = Arc::new(held);
        let renewed = Arc::clone(&held);
        let renewing = std::thread::Builder::new()
            .name("trestle-lease".into())
            .spawn(move || renewed.renew_until_over());
        Ok(Self {
            held,
            renewing: Some(
                renewing.map_err(|error| Error::internal(format!("cannot start a thread: {error}")))?,
            ),
        })
    }

    /// A database for writes by the holder: each write is one transaction with the check that the lease is
    /// still held. `tables` are the holder's names of its tables, and their names at the endpoint.
    #[must_use]
    pub fn fence(&self, database: Arc<dyn Database>, tables: Vec<(&'static str, String)>) -> Fence {
        let held = &self.held;
        let holds = TransactWriteItem {
            condition_check: Some(Box::new(ConditionCheck {
                table_name: held.table.clone(),
                key: Item::from([(ID, OWNER)]),
                condition_expression: "#h = :own AND #e = :epoch".to_owned(),
                expression_attribute_names: Some(names(&[("#h", HOLDER), ("#e", EPOCH)])),
                expression_attribute_values: Some(Map::from_iter([
                    (":own".to_owned(), AttributeValue::S(held.holder.clone())),
                    (":epoch".to_owned(), number(held.epoch)),
                ])),
                ..ConditionCheck::default()
            })),
            ..TransactWriteItem::default()
        };
        Fence::new(database, Some(holds), tables)
    }

    /// Why nothing may be begun now that is not written through the fence; `None` if it may.
    #[must_use]
    pub fn objection(&self) -> Option<String> {
        let held = &self.held;
        if held.is_lost.load(Ordering::Acquire) {
            return Some(held.taken_over());
        }
        (held.renewed.lock().elapsed() >= SEEN_MAX).then(|| {
            format!(
                "the lease of {} at the endpoint could not be renewed for some seconds: another process may have taken over",
                held.program
            )
        })
    }

    /// The error of a write that found another holder of the lease.
    #[must_use]
    pub fn lost(&self) -> Error {
        self.held.is_lost.store(true, Ordering::Release);
        Error::internal(self.held.taken_over())
    }
}

impl Drop for ProgramLease {
    fn drop(&mut self) {
        *self.held.is_over.lock() = true;
        self.held.bell.notify_all();
        if let Some(renewing) = self.renewing.take() {
            let _ = renewing.join();
        }
    }
}

impl Held {
    fn taken_over(&self) -> String {
        format!(
            "another process has taken over the queues and routes of {} at this endpoint, because this one was not heard of for {} seconds; \
             start this one again when the other has ended",
            self.program,
            LEASE.as_secs()
        )
    }

    /// Returns when the holder has expired or was replaced; an error while it is running.
    async fn until_over(&self, owner: &OwnerRow) -> Result<(), Error> {
        let seen = self.renewal().await?;
        let since = Instant::now();
        loop {
            let asked = Instant::now();
            if self.owner().await? != *owner {
                return Ok(());
            }
            if self.renewal().await? != seen {
                let (program, table) = (&self.program, &self.table);
                return Err(Error::resource_in_use(format!(
                    "another process runs {program} at this endpoint: its queues and routes are for one at a time (table {table}); \
                     end it first"
                )));
            }
            if asked.duration_since(since) >= LEASE {
                return Ok(());
            }
            pause_after(PAUSE_MAX).await;
        }
    }

    async fn row(&self, id: &str) -> Result<Option<Item>, Error> {
        let asked = GetItem {
            table_name: self.table.clone(),
            key: Item::from([(ID, id)]),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        Ok(self.database.get_item(asked).await?.item)
    }

    async fn owner(&self) -> Result<OwnerRow, Error> {
        let Some(row) = self.row(OWNER).await? else {
            return Ok(OwnerRow::default());
        };
        let epoch = row.get(EPOCH).and_then(AttributeValue::as_n);
        let epoch = epoch.and_then(|epoch| epoch.to_string().parse().ok());
        Ok(OwnerRow {
            holder: row.get(HOLDER).and_then(AttributeValue::as_s).map(str::to_owned),
            epoch: epoch.ok_or_else(|| {
                Error::internal(format!(
                    "the row {OWNER} of {} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}",
                    self.table
                ))
            })?,
        })
    }

    async fn renewal(&self) -> Result<Option<String>, Error> {
        let row = self.row(RENEWED).await?;
        Ok(row.and_then(|row| row.get(HOLDER).and_then(AttributeValue::as_s).map(str::to_owned)))
    }

    /// Changes the holder if the epoch is unchanged.
    async fn change_owner(&self, epoch: u64, holder: Option<&str>) -> Result<bool, Error> {
        let mut values = Map::from_iter([(":next".to_owned(), number(epoch + 1))]);
        let condition = match epoch {
            0 => "attribute_not_exists(#e)",
            _ => {
                values.insert(":seen".to_owned(), number(epoch));
                "#e = :seen"
            }
        };
        let change = match holder {
            Some(holder) => {
                values.insert(":new".to_owned(), AttributeValue::S(holder.to_owned()));
                "SET #h = :new, #e = :next"
            }
            None => "SET #e = :next REMOVE #h",
        };
        let update = UpdateItem {
            table_name: self.table.clone(),
            key: Item::from([(ID, OWNER)]),
            update_expression: Some(change.to_owned()),
            condition_expression: Some(condition.to_owned()),
            expression_attribute_names: Some(names(&[("#h", HOLDER), ("#e", EPOCH)])),
            expression_attribute_values: Some(values),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            // A transaction of the holder is under way.
            Err(error) if error.kind() == ErrorKind::TransactionConflict => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    fn renew_until_over(&self) {
        let mut is_over = self.is_over.lock();
        while !*is_over && !self.is_lost.load(Ordering::Acquire) {
            parking_lot::MutexGuard::unlocked(&mut is_over, || {
                let begun = Instant::now();
                match self.renew().wait() {
                    Ok(true) => *self.renewed.lock() = begun,
                    Ok(false) => {
                        self.is_lost.store(true, Ordering::Release);
                        tracing::error!("{}", self.taken_over());
                    }
                    Err(error) => tracing::warn!("the lease of {} at the endpoint: {error}", self.program),
                }
            });
            if !*is_over {
                self.bell.wait_for(&mut is_over, RENEWAL);
            }
        }
        drop(is_over);
        if !self.is_lost.load(Ordering::Acquire)
            && let Err(error) = self.give_up().wait()
        {
            tracing::warn!(
                "the next process of {} waits for {LEASE:?}: {error}",
                self.program
            );
        }
    }

    /// Renews the lease. Returns whether this process still holds it.
    async fn renew(&self) -> Result<bool, Error> {
        let owner = self.owner().await?;
        if owner.holder.as_ref() != Some(&self.holder) || owner.epoch != self.epoch {
            return Ok(false);
        }
        let renewed = UpdateItem {
            table_name: self.table.clone(),
            key: Item::from([(ID, RENEWED)]),
            update_expression: Some("SET #h = :renewal".to_owned()),
            expression_attribute_names: Some(names(&[("#h", HOLDER)])),
            expression_attribute_values: Some(Map::from_iter([(
                ":renewal".to_owned(),
                AttributeValue::S(ids::uuid()),
            )])),
            ..UpdateItem::default()
        };
        self.database.update_item(renewed).await.map(|_| true)
    }

    /// Gives the lease up, so that the next process need not wait. All transactions of this process have
    /// ended, or are executed before.
    async fn give_up(&self) -> Result<(), Error> {
        self.change_owner(self.epoch, None).await.map(drop)
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
