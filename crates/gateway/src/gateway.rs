//! A remote endpoint as a database that enforces its models.

use std::sync::Arc;

use bytes::Bytes;
use trestle_api::{
    Access, BatchGetItem, BatchWriteItem, BatchWriteItemOutput, Database, DatabaseExt, DeleteItem,
    DeleteItemOutput, DescribeTable, Error, ErrorKind, ForwardFuture, GetItem, OperationName, PutItem,
    PutItemOutput, Request, Response, ResponseFuture, ReturnConsumedCapacity, ReturnValue, TransactGetItems,
    TransactWriteItems, TransactWriteItemsOutput, UpdateItem, UpdateItemOutput, is_own_table,
    own_table_refusal, table_name,
};
use trestle_binding::BindError;
use trestle_env::{Clock, SystemClock};
use trestle_hook::{By, Hook, Host};
use trestle_models::{Models, Sweeper};
use trestle_writes::{Action, BATCH_WRITES_MAX, Write, shown_of_removal, shown_of_update};

use crate::GatewayError;
use crate::bookmark::is_marked;
use crate::duty::Duty;
use crate::endpoint::Endpoint;
use crate::find::former_places;
use crate::host::EndpointHost;
use crate::keeper::Keeper;
use crate::past_writes::{PastWrites, PastWritesOptions};
use crate::statement::{refuse_while_rows_move, writes_by_statement};
use crate::stored_probe::StoredProbe;
use crate::token::Token;
use crate::write::{Asked, RowImages, Written};

/// How often a read is repeated because the places of rows changed meanwhile.
const READS_MAX: usize = 16;

/// A remote endpoint with its stored models in force. Cloning it gives another handle to the same gateway.
///
/// Requests on tables without a model are passed through unchanged. A write on a modelled table becomes one
/// transaction of the endpoint that includes all effects.
#[derive(Clone, Debug)]
pub struct Gateway {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Both are dropped before the rest; the keeper last, because the sweeper writes rows.
    _sweeper: Sweeper,
    _keeper: Keeper,
    models: Arc<Models>,
    endpoint: Arc<Endpoint>,
}

impl Gateway {
    /// Opens an endpoint: when this returns, its stored models are in force. It blocks: in an asynchronous
    /// task, use a thread for blocking calls.
    pub fn open(database: Arc<dyn Database>) -> Result<Self, GatewayError> {
        Self::with_clock(database, Arc::new(SystemClock::new()))
    }

    /// As [`Gateway::open`], with any clock.
    pub fn with_clock(database: Arc<dyn Database>, clock: Arc<dyn Clock>) -> Result<Self, GatewayError> {
        let endpoint = Arc::new(Endpoint::new(database, Arc::clone(&clock)));
        let host = Arc::new(EndpointHost::new(Arc::clone(&endpoint)));
        let models = loop {
            let found = endpoint.join_others().map_err(BindError::from)?;
            let host = Arc::clone(&host) as Arc<dyn Host>;
            let models = Models::read(host, Arc::clone(&clock))?;
            // The first model was stored meanwhile: other gateways must know this one before the model is
            // enforced.
            if found.generation > 0 || models.list().is_empty() {
                endpoint.take_up(&found);
                break Arc::new(models);
            }
        };
        models.enforce()?;
        let keeper = Keeper::start(Arc::clone(&endpoint), Arc::clone(&models))?;
        let sweeper = Sweeper::start(Arc::clone(&models), |_| {})?;
        Ok(Gateway {
            inner: Arc::new(Inner {
                _sweeper: sweeper,
                _keeper: keeper,
                models,
                endpoint,
            }),
        })
    }

    /// The models that are stored at the endpoint: applies, compares, lists and removes them.
    #[must_use]
    pub fn models(&self) -> &Arc<Models> {
        &self.inner.models
    }

    /// The duty to run the routes of the endpoint, which one of its gateways has.
    #[must_use]
    pub fn duty(&self) -> Duty {
        Duty::of_routes(Arc::clone(&self.inner.endpoint))
    }

    /// Starts to search for rows that changed without a gateway, until the returned value is dropped. One
    /// gateway of an endpoint does it for all.
    pub fn watch_past_writes(&self, options: PastWritesOptions) -> std::io::Result<PastWrites> {
        PastWrites::start(
            Arc::clone(&self.inner.endpoint),
            Arc::clone(&self.inner.models),
            options,
        )
    }

    /// The capabilities of the endpoint, as they were last probed.
    pub async fn stored_probe(&self) -> Result<Option<StoredProbe>, Error> {
        StoredProbe::read(&*self.endpoint().database).await
    }

    /// The same endpoint for a reindex: its updates raise the version of rows, which clients may not do, and
    /// change nothing else.
    #[must_use]
    pub fn touching(&self) -> TouchingGateway {
        TouchingGateway(self.clone())
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// Whether the table belongs to a stored model.
    fn covers(&self, table: &str) -> bool {
        let hook = self.endpoint().hook();
        hook.is_some_and(|hook| hook.covers(table_name(table)))
    }

    /// Whether the request reads or writes one item of a table without a model, so that it is passed through.
    /// This is the common case and has to be fast.
    fn passes(&self, request: &Request) -> bool {
        let table = match request {
            Request::GetItem(get) => &get.table_name,
            Request::Query(query) => &query.table_name,
            Request::PutItem(put) => &put.table_name,
            Request::UpdateItem(update) => &update.table_name,
            Request::DeleteItem(delete) => &delete.table_name,
            _ => return false,
        };
        !self.covers(table) && self.inner.models.admit(request).is_ok()
    }

    async fn answer(&self, request: Request) -> Result<Response, Error> {
        self.inner.models.admit(&request)?;
        self.refuse_deletion(&request).await?;
        if let Request::CreateTable(_) | Request::UpdateTable(_) | Request::DeleteTable(_) = &request {
            for table in request.named_tables() {
                self.endpoint().shapes.forget(table);
            }
        }
        let Some(hook) = self.endpoint().hook() else {
            return self.pass(request).await;
        };
        refuse_while_rows_move(&*hook, &request)?;
        if writes_by_statement(&*hook, &request) {
            return self.write(request).await;
        }
        if request.access() == Access::Write && request.named_tables().iter().any(|table| hook.covers(table))
        {
            return self.write(request).await;
        }
        match request
            .named_tables()
            .iter()
            .any(|table| hook.covers(table_name(table)))
        {
            true => self.read(request).await,
            false => self.pass(request).await,
        }
    }

    /// A read of a modelled table. It is repeated if the places of rows changed meanwhile.
    async fn read(&self, request: Request) -> Result<Response, Error> {
        for _ in 0..READS_MAX {
            let (layout, hook) = self.endpoint().layout().await;
            let answer = match &hook {
                Some(hook) => self.read_under(hook, request.clone()).await,
                None => self.pass(request.clone()).await,
            };
            if self.endpoint().is_layout(layout)? {
                return answer;
            }
        }
        Err(Error::internal(
            "where the rows of the table lie changed again and again while they were read: try again",
        ))
    }

    async fn read_under(&self, hook: &Arc<dyn Hook>, request: Request) -> Result<Response, Error> {
        let endpoint = self.endpoint();
        match request {
            Request::GetItem(get) if hook.covers(table_name(&get.table_name)) => {
                let key = hook.key(table_name(&get.table_name), &get.key)?;
                let former = former_places(&**hook, table_name(&get.table_name));
                let get = GetItem { key, ..get };
                match former {
                    Some(former) => endpoint.get_both(hook, &*former, get).await.map(Into::into),
                    None => self.pass(get.into()).await,
                }
            }
            Request::BatchGetItem(request) => {
                let request = with_keys(&**hook, request)?;
                let mut tables = request.request_items.keys();
                match tables.any(|table| former_places(&**hook, table_name(table)).is_some()) {
                    true => endpoint.batch_get_both(hook, request).await.map(Into::into),
                    false => self.pass(request.into()).await,
                }
            }
            Request::TransactGetItems(request) => {
                let request = with_got_keys(&**hook, request)?;
                let mut tables = request.transact_items.iter().map(|item| &item.get.table_name);
                match tables.any(|table| former_places(&**hook, table_name(table)).is_some()) {
                    true => endpoint.transact_get_both(hook, request).await.map(Into::into),
                    false => self.pass(request.into()).await,
                }
            }
            Request::Query(query)
                if hook.former(table_name(&query.table_name)).is_some()
                    || is_marked(query.exclusive_start_key.as_ref()) =>
            {
                endpoint.query_both(hook, query).await.map(Into::into)
            }
            Request::Scan(scan)
                if hook.former(table_name(&scan.table_name)).is_some()
                    || is_marked(scan.exclusive_start_key.as_ref()) =>
            {
                endpoint.scan_both(hook, scan).await.map(Into::into)
            }
            request => self.pass(request).await,
        }
    }

    /// A write of a modelled table, with unchanged models in force until its response.
    async fn write(&self, request: Request) -> Result<Response, Error> {
        let _writing = self.endpoint().writing.read().await;
        let Some(hook) = &self.endpoint().hook() else {
            return self.pass(request).await;
        };
        match request {
            Request::PutItem(put) => self.put(hook, put).await.map(Into::into),
            Request::UpdateItem(update) => self.update(hook, update, By::Client).await.map(Into::into),
            Request::DeleteItem(delete) => self.delete(hook, delete).await.map(Into::into),
            Request::TransactWriteItems(request) => self.transact(hook, request).await.map(Into::into),
            Request::BatchWriteItem(batch) => self.batch(hook, batch).await.map(Into::into),
            Request::ExecuteStatement(request) => self.endpoint().statement(hook, request).await,
            Request::BatchExecuteStatement(request) => self.endpoint().statements(hook, request).await,
            Request::ExecuteTransaction(request) => self.endpoint().statements_as_one(hook, request).await,
            request => self.pass(request).await,
        }
    }

    /// Refuses to delete a table or an index that an effect of a stored model needs.
    async fn refuse_deletion(&self, request: &Request) -> Result<(), Error> {
        let Some(objection) = self.inner.models.objection(request) else {
            return Ok(());
        };
        let asked = DescribeTable {
            table_name: objection.table.clone(),
        };
        match self.endpoint().database.describe_table(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(()),
            answer => objection.hold_against(Some(&answer?.table)),
        }
    }

    async fn pass(&self, request: Request) -> Result<Response, Error> {
        self.endpoint().database.execute(request).await
    }

    async fn put(&self, hook: &Arc<dyn Hook>, mut request: PutItem) -> Result<PutItemOutput, Error> {
        let write = Write::of_put(&mut request).map_err(Error::of_request)?;
        let wanted = request.return_values;
        let one = one(write, request.return_consumed_capacity, wanted);
        let mut written = self.endpoint().write(hook, one).await?;
        let (old, _) = first(&mut written);
        Ok(PutItemOutput {
            attributes: shown_of_removal(wanted, old.as_deref()),
            consumed_capacity: written.capacity.pop(),
            item_collection_metrics: None,
        })
    }

    async fn delete(&self, hook: &Arc<dyn Hook>, mut request: DeleteItem) -> Result<DeleteItemOutput, Error> {
        let write = Write::of_delete(&mut request).map_err(Error::of_request)?;
        let wanted = request.return_values;
        let one = one(write, request.return_consumed_capacity, wanted);
        let mut written = self.endpoint().write(hook, one).await?;
        let (old, _) = first(&mut written);
        Ok(DeleteItemOutput {
            attributes: shown_of_removal(wanted, old.as_deref()),
            consumed_capacity: written.capacity.pop(),
            item_collection_metrics: None,
        })
    }

    async fn update(
        &self,
        hook: &Arc<dyn Hook>,
        mut request: UpdateItem,
        by: By,
    ) -> Result<UpdateItemOutput, Error> {
        let write = Write::of_update(&mut request).map_err(Error::of_request)?;
        let update = match &write.action {
            Action::Update(_, update) => update.clone(),
            _ => None,
        };
        let wanted = request.return_values;
        let one = Asked {
            by,
            ..one(write, request.return_consumed_capacity, wanted)
        };
        let mut written = self.endpoint().write(hook, one).await?;
        let (old, new) = first(&mut written);
        Ok(UpdateItemOutput {
            attributes: shown_of_update(wanted, update.as_ref(), old.as_deref(), new.as_deref()),
            consumed_capacity: written.capacity.pop(),
            item_collection_metrics: None,
        })
    }

    async fn transact(
        &self,
        hook: &Arc<dyn Hook>,
        request: TransactWriteItems,
    ) -> Result<TransactWriteItemsOutput, Error> {
        let token = Token::of(request.client_request_token.as_ref(), &request.transact_items)?;
        let all = Write::of_transaction(&request)?;
        let items = Some(all.len());
        let (mut writes, mut others) = (Vec::new(), Vec::new());
        for ((position, write), item) in all.into_iter().enumerate().zip(request.transact_items) {
            match hook.covers(table_name(&write.table_name)) {
                true => writes.push((position, write)),
                false => others.push((position, item)),
            }
        }
        let asked = Asked {
            writes,
            others,
            items,
            capacity: request.return_consumed_capacity,
            shows_item: false,
            token,
            by: By::Client,
        };
        let written = self.endpoint().write(hook, asked).await?;
        Ok(TransactWriteItemsOutput {
            consumed_capacity: Some(written.capacity).filter(|used| !used.is_empty()),
            item_collection_metrics: None,
        })
    }

    /// Executes a batch: writes of modelled tables one by one, the rest passes through. Writes that conflict
    /// too often are returned as unprocessed.
    async fn batch(
        &self,
        hook: &Arc<dyn Hook>,
        request: BatchWriteItem,
    ) -> Result<BatchWriteItemOutput, Error> {
        let count: usize = request.request_items.values().map(Vec::len).sum();
        if count > BATCH_WRITES_MAX {
            return Err(Error::validation(
                "Too many items requested for the BatchWriteItem call",
            ));
        }
        let (modelled, others): (Vec<_>, Vec<_>) = request
            .request_items
            .into_iter()
            .partition(|(table, _)| hook.covers(table_name(table)));
        let (mut given, mut asked) = (Vec::new(), Vec::new());
        for (table, requests) in modelled {
            for member in requests {
                let write = Write::of_batch(&table, member.clone())?;
                given.push((table.clone(), member));
                asked.push(one(write, request.return_consumed_capacity, None));
            }
        }
        let written = self.endpoint().write_each(hook, asked).await?;
        let mut output = match others.is_empty() {
            true => BatchWriteItemOutput::default(),
            false => {
                let rest = BatchWriteItem {
                    request_items: others.into_iter().collect(),
                    return_consumed_capacity: request.return_consumed_capacity,
                    return_item_collection_metrics: request.return_item_collection_metrics,
                };
                self.endpoint().database.batch_write_item(rest).await?
            }
        };
        for ((table, member), written) in given.into_iter().zip(written) {
            match written {
                Ok(written) => {
                    let used = output.consumed_capacity.get_or_insert_default();
                    used.extend(written.capacity);
                }
                Err(error) if is_passing(&error) => {
                    output.unprocessed_items.entry(table).or_default().push(member);
                }
                Err(error) => return Err(error),
            }
        }
        output.consumed_capacity = output.consumed_capacity.filter(|used| !used.is_empty());
        Ok(output)
    }
}

impl Database for Gateway {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match self.passes(&request) {
            true => self.endpoint().database.execute(request),
            false => Box::pin(self.answer(request)),
        }
    }

    fn forward(&self, operation: OperationName, body: &Bytes) -> Option<ForwardFuture<'_>> {
        let table = trestle_wire::table_of_plain_read(operation, body)?;
        match self.covers(table) {
            true => None,
            false => self.endpoint().database.forward(operation, body),
        }
    }
}

/// A gateway for the updates of a reindex: see [`Gateway::touching`].
#[derive(Clone, Debug)]
pub struct TouchingGateway(Gateway);

impl TouchingGateway {
    async fn touch(&self, update: UpdateItem) -> Result<UpdateItemOutput, Error> {
        let Gateway { inner } = &self.0;
        if is_own_table(&update.table_name) {
            return Err(own_table_refusal(&update.table_name));
        }
        inner.models.refuse_while_not_in_force()?;
        let _writing = inner.endpoint.writing.read().await;
        match inner.endpoint.hook() {
            Some(hook) if hook.covers(table_name(&update.table_name)) => {
                self.0.update(&hook, update, By::Touch).await
            }
            _ => inner.endpoint.database.update_item(update).await,
        }
    }
}

impl Database for TouchingGateway {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match request {
            Request::UpdateItem(update) => Box::pin(async move { self.touch(update).await.map(Into::into) }),
            request => self.0.execute(request),
        }
    }
}

/// The write of a single item; `wanted` is what its response shows of the item.
fn one(write: Write, capacity: Option<ReturnConsumedCapacity>, wanted: Option<ReturnValue>) -> Asked {
    Asked {
        capacity,
        shows_item: !matches!(wanted, None | Some(ReturnValue::None)),
        ..Asked::one(write)
    }
}

fn first(written: &mut Written) -> RowImages {
    written.rows.pop().unwrap_or_default()
}

/// Whether the same request may succeed when it is sent again.
fn is_passing(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TransactionConflict | ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling
    )
}

/// Replaces identifying attributes by the keys of the rows.
fn with_keys(hook: &dyn Hook, mut request: BatchGetItem) -> Result<BatchGetItem, Error> {
    for (table, asked) in &mut request.request_items {
        if hook.covers(table_name(table)) {
            for key in &mut asked.keys {
                *key = hook.key(table_name(table), key)?;
            }
        }
    }
    Ok(request)
}

fn with_got_keys(hook: &dyn Hook, mut request: TransactGetItems) -> Result<TransactGetItems, Error> {
    for item in &mut request.transact_items {
        let table = table_name(&item.get.table_name);
        if hook.covers(table) {
            item.get.key = hook.key(table, &item.get.key)?;
        }
    }
    Ok(request)
}
