//! Tests of the trait, for callers.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use trestle_api::*;
use trestle_item::Item;

/// Answers `GetItem` with the key, and everything else with what `ListTables` would.
struct Echo;

impl Database for Echo {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            match request {
                Request::GetItem(get) if get.table_name == "missing" => Err(Error::resource_not_found()),
                Request::GetItem(get) => Ok(GetItemOutput {
                    item: Some(get.key),
                    ..Default::default()
                }
                .into()),
                _ => Ok(ListTablesOutput::default().into()),
            }
        })
    }
}

fn ready<T>(future: impl Future<Output = T> + Send) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the answer was ready"),
    }
}

fn get(table: &str) -> GetItem {
    GetItem {
        table_name: table.into(),
        key: Item::from([("pk", "a")]),
        ..GetItem::default()
    }
}

#[test]
fn a_typed_method_answers_with_its_own_output() {
    let database: Arc<dyn Database> = Arc::new(Echo);
    assert_eq!(
        ready(database.get_item(get("t"))).unwrap().item,
        Some(get("t").key)
    );
    assert_eq!(
        ready(database.list_tables(ListTables::default())).unwrap(),
        ListTablesOutput::default()
    );
}

#[test]
fn a_failure_reaches_the_caller_as_it_is() {
    let error = ready(Echo.get_item(get("missing"))).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::ResourceNotFound, "Requested resource not found")
    );
}

#[test]
fn an_answer_of_another_operation_is_an_internal_error() {
    let error = ready(Echo.put_item(PutItem::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InternalServerError);
}
