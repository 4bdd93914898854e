//! The endpoint for writes by the holder of a duty or of a lease: each write is one transaction with the
//! check that it is still held.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::{
    BatchWriteItem, BatchWriteItemOutput, CancellationCode, Database, DatabaseExt, Delete, Error, Put,
    PutItem, PutItemOutput, PutRequest, Request, Response, ResponseFuture, TransactWriteItem,
    TransactWriteItems, WriteRequest,
};
use trestle_item::size;

/// The most bytes of rows in a transaction: an endpoint takes 4 MB of them.
const BYTES_MAX: usize = 3_000_000;

/// Tables of the holder at the endpoint, where they have other names. Without a check, they are read-only.
pub struct Fence {
    database: Arc<dyn Database>,
    holds: Option<TransactWriteItem>,
    /// The holder's names of its tables, and their names at the endpoint.
    tables: Vec<(&'static str, String)>,
    /// Transactions that check the same row conflict at the endpoint: here they run one after another.
    turn: tokio::sync::Mutex<()>,
    is_lost: AtomicBool,
}

impl Fence {
    /// Tables of this database, each with the holder's name and its name at the endpoint. `holds` is the
    /// check that is part of every write.
    #[must_use]
    pub fn new(
        database: Arc<dyn Database>,
        holds: Option<TransactWriteItem>,
        tables: Vec<(&'static str, String)>,
    ) -> Self {
        Fence {
            database,
            holds,
            tables,
            turn: tokio::sync::Mutex::default(),
            is_lost: AtomicBool::new(false),
        }
    }

    /// Whether a write found that there is another holder now.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    fn rename(&self, table: &mut String) {
        if let Some((_, there)) = self.tables.iter().find(|(own, _)| table == own) {
            there.clone_into(table);
        }
    }

    fn renamed(&self, mut table: String) -> String {
        self.rename(&mut table);
        table
    }

    fn with_own_names<T>(&self, answered: BTreeMap<String, T>) -> BTreeMap<String, T> {
        let own = |there: String| match self.tables.iter().find(|(_, name)| *name == there) {
            Some((own, _)) => (*own).to_owned(),
            None => there,
        };
        answered
            .into_iter()
            .map(|(there, of_it)| (own(there), of_it))
            .collect()
    }

    async fn answer(&self, mut request: Request) -> Result<Response, Error> {
        match &mut request {
            Request::CreateTable(request) => self.rename(&mut request.table_name),
            Request::DescribeTable(request) => self.rename(&mut request.table_name),
            Request::GetItem(request) => self.rename(&mut request.table_name),
            Request::Query(request) => self.rename(&mut request.table_name),
            Request::BatchGetItem(request) => {
                let asked = std::mem::take(&mut request.request_items).into_iter();
                request.request_items = asked.map(|(table, keys)| (self.renamed(table), keys)).collect();
            }
            Request::PutItem(_) | Request::BatchWriteItem(_) | Request::TransactWriteItems(_) => {}
            other => {
                return Err(Error::defect(format_args!(
                    "{} through a fence",
                    other.operation()
                )));
            }
        }
        match request {
            Request::BatchGetItem(request) => {
                let mut answer = self.database.batch_get_item(request).await?;
                answer.responses = self.with_own_names(answer.responses);
                answer.unprocessed_keys = self.with_own_names(answer.unprocessed_keys);
                Ok(answer.into())
            }
            Request::PutItem(put) => self.put(put).await.map(Into::into),
            Request::BatchWriteItem(batch) => self.batch(batch).await.map(Into::into),
            Request::TransactWriteItems(request) => {
                let written = self.transact(request).await;
                written.map(Into::into)
            }
            request => self.database.execute(request).await,
        }
    }

    /// Puts a row without a condition: the holder knows the stored row.
    async fn put(&self, put: PutItem) -> Result<PutItemOutput, Error> {
        if put.condition_expression.is_some() || put.return_values.is_some() {
            return Err(Error::defect(
                "a condition or an answer of PutItem through a fence",
            ));
        }
        let write = WriteRequest {
            put_request: Some(PutRequest { item: put.item }),
            delete_request: None,
        };
        self.transact_all(vec![in_transaction(&put.table_name, write)])
            .await?;
        Ok(PutItemOutput::default())
    }

    /// Writes rows in no particular order and not atomically, as a batch allows.
    async fn batch(&self, batch: BatchWriteItem) -> Result<BatchWriteItemOutput, Error> {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for (table, requests) in batch.request_items {
            for request in requests {
                let more = bytes_of(&request);
                if bytes + more > BYTES_MAX && !part.is_empty() {
                    self.transact_all(std::mem::take(&mut part)).await?;
                    bytes = 0;
                }
                bytes += more;
                part.push(in_transaction(&table, request));
            }
        }
        if !part.is_empty() {
            self.transact_all(part).await?;
        }
        Ok(BatchWriteItemOutput::default())
    }

    async fn transact_all(&self, items: Vec<TransactWriteItem>) -> Result<(), Error> {
        let request = TransactWriteItems {
            transact_items: items,
            ..TransactWriteItems::default()
        };
        self.transact(request).await.map(drop)
    }

    async fn transact(
        &self,
        mut request: TransactWriteItems,
    ) -> Result<trestle_api::TransactWriteItemsOutput, Error> {
        let Some(holds) = &self.holds else {
            return Err(Error::validation(
                "Another gateway runs the routes of this endpoint",
            ));
        };
        for item in &mut request.transact_items {
            let tables = [
                item.put.as_mut().map(|put| &mut put.table_name),
                item.delete.as_mut().map(|delete| &mut delete.table_name),
                item.update.as_mut().map(|update| &mut update.table_name),
                item.condition_check.as_mut().map(|check| &mut check.table_name),
            ];
            tables.into_iter().flatten().for_each(|table| self.rename(table));
        }
        // Last, so that the reasons of a cancellation have the positions of the caller's items.
        request.transact_items.push(holds.clone());
        let _turn = self.turn.lock().await;
        let written = self.database.transact_write_items(request).await;
        written.map_err(|error| self.without_check(error))
    }
}

impl Fence {
    /// The error without the reason of the check, as the caller expects it.
    fn without_check(&self, error: Error) -> Error {
        let Some((check, own)) = error.reasons().split_last() else {
            return error;
        };
        if check.code == CancellationCode::ConditionalCheckFailed {
            self.is_lost.store(true, Ordering::Release);
            return error;
        }
        match own.iter().any(|reason| reason.code != CancellationCode::None) {
            true => Error::transaction_canceled(own.to_vec()),
            // Another transaction uses the row of the check: the holder changes.
            false => Error::transaction_conflict(),
        }
    }
}

impl Database for Fence {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(self.answer(request))
    }
}

fn bytes_of(request: &WriteRequest) -> usize {
    let put = request.put_request.as_ref();
    put.map_or(0, |put| size::of_item(&put.item))
}

fn in_transaction(table: &str, request: WriteRequest) -> TransactWriteItem {
    TransactWriteItem {
        put: request.put_request.map(|put| {
            Box::new(Put {
                table_name: table.to_owned(),
                item: put.item,
                ..Put::default()
            })
        }),
        delete: request.delete_request.map(|delete| {
            Box::new(Delete {
                table_name: table.to_owned(),
                key: delete.key,
                ..Delete::default()
            })
        }),
        ..TransactWriteItem::default()
    }
}

impl std::fmt::Debug for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fence").finish_non_exhaustive()
    }
}
