//! Several gateways of one endpoint, with writers at each: all derived rows stay exact.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use trestle_api::{Database, DatabaseExt, Error, ErrorKind, TransactWriteItems, Wait};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;

use crate::requests::{item, request};
use crate::support::{apply_next_version, assert_exact, endpoint, gateway, rows};

#[test]
fn what_is_derived_is_exact_after_writers_at_three_gateways() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let first = gateway(
        Arc::clone(&remote) as Arc<dyn Database>,
        Arc::new(SystemClock::new()),
    );
    let others = (0..2).map(|_| Gateway::open(Arc::clone(&remote) as Arc<dyn Database>).unwrap());
    let gateways: Vec<Gateway> = std::iter::once(first).chain(others).collect();
    write_at_all(&gateways, 12, 60);
    for gateway in &gateways {
        assert_exact(gateway, "afterwards");
    }
}

/// Writers distributed over all gateways, each with this many random requests.
pub(crate) fn write_at_all(gateways: &[Gateway], writers: u64, requests: usize) {
    thread::scope(|scope| {
        for (seed, gateway) in (0..writers).zip(gateways.iter().cycle()) {
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..requests {
                    let answer = gateway.execute(request(&mut random)).wait();
                    assert!(!is_fault(&answer));
                }
            });
        }
    });
}

/// A response that no client should get.
pub(crate) fn is_fault(answer: &Result<trestle_api::Response, Error>) -> bool {
    match answer {
        Ok(_) => false,
        Err(error) => {
            let is_fault = error.kind() == ErrorKind::InternalServerError;
            assert!(!is_fault, "{error}");
            is_fault
        }
    }
}

#[test]
fn a_count_that_all_writers_raise_is_not_lost() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let first = gateway(
        Arc::clone(&remote) as Arc<dyn Database>,
        Arc::new(SystemClock::new()),
    );
    let second = Gateway::open(Arc::clone(&remote) as Arc<dyn Database>).unwrap();
    put(&first, &serde_json::json!({"kind": "shop", "shop": "s"}));
    thread::scope(|scope| {
        for writer in 0..8 {
            let gateway = if writer % 2 == 0 { &first } else { &second };
            scope.spawn(move || {
                for number in 0..10 {
                    let id = format!("{writer}-{number}");
                    put(
                        gateway,
                        &serde_json::json!({"kind": "order", "id": id, "shop": "s", "price": 2}),
                    );
                }
            });
        }
    });
    let shop = rows(&*remote, "rows")
        .into_iter()
        .find(|row| row.get("count").is_some())
        .unwrap();
    assert_eq!(shop.get("count"), Some(&80_u64.into()));
    assert_eq!(shop.get("turnover"), Some(&160_u64.into()));
}

pub(crate) fn put(gateway: &Gateway, row: &serde_json::Value) {
    let put = trestle_api::PutItem {
        table_name: "rows".to_owned(),
        item: item(row),
        ..trestle_api::PutItem::default()
    };
    gateway.put_item(put).wait().unwrap();
}

#[test]
fn a_transaction_that_names_itself_is_made_once() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let gateway = gateway(
        Arc::clone(&remote) as Arc<dyn Database>,
        Arc::new(SystemClock::new()),
    );
    put(
        &gateway,
        &serde_json::json!({"kind": "order", "id": "1", "shop": "s", "price": 2}),
    );
    let add = |by: i64| TransactWriteItems {
        transact_items: vec![trestle_api::TransactWriteItem {
            update: Some(Box::new(trestle_api::Update {
                table_name: "rows".to_owned(),
                key: item(&serde_json::json!({"pk": "order", "sk": "1"})),
                update_expression: "ADD price :by".to_owned(),
                expression_attribute_values: Some(
                    [(":by".to_owned(), trestle_item::AttributeValue::from(by))]
                        .into_iter()
                        .collect(),
                ),
                ..trestle_api::Update::default()
            })),
            ..trestle_api::TransactWriteItem::default()
        }],
        client_request_token: Some("once".to_owned()),
        ..TransactWriteItems::default()
    };
    for _ in 0..3 {
        gateway.transact_write_items(add(5)).wait().unwrap();
    }
    let other = gateway.transact_write_items(add(6)).wait().unwrap_err();
    assert_eq!(other.kind(), ErrorKind::IdempotentParameterMismatch);
    let order = rows(&*remote, "rows")
        .into_iter()
        .find(|row| row.get("price").is_some())
        .unwrap();
    assert_eq!(order.get("price"), Some(&7_u64.into()));
    assert_exact(&gateway, "afterwards");
}

#[test]
fn a_new_version_is_in_force_at_every_gateway_when_it_is_applied() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let open = || Gateway::open(Arc::clone(&remote) as Arc<dyn Database>).unwrap();
    let (second, third) = (open(), open());
    // The second and the third had no model when they were opened.
    let first = gateway(
        Arc::clone(&remote) as Arc<dyn Database>,
        Arc::new(SystemClock::new()),
    );
    let gateways = [&first, &second, &third];
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for (writer, gateway) in gateways.into_iter().cycle().take(6).enumerate() {
            let stop = &stop;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(writer as u64);
                while gateway.models().list().is_empty() {
                    thread::sleep(Duration::from_millis(5));
                }
                let mut number = 0;
                while !stop.load(Ordering::Acquire) {
                    number += 1;
                    let answer = gateway.execute(request(&mut random)).wait();
                    assert!(!is_fault(&answer));
                    put(
                        gateway,
                        &serde_json::json!({"kind": "order", "id": format!("{writer}-{number}"), "shop": "s", "price": 2}),
                    );
                }
            });
        }
        thread::sleep(Duration::from_millis(600));
        apply_next_version(&second);
        thread::sleep(Duration::from_millis(600));
        stop.store(true, Ordering::Release);
    });
    for gateway in gateways {
        assert_eq!(gateway.models().list()[0].version, 2);
        assert_exact(gateway, "afterwards");
    }
}
