//! The limits of an endpoint: a write that exceeds one is refused, and the error names the limit.

use std::sync::Arc;

use serde_json::json;
use trestle_api::{
    CancellationCode, CancellationReason, Database, DatabaseExt, Error, ErrorKind, Put, PutItem, Request,
    ResponseFuture, TransactWriteItem, TransactWriteItems, Wait,
};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::Item;

use crate::requests::item;
use crate::several_gateways::put;
use crate::support::{assert_exact, endpoint, gateway};

fn before_an_endpoint() -> Gateway {
    gateway(
        endpoint(Arc::new(SystemClock::new())),
        Arc::new(SystemClock::new()),
    )
}

fn try_put(gateway: &Gateway, row: &serde_json::Value) -> Result<(), Error> {
    let put = PutItem {
        table_name: "rows".to_owned(),
        item: item(row),
        ..PutItem::default()
    };
    gateway.put_item(put).wait().map(drop)
}

fn person(name: &str) -> serde_json::Value {
    json!({"kind": "person", "person": "x", "name": name})
}

#[test]
fn a_write_of_more_than_100_items_names_the_number_and_those_that_are_not_the_clients() {
    let gateway = before_an_endpoint();
    put(&gateway, &person("Ada"));
    let seat = |seat: usize| {
        put(
            &gateway,
            &json!({"kind": "seat", "seat": seat.to_string(), "person": "x"}),
        )
    };
    (0..98).for_each(seat);
    // The person, 98 seats, and the intent to look for seats again.
    try_put(&gateway, &person("Bo")).unwrap();
    seat(98);
    let refused = try_put(&gateway, &person("Cy")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation);
    for part in ["has 101 rows", "1 of them Trestle's own", "at most 100"] {
        assert!(refused.message().contains(part), "{refused}");
    }
    assert_exact(&gateway, "afterwards");
}

#[test]
fn a_transaction_of_more_than_4_mb_names_the_bytes() {
    let gateway = before_an_endpoint();
    let order = |id: usize, bytes: usize| TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: "rows".to_owned(),
            item: item(&json!({"kind": "order", "id": id.to_string(), "note": "n".repeat(bytes)})),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    };
    let write = |bytes: usize| {
        let transact_items = (0..11).map(|id| order(id, bytes)).collect();
        let request = TransactWriteItems {
            transact_items,
            ..TransactWriteItems::default()
        };
        gateway.transact_write_items(request).wait()
    };
    write(380_000).unwrap();
    let refused = write(382_000).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation);
    assert!(refused.message().contains("4 MB"), "{refused}");
    // Few attributes change, but the endpoint counts the whole of each row.
    put(&gateway, &person("Ada"));
    for seat in 0..12 {
        let row =
            json!({"kind": "seat", "seat": seat.to_string(), "person": "x", "note": "n".repeat(360_000)});
        put(&gateway, &row);
    }
    let refused = try_put(&gateway, &person("Bo")).unwrap_err();
    assert!(refused.message().contains("4 MB"), "{refused}");
}

/// An endpoint whose partitions have no write capacity.
struct Throttled(Arc<dyn Database>);

impl Database for Throttled {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let is_row = |item: &Item| item.contains_key("kind");
        let refused = match &request {
            Request::TransactWriteItems(write)
                if write
                    .transact_items
                    .iter()
                    .any(|item| item.put.as_ref().is_some_and(|put| is_row(&put.item))) =>
            {
                let mut reasons = vec![CancellationReason::none(); write.transact_items.len()];
                if let Some(last) = reasons.last_mut() {
                    *last = CancellationReason::new(CancellationCode::ThrottlingError, "too much");
                }
                Error::transaction_canceled(reasons)
            }
            Request::PutItem(put) if is_row(&put.item) => Error::throughput_exceeded(),
            _ => return self.0.execute(request),
        };
        Box::pin(async { Err(refused) })
    }
}

#[test]
fn a_write_that_is_throttled_names_the_write_units_of_a_partition() {
    let throttled = Arc::new(Throttled(endpoint(Arc::new(SystemClock::new()))));
    let gateway = gateway(throttled, Arc::new(SystemClock::new()));
    let single = try_put(&gateway, &json!({"kind": "club", "club": "c"})).unwrap_err();
    assert_eq!(single.kind(), ErrorKind::ProvisionedThroughputExceeded);
    let with_a_head = try_put(&gateway, &json!({"kind": "doc", "name": "a", "version": 1})).unwrap_err();
    assert_eq!(with_a_head.kind(), ErrorKind::ProvisionedThroughputExceeded);
    let row = |row: serde_json::Value| TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: "rows".to_owned(),
            item: item(&row),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    };
    let request = TransactWriteItems {
        transact_items: vec![
            row(json!({"kind": "club", "club": "c"})),
            row(json!({"kind": "club", "club": "d"})),
        ],
        ..TransactWriteItems::default()
    };
    let canceled = gateway.transact_write_items(request).wait().unwrap_err();
    let reasons = canceled.reasons();
    assert_eq!(reasons[1].code, CancellationCode::ThrottlingError, "{reasons:?}");
    let messages = [
        single.message(),
        with_a_head.message(),
        reasons[1].message.as_deref().unwrap_or_default(),
    ];
    for message in messages {
        assert!(message.contains("1,000 write units a second"), "{message}");
    }
}
