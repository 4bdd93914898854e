//! An endpoint whose tables all have a prefix, including those of gateways, so that a check uses only its own
//! tables.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trestle_api::{
    Database, DatabaseExt, DeleteTable, Error, ErrorKind, ListTables, Request, Response, ResponseFuture,
    TransactWriteItem, Wait,
};

/// The prefix of all tables of checks.
pub(super) const CHECKS: &str = "trestle-check-";
/// The maximum time that the deletion of a table may take.
const GONE_MAX: Duration = Duration::from_secs(120);

/// An endpoint whose tables all have a prefix.
pub(super) struct ScratchTables {
    database: Arc<dyn Database>,
    prefix: String,
    is_stopped: Arc<AtomicBool>,
    /// Requests that were sent, by operation.
    sent: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

impl ScratchTables {
    pub(super) fn new(database: Arc<dyn Database>, prefix: String) -> Self {
        ScratchTables {
            database,
            prefix,
            is_stopped: Arc::default(),
            sent: Arc::default(),
        }
    }

    /// Other tables of the same endpoint, whose names begin with those of this one.
    pub(super) fn beside(&self, prefix: &str) -> Self {
        ScratchTables {
            database: Arc::clone(&self.database),
            prefix: format!("{}{prefix}", self.prefix),
            is_stopped: Arc::clone(&self.is_stopped),
            sent: Arc::clone(&self.sent),
        }
    }

    /// Refuses every request from now on.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// How many requests were sent.
    pub(super) fn requests(&self) -> u64 {
        self.sent.lock().values().sum()
    }

    async fn send(&self, mut request: Request) -> Result<Response, Error> {
        if self.is_stopped() {
            return Err(Error::validation("the check was stopped"));
        }
        *self.sent.lock().entry(request.operation().as_str()).or_default() += 1;
        self.rename(&mut request)?;
        let mut response = self.database.execute(request).await?;
        self.name_back(&mut response);
        Ok(response)
    }

    fn rename(&self, request: &mut Request) -> Result<(), Error> {
        let add = |name: &mut String| name.insert_str(0, &self.prefix);
        match request {
            Request::GetItem(request) => add(&mut request.table_name),
            Request::PutItem(request) => add(&mut request.table_name),
            Request::UpdateItem(request) => add(&mut request.table_name),
            Request::DeleteItem(request) => add(&mut request.table_name),
            Request::Query(request) => add(&mut request.table_name),
            Request::Scan(request) => add(&mut request.table_name),
            Request::CreateTable(request) => add(&mut request.table_name),
            Request::UpdateTable(request) => add(&mut request.table_name),
            Request::DeleteTable(request) => add(&mut request.table_name),
            Request::DescribeTable(request) => add(&mut request.table_name),
            Request::UpdateTimeToLive(request) => add(&mut request.table_name),
            Request::DescribeTimeToLive(request) => add(&mut request.table_name),
            Request::ListStreams(request) => request.table_name.iter_mut().for_each(add),
            Request::BatchGetItem(request) => self.add_to_keys(&mut request.request_items),
            Request::BatchWriteItem(request) => self.add_to_keys(&mut request.request_items),
            Request::TransactGetItems(request) => {
                let items = request.transact_items.iter_mut();
                items.for_each(|item| add(&mut item.get.table_name));
            }
            Request::TransactWriteItems(request) => {
                for item in &mut request.transact_items {
                    names_in(item).for_each(add);
                }
            }
            // These requests name no table, or use a name that the endpoint has returned.
            Request::ListTables(_)
            | Request::DescribeStream(_)
            | Request::GetShardIterator(_)
            | Request::GetRecords(_)
            | Request::ListTagsOfResource(_)
            | Request::TagResource(_)
            | Request::DescribeLimits(_)
            | Request::DescribeEndpoints(_) => {}
            other => {
                return Err(Error::defect(format_args!(
                    "a check sends no {}",
                    other.operation().as_str()
                )));
            }
        }
        Ok(())
    }

    fn add_to_keys<T>(&self, by_table: &mut BTreeMap<String, T>) {
        let named = std::mem::take(by_table).into_iter();
        by_table.extend(named.map(|(name, of_table)| (format!("{}{name}", self.prefix), of_table)));
    }

    fn name_back(&self, response: &mut Response) {
        match response {
            Response::BatchGetItem(response) => {
                self.take_from_keys(&mut response.responses);
                self.take_from_keys(&mut response.unprocessed_keys);
            }
            Response::BatchWriteItem(response) => self.take_from_keys(&mut response.unprocessed_items),
            // The start of the next page keeps the endpoint's name of the table.
            Response::ListTables(response) => {
                let names = std::mem::take(&mut response.table_names).into_iter();
                let own = names.filter_map(|name| name.strip_prefix(&self.prefix).map(str::to_owned));
                response.table_names = own.collect();
            }
            Response::DescribeTable(response) => {
                let name = &mut response.table.table_name;
                if let Some(own) = name.strip_prefix(&self.prefix) {
                    *name = own.to_owned();
                }
            }
            _ => {}
        }
    }

    fn take_from_keys<T>(&self, by_table: &mut BTreeMap<String, T>) {
        let named = std::mem::take(by_table).into_iter();
        by_table.extend(named.map(|(name, of_table)| {
            let own = name.strip_prefix(&self.prefix).unwrap_or(&name).to_owned();
            (own, of_table)
        }));
    }
}

fn names_in(item: &mut TransactWriteItem) -> impl Iterator<Item = &mut String> {
    let checks = item.condition_check.iter_mut().map(|part| &mut part.table_name);
    let puts = item.put.iter_mut().map(|part| &mut part.table_name);
    let updates = item.update.iter_mut().map(|part| &mut part.table_name);
    let deletes = item.delete.iter_mut().map(|part| &mut part.table_name);
    checks.chain(puts).chain(updates).chain(deletes)
}

impl Database for ScratchTables {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(self.send(request))
    }
}

/// Deletes all tables with this prefix, waits until they are deleted, and returns their names. Not for
/// asynchronous tasks.
pub(super) fn clean(database: &dyn Database, prefix: &str) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let began = Instant::now();
    loop {
        let left = tables(database, prefix)?;
        if left.is_empty() {
            return Ok(found);
        }
        if began.elapsed() > GONE_MAX {
            return Err(Error::resource_in_use(format!(
                "these tables are still there: {}",
                left.join(", ")
            )));
        }
        for table_name in left {
            if !found.contains(&table_name) {
                found.push(table_name.clone());
            }
            match database.delete_table(DeleteTable { table_name }).wait() {
                // It is being created or deleted.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ResourceInUse | ErrorKind::ResourceNotFound
                    ) => {}
                answer => drop(answer?),
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn tables(database: &dyn Database, prefix: &str) -> Result<Vec<String>, Error> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        let page = database
            .list_tables(ListTables {
                exclusive_start_table_name: start,
                ..ListTables::default()
            })
            .wait()?;
        found.extend(
            page.table_names
                .into_iter()
                .filter(|name| name.starts_with(prefix)),
        );
        start = page.last_evaluated_table_name;
        if start.is_none() {
            return Ok(found);
        }
    }
}
