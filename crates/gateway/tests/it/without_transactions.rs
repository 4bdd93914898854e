//! Models at an endpoint without transactions: writes use intents.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, ListTables, Request, ResponseFuture, TransactWriteItems, Wait,
};
use trestle_env::SystemClock;
use trestle_gateway::{Gateway, ProgramLease};

use crate::requests::request;
use crate::same_as_embedded::compare_with;
use crate::several_gateways::{is_fault, put};
use crate::support::{EVERYTHING, assert_exact, clock, endpoint, gateway, rows};

/// An endpoint without transactions.
struct WithoutTransactions(Arc<dyn Database>);

impl Database for WithoutTransactions {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            match request {
                Request::TransactWriteItems(_)
                | Request::TransactGetItems(_)
                | Request::ExecuteTransaction(_) => {
                    Err(Error::new(ErrorKind::UnknownOperation, String::new()))
                }
                request => self.0.execute(request).await,
            }
        })
    }
}

/// The connection of a gateway that is killed after this many requests.
struct Dying {
    database: Arc<dyn Database>,
    left: AtomicI64,
}

impl Database for Dying {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            match self.left.fetch_sub(1, Ordering::AcqRel) > 0 {
                true => self.database.execute(request).await,
                false => Err(Error::internal("the gateway was killed")),
            }
        })
    }
}

/// A gateway that is killed after this many requests.
pub(crate) struct DyingGateway {
    pub(crate) gateway: Gateway,
    line: Arc<Dying>,
    requests: i64,
}

impl DyingGateway {
    pub(crate) fn dies_from_now_on(&self) {
        self.line.left.store(self.requests, Ordering::Release);
    }
}

pub(crate) fn dying_gateway(remote: &Arc<dyn Database>, requests: i64) -> DyingGateway {
    let line = Arc::new(Dying {
        database: Arc::clone(remote),
        left: AtomicI64::new(i64::MAX),
    });
    DyingGateway {
        gateway: Gateway::open(Arc::clone(&line) as Arc<dyn Database>).unwrap(),
        line,
        requests,
    }
}

/// A request that is not a transaction.
pub(crate) fn single(random: &mut fastrand::Rng) -> Request {
    loop {
        let request = request(random);
        if !matches!(request, Request::TransactWriteItems(_)) {
            return request;
        }
    }
}

pub(crate) fn remote() -> Arc<dyn Database> {
    Arc::new(WithoutTransactions(endpoint(Arc::new(SystemClock::new()))))
}

#[test]
fn random_requests_have_the_same_answers_and_leave_the_same_rows() {
    for seed in 200..206 {
        let clock = clock();
        let remote: Arc<dyn Database> = Arc::new(WithoutTransactions(endpoint(clock.clone())));
        compare_with(EVERYTHING, seed, clock, remote, single);
    }
}

#[test]
fn a_clients_transaction_is_refused_with_the_reason() {
    let first = gateway(remote(), Arc::new(SystemClock::new()));
    let part = trestle_api::TransactWriteItem {
        put: Some(Box::new(trestle_api::Put {
            table_name: "rows".to_owned(),
            item: crate::requests::item(&json!({"kind": "shop", "shop": "s"})),
            ..trestle_api::Put::default()
        })),
        ..trestle_api::TransactWriteItem::default()
    };
    let refused = first.transact_write_items(TransactWriteItems {
        transact_items: vec![part],
        ..TransactWriteItems::default()
    });
    let refused = refused.wait().unwrap_err();
    assert!(refused.message().contains("has no transactions"), "{refused}");
}

#[test]
fn routes_and_queues_are_refused_with_the_reason_and_leave_nothing() {
    let there = remote();
    let first = Gateway::open(Arc::clone(&there)).unwrap();
    let routes = first.duty().check_endpoint().wait().unwrap_err();
    assert!(routes.message().contains("has no transactions"), "{routes}");
    assert!(
        routes
            .message()
            .contains("trestle routes run FILE --endpoint URL --state DIR"),
        "{routes}"
    );
    let queues = ProgramLease::take(Arc::clone(&there), "shop").wait().unwrap_err();
    assert!(queues.message().contains("has no transactions"), "{queues}");
    let tables = there.list_tables(ListTables::default()).wait().unwrap();
    assert!(
        !tables.table_names.iter().any(|name| name.starts_with("shop.")),
        "{tables:?}"
    );
    let full: Arc<dyn Database> = endpoint(Arc::new(SystemClock::new()));
    Gateway::open(full)
        .unwrap()
        .duty()
        .check_endpoint()
        .wait()
        .unwrap();
}

#[test]
fn what_is_derived_is_exact_after_writers_at_three_gateways() {
    let remote = remote();
    let first = gateway(Arc::clone(&remote), Arc::new(SystemClock::new()));
    let others = (0..2).map(|_| Gateway::open(Arc::clone(&remote)).unwrap());
    let gateways: Vec<Gateway> = std::iter::once(first).chain(others).collect();
    write_singles(&gateways, 30);
    for table in ["_trestle.intents", "_trestle.locks"] {
        assert_eq!(rows(&*remote, table), []);
    }
    for gateway in &gateways {
        assert_exact(gateway, "afterwards");
    }
}

/// Sixteen writers distributed over all gateways, each with this many random requests.
pub(crate) fn write_singles(gateways: &[Gateway], requests: usize) {
    thread::scope(|scope| {
        for (seed, gateway) in (0..16).zip(gateways.iter().cycle()) {
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..requests {
                    let answer = gateway.execute(single(&mut random)).wait();
                    assert!(!is_fault(&answer));
                }
            });
        }
    });
}

pub(crate) fn what_killed_gateways_left_is_finished_or_let_go_by_the_others() {
    let remote = remote();
    let first = gateway(Arc::clone(&remote), Arc::new(SystemClock::new()));
    put(&first, &json!({"kind": "shop", "shop": "s"}));
    let dying: Vec<DyingGateway> = (0..12)
        .map(|number| dying_gateway(&remote, 20 + 7 * number))
        .collect();
    thread::scope(|scope| {
        for (seed, dying) in dying.iter().enumerate() {
            scope.spawn(move || {
                let gateway = &dying.gateway;
                dying.dies_from_now_on();
                let mut random = fastrand::Rng::with_seed(seed as u64);
                let killed = |answer: &Result<_, Error>| {
                    answer
                        .as_ref()
                        .is_err_and(|error| error.kind() == ErrorKind::InternalServerError)
                };
                while !killed(&gateway.execute(single(&mut random)).wait()) {}
            });
        }
    });
    let began = Instant::now();
    while !rows(&*remote, "_trestle.intents").is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(40),
            "{:?}",
            rows(&*remote, "_trestle.intents")
        );
        thread::sleep(Duration::from_millis(200));
    }
    // Remaining locks belong to no intent, and are removed by the next write.
    put(
        &first,
        &json!({"kind": "order", "id": "last", "shop": "s", "price": 1}),
    );
    assert_exact(&first, "afterwards");
}
