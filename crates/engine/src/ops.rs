//! One file per operation. A read is executed on the caller's thread; a write becomes work for the committer.

mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod create_table;
mod delete_item;
mod delete_table;
mod describe_continuous_backups;
mod describe_endpoints;
mod describe_limits;
mod describe_stream;
mod describe_table;
mod describe_time_to_live;
mod execute_statement;
mod execute_transaction;
mod get_item;
pub(crate) mod get_records;
mod get_shard_iterator;
mod list_streams;
mod list_tables;
mod list_tags_of_resource;
mod put_item;
pub(crate) mod query;
pub(crate) mod scan;
mod tag_resource;
mod transact_get_items;
mod transact_write_items;
mod untag_resource;
mod update_item;
mod update_table;
mod update_time_to_live;

use trestle_api::{Error, Request, Response};

use crate::Engine;
use crate::completion::Completion;
use crate::horizon::Horizon;
use crate::storage_reads::purpose_of;
use crate::transaction::Transaction;
use crate::write_item::{ItemWrite, Outcome};

/// Runs a request. The reads of storage for it are counted for its operation, also those in the commit.
pub(crate) fn run(engine: &Engine, request: Request, horizon: Horizon) -> Completion {
    let purpose = purpose_of(request.operation());
    let double_reads = &engine.shared().double_reads;
    double_reads.during(purpose, || dispatch(engine, request, horizon))
}

/// The dispatch table.
fn dispatch(engine: &Engine, request: Request, horizon: Horizon) -> Completion {
    let shared = engine.shared();
    match request {
        Request::CreateTable(request) => create_table::run(engine, request),
        Request::UpdateTable(request) => update_table::run(engine, request),
        Request::DeleteTable(request) => delete_table::run(engine, request),
        Request::DescribeTable(request) => read(describe_table::run(shared, &request)),
        Request::ListTables(request) => read(list_tables::run(shared, &request)),
        Request::PutItem(request) => put_item::run(engine, request),
        Request::GetItem(request) => read(get_item::run(shared, &request)),
        Request::UpdateItem(request) => update_item::run(engine, request),
        Request::DeleteItem(request) => delete_item::run(engine, request),
        Request::Query(request) => read(query::run(shared, &request)),
        Request::Scan(request) => read(scan::run(shared, &request)),
        Request::BatchGetItem(request) => read(batch_get_item::run(shared, request)),
        Request::BatchWriteItem(request) => batch_write_item::run(engine, request),
        Request::TransactGetItems(request) => read(transact_get_items::run(shared, &request)),
        Request::TransactWriteItems(request) => transact_write_items::run(engine, request),
        Request::UpdateTimeToLive(request) => update_time_to_live::run(engine, request),
        Request::DescribeTimeToLive(request) => read(describe_time_to_live::run(shared, &request)),
        Request::TagResource(request) => tag_resource::run(engine, request),
        Request::UntagResource(request) => untag_resource::run(engine, request),
        Request::ListTagsOfResource(request) => read(list_tags_of_resource::run(shared, &request)),
        Request::DescribeLimits(_) => read(Ok(describe_limits::run())),
        Request::DescribeEndpoints(_) => read(Ok(describe_endpoints::run(shared))),
        Request::DescribeContinuousBackups(request) => {
            read(describe_continuous_backups::run(shared, &request))
        }
        Request::ExecuteStatement(request) => execute_statement::run(engine, request),
        Request::BatchExecuteStatement(request) => batch_execute_statement::run(engine, request),
        Request::ExecuteTransaction(request) => execute_transaction::run(engine, request),
        Request::ListStreams(request) => read(list_streams::run(shared, &request, horizon)),
        Request::DescribeStream(request) => read(describe_stream::run(shared, &request, horizon)),
        Request::GetShardIterator(request) => read(get_shard_iterator::run(shared, &request, horizon)),
        Request::GetRecords(request) => read(get_records::run(shared, &request, horizon)),
    }
}

/// The response to a read.
fn read<O: Into<Response>>(answer: Result<O, Error>) -> Completion {
    Completion::Ready(answer.map(Into::into))
}

/// Queues work for the committer.
fn write<O, W>(engine: &Engine, work: W) -> Completion
where
    O: Into<Response>,
    W: FnOnce(&mut Transaction<'_>) -> Result<O, Error> + Send + 'static,
{
    engine.submit(
        Box::new(move |transaction| work(transaction).map(Into::into)),
        None,
    )
}

/// Queues the write of a single item; `answer` makes the response from the outcome.
fn write_item<O, A>(engine: &Engine, write: Result<impl Into<ItemWrite>, Error>, answer: A) -> Completion
where
    O: Into<Response>,
    A: FnOnce(Outcome) -> O + Send + 'static,
{
    let shared = engine.shared();
    let placed = write
        .map_err(Error::of_request)
        .and_then(|write| write.into().place(&shared.catalog.load(), shared));
    match placed {
        Err(error) => Completion::Ready(Err(error)),
        Ok(placed) if shared.conflicts.has(&placed.place()) => {
            Completion::Ready(Err(Error::transaction_conflict()))
        }
        Ok(placed) => self::write(engine, move |transaction| {
            placed
                .run(transaction, crate::transaction::Actor::Client)
                .map(answer)
        }),
    }
}
