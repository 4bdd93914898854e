//! The endpoint as a [`Host`](trestle_hook::Host) of models.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, GetItem, Request, ResponseFuture, Scan, TransactWriteItem, Wait,
};
use trestle_binding::migration::GuardDocument;
use trestle_env::Clock;
use trestle_hook::{AmendWork, Documents, Hook, Host, HostView, Lying, Met, MovedPage, Remaining, Started};
use trestle_item::{Item, codec, size};

use crate::documents::{self, InForce};
use crate::duty::{Duty, DutyHolder};
use crate::endpoint::Endpoint;
use crate::fleet::is_of_migration;
use crate::moment_view::MomentView;

/// The host for the models of an endpoint.
#[derive(Debug)]
pub(crate) struct EndpointHost {
    endpoint: Arc<Endpoint>,
    sweep: Duty,
    /// The epoch in which this gateway sweeps, if it does.
    epoch: Mutex<Option<u64>>,
    /// The documents of the guards that are held here.
    guards: Arc<Mutex<Vec<String>>>,
}

impl EndpointHost {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Self {
        EndpointHost {
            sweep: Duty::of_sweep(Arc::clone(&endpoint)),
            endpoint,
            epoch: Mutex::default(),
            guards: Arc::default(),
        }
    }

    /// A transaction item that succeeds only while this gateway sweeps.
    fn while_sweeping(&self) -> Result<TransactWriteItem, Error> {
        let epoch = *self.epoch.lock();
        let epoch = epoch.ok_or_else(|| Error::resource_in_use("another gateway moves the rows"))?;
        Ok(self.sweep.while_held(epoch))
    }
}

/// Separates the name of a guard's document from the moment that holds it.
const HELD_BY: char = '@';

/// A guard in force at all gateways. It ends with the moment that holds it.
struct HeldGuard {
    endpoint: Arc<Endpoint>,
    moment: String,
    guards: Arc<Mutex<Vec<String>>>,
}

impl Drop for HeldGuard {
    fn drop(&mut self) {
        self.endpoint.end_moment(&self.moment);
        let left = std::mem::take(&mut *self.guards.lock());
        let gone = left.into_iter().map(|name| (name, None)).collect();
        // Without its moment it has no effect.
        let _ = documents::store(&*self.endpoint.database, gone).wait();
    }
}

impl Database for EndpointHost {
    /// Requests for managing models go to the endpoint directly.
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        self.endpoint.database.execute(request)
    }
}

impl Host for EndpointHost {
    fn clock(&self) -> &Arc<dyn Clock> {
        &self.endpoint.clock
    }

    fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let database = &*self.endpoint.database;
        let documents = documents::read(database).wait()?;
        let has_guard = documents.keys().any(|name| GuardDocument::is_name(name));
        let moment = match has_guard {
            true => InForce::read(database).wait()?.moment,
            false => None,
        };
        // The moment that held a guard may have ended.
        let held = |name: String| match GuardDocument::is_name(&name) {
            false => Some(name),
            true => {
                let (name, by) = name.rsplit_once(HELD_BY)?;
                let is_held = moment.as_ref().is_some_and(|moment| moment.id == by);
                is_held.then(|| name.to_owned())
            }
        };
        let documents = documents.into_iter();
        Ok(documents
            .filter_map(|(name, bytes)| Some((held(name)?, bytes)))
            .collect())
    }

    fn catch_up(&self) -> Result<(), Error> {
        self.endpoint.catch_up()
    }

    fn install(&self, mut documents: Documents, hook: Option<Arc<dyn Hook>>) -> Result<(), Error> {
        let endpoint = &self.endpoint;
        // The holder of the sweep is determined again.
        *self.epoch.lock() = None;
        // An installation ends the guards that are held.
        documents.extend(self.guards.lock().iter().map(|name| (name.clone(), None)));
        if documents.is_empty() {
            endpoint.set_hook(hook);
            return Ok(());
        }
        endpoint.change_in_force(documents, None, || endpoint.set_hook(hook))?;
        self.guards.lock().clear();
        Ok(())
    }

    fn hold(&self, documents: Documents, hook: Arc<dyn Hook>) -> Result<Box<dyn Any + Send>, Error> {
        let endpoint = &self.endpoint;
        let mut names = Vec::new();
        let moment = endpoint.begin_moment_with(|moment| {
            let held = documents
                .into_iter()
                .map(|(name, bytes)| (format!("{name}{HELD_BY}{moment}"), bytes));
            let held: Documents = held.collect();
            names = held.iter().map(|(name, _)| name.clone()).collect();
            (held, Some(hook))
        })?;
        *self.guards.lock() = names;
        Ok(Box::new(HeldGuard {
            endpoint: Arc::clone(endpoint),
            moment,
            guards: Arc::clone(&self.guards),
        }))
    }

    /// The progress of a migration is stored only by the gateway that executes it, and only if no other has
    /// changed it.
    fn store_documents(&self, documents: Documents) -> Result<(), Error> {
        let database = &*self.endpoint.database;
        if !documents.iter().any(|(name, _)| is_of_migration(name)) {
            return documents::store(database, documents).wait();
        }
        let known = self.endpoint.of_documents.load(Ordering::Acquire);
        let has_transactions = self.endpoint.has_transactions().wait()?;
        documents::store_in_generation(database, documents, known, has_transactions).wait()
    }

    fn view(&self) -> Box<dyn HostView> {
        Box::new(EndpointView(Arc::clone(&self.endpoint)))
    }

    fn moment(&self) -> Result<Box<dyn HostView>, Error> {
        self.endpoint.refuse_while_rows_move()?;
        Ok(Box::new(MomentView::begin(&self.endpoint)?))
    }

    fn start_amendment(&self, work: AmendWork) -> Started {
        let endpoint = Arc::clone(&self.endpoint);
        Started::new(move || endpoint.amend(work).wait())
    }

    fn lying(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error> {
        self.endpoint.page(table, from, at_most).wait()
    }

    /// A position at the endpoint does not show the progress.
    fn walked(&self, _place: &[u8]) -> Option<f64> {
        None
    }

    fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error> {
        self.endpoint.could_hold(table, row).wait()
    }

    fn sweep_turn(&self) -> Result<Option<u64>, Error> {
        let mut epoch = self.epoch.lock();
        if !epoch.is_some_and(|epoch| self.sweep.is_held(epoch)) {
            *epoch = match self.sweep.look().wait()? {
                DutyHolder::This { epoch, .. } => Some(epoch),
                DutyHolder::Other => None,
            };
        }
        Ok(*epoch)
    }

    fn move_rows(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<MovedPage, Error> {
        let holds = self.while_sweeping()?;
        self.endpoint.move_rows(table, from, at_most, &holds).wait()
    }

    fn rows_to_move(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Remaining, Error> {
        self.endpoint.rows_to_move(table, from, at_most).wait()
    }

    fn writes_handed_in(&self) -> u64 {
        self.endpoint.writes.load(Ordering::Relaxed)
    }
}

impl Endpoint {
    /// Whether a table could hold a row like this.
    pub(crate) async fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error> {
        let shape = self.shapes.of(&*self.database, table).await?;
        if let Some(missing) = shape.key.iter().find(|name| !row.contains_key(name)) {
            return Err(Error::invalid_parameter(format_args!(
                "Missing the key {missing} in the item"
            )));
        }
        trestle_writes::check_limits(row, size::of_item(row))
    }

    /// Refuses to compare counts with their rows during a migration.
    fn refuse_while_rows_move(&self) -> Result<(), Error> {
        match self.hook().is_some_and(|hook| hook.moves_rows()) {
            false => Ok(()),
            true => Err(Error::resource_in_use(
                "rows move to other keys: fill and repair when the migration is verified (`trestle migrate status`)",
            )),
        }
    }

    /// A page of rows in their places. The position of the next page is the stored form of the last key.
    pub(crate) async fn page(
        &self,
        table: &str,
        from: Option<&[u8]>,
        at_most: usize,
    ) -> Result<Lying, Error> {
        let start = match from {
            Some(bytes) => Some(codec::decode(bytes).map_err(|error| Error::internal(error.to_string()))?),
            None => None,
        };
        let asked = Scan {
            table_name: table.to_owned(),
            exclusive_start_key: start,
            limit: Some(u32::try_from(at_most.max(1)).unwrap_or(u32::MAX)),
            consistent_read: Some(true),
            ..Scan::default()
        };
        let page = self.database.scan(asked).await?;
        Ok(Lying {
            rows: page.items.map(|rows| rows.to_vec()).unwrap_or_default(),
            next: page.last_evaluated_key.map(|key| codec::encode(&key)),
        })
    }
}

/// The rows of the endpoint, each as it is when it is read.
#[derive(Debug)]
pub(crate) struct EndpointView(pub(crate) Arc<Endpoint>);

impl HostView for EndpointView {
    fn has_table(&self, table: &str) -> bool {
        self.0.shapes.of(&*self.0.database, table).wait().is_ok()
    }

    fn row_count(&self, table: &str) -> u64 {
        let shape = self.0.shapes.of(&*self.0.database, table).wait();
        shape.map_or(0, |shape| shape.rows)
    }

    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error> {
        let asked = GetItem {
            table_name: table.to_owned(),
            key: key.clone(),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        match self.0.database.get_item(asked).wait() {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
            answer => Ok(answer?.item),
        }
    }

    fn walk(
        &self,
        table: &str,
        (part, parts): (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = None;
        loop {
            let asked = Scan {
                table_name: table.to_owned(),
                exclusive_start_key: start,
                segment: Some(part),
                total_segments: Some(parts),
                consistent_read: Some(true),
                ..Scan::default()
            };
            let page = self.0.database.scan(asked).wait()?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                each(Met::Row(row))?;
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }
}
