//! Many concurrent clients: nothing is lost or half done, and conflicts are reported as conflicts.

use std::future::{Future as _, IntoFuture as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};

use trestle_api::{
    BatchWriteItem, CancellationCode, Error, ErrorKind, Get, PutRequest, TransactGetItem, TransactGetItems,
    TransactWriteItems, WriteRequest,
};
use trestle_engine::{Engine, Options};
use trestle_item::Item;

use crate::support::{Fixture, get, n, number, put, s, scan, scan_all, table, transact_update, update};

const ACCOUNTS: i64 = 6;
const OPENING_BALANCE: i64 = 100;

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn account(number: i64) -> Item {
    key(&format!("account-{number}"))
}

#[test]
fn a_counter_raised_by_64_threads_is_exact() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let add = update("T", key("counter"), "ADD hits :one", Item::from([(":one", n(1))]));
                    fixture.engine.run(add).unwrap();
                }
            });
        }
    });
    let counter = get(&fixture.engine, "T", key("counter")).unwrap();
    assert_eq!(number(&counter, "hits"), 64 * 50);
}

/// Clients disconnect at any moment, also while their response is sent.
#[test]
fn what_nobody_waits_for_any_more_is_done_all_the_same() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let (clients, requests) = (4, 5_000);
    std::thread::scope(|scope| {
        for client in 0..clients {
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(client);
                let mut context = Context::from_waker(Waker::noop());
                for at in 0..requests {
                    let put = put("T", key(&format!("{client}.{at}")));
                    let mut answer = engine.start(put.into()).into_future();
                    let _ = Pin::new(&mut answer).poll(&mut context);
                    (0..rng.u32(0..2_000)).for_each(|_| std::hint::spin_loop());
                }
            });
        }
    });
    // The committer takes requests in turn: when the last one is done, so are those before it.
    engine.run(put("T", key("last"))).unwrap();
    let (items, _) = scan_all(engine, scan("T", None));
    assert_eq!(items.len() as u64, clients * requests + 1);
}

#[test]
fn of_many_writers_on_one_condition_exactly_one_wins() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let wins = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let (wins, engine) = (&wins, &fixture.engine);
            scope.spawn(move || {
                let mut request = put("T", Item::from([("pk", s("lock")), ("owner", n(thread))]));
                request.condition_expression = Some("attribute_not_exists(pk)".into());
                match engine.run(request) {
                    Ok(_) => {
                        wins.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::ConditionalCheckFailed),
                }
            });
        }
    });
    assert_eq!(wins.into_inner(), 1);
}

/// Whether a transaction was cancelled because of a conflict with another one.
fn is_conflict(error: &Error) -> bool {
    if error.kind() == ErrorKind::TransactionConflict {
        return true;
    }
    assert_eq!(error.kind(), ErrorKind::TransactionCanceled, "{error:?}");
    let codes: Vec<CancellationCode> = error.reasons().iter().map(|reason| reason.code).collect();
    let conflict = codes.contains(&CancellationCode::TransactionConflict);
    let condition = codes.contains(&CancellationCode::ConditionalCheckFailed);
    assert!(conflict || condition, "a reason is given: {codes:?}");
    conflict
}

/// Moves money until it works or there is not enough of it; returns the number of conflicts.
fn transfer(engine: &Engine, from: i64, to: i64, amount: i64) -> u64 {
    let mut conflicts = 0;
    loop {
        let request = TransactWriteItems {
            transact_items: vec![
                transact_update(
                    "Bank",
                    account(from),
                    "SET balance = balance - :amount",
                    Some("balance >= :amount"),
                    Item::from([(":amount", n(amount))]),
                ),
                transact_update(
                    "Bank",
                    account(to),
                    "SET balance = balance + :amount",
                    None,
                    Item::from([(":amount", n(amount))]),
                ),
            ],
            ..TransactWriteItems::default()
        };
        match engine.run(request) {
            Ok(_) => return conflicts,
            Err(error) if is_conflict(&error) => conflicts += 1,
            Err(_) => return conflicts,
        }
    }
}

fn total_by_transaction(engine: &Engine) -> i64 {
    let one = |number: i64| TransactGetItem {
        get: Get {
            table_name: "Bank".into(),
            key: account(number),
            ..Get::default()
        },
    };
    let request = TransactGetItems {
        transact_items: (0..ACCOUNTS).map(one).collect(),
        ..TransactGetItems::default()
    };
    // Never in conflict: it reads the state before the write that is running.
    let answer = engine.run(request).unwrap();
    let balance = |item: Option<Item>| number(&item.unwrap(), "balance");
    answer
        .responses
        .into_iter()
        .map(|response| balance(response.item))
        .sum()
}

fn total_by_scan(engine: &Engine, index: Option<&str>) -> i64 {
    let (items, _) = scan_all(engine, scan("Bank", index));
    assert_eq!(items.len() as i64, ACCOUNTS);
    items.iter().map(|item| number(item, "balance")).sum()
}

fn money_is_neither_made_nor_lost(fixture: &Fixture, transfers: i64) {
    let create = table("Bank", "pk:S", &[], &[("by-balance", "balance:N", "KEYS_ONLY")]);
    fixture.engine.run(create).unwrap();
    for number in 0..ACCOUNTS {
        let mut item = account(number);
        item.insert("balance", n(OPENING_BALANCE));
        fixture.engine.run(put("Bank", item)).unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let engine = &fixture.engine;
        let writers: Vec<_> = (0..6u64)
            .map(|seed| {
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for _ in 0..transfers {
                        let from = rng.i64(0..ACCOUNTS);
                        let to = (from + rng.i64(1..ACCOUNTS)) % ACCOUNTS;
                        transfer(engine, from, to, rng.i64(1..60));
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let expected = ACCOUNTS * OPENING_BALANCE;
                    assert_eq!(total_by_transaction(engine), expected);
                    assert_eq!(total_by_scan(engine, None), expected);
                    assert_eq!(total_by_scan(engine, Some("by-balance")), expected);
                }
            });
        }
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    for number in 0..ACCOUNTS {
        let item = get(&fixture.engine, "Bank", account(number)).unwrap();
        assert!(crate::support::number(&item, "balance") >= 0);
    }
}

#[test]
fn transfers_keep_the_sum_at_every_moment() {
    money_is_neither_made_nor_lost(&Fixture::new(), 150);
}

#[test]
fn transfers_on_disk_keep_the_sum_at_every_moment() {
    money_is_neither_made_nor_lost(&Fixture::on_disk(Options::default()), 60);
}

/// Many transactions on one item, started before any is answered: the first holds the item, the others are
/// refused.
#[test]
fn a_transaction_that_meets_another_is_told_so_and_changes_nothing() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let conflicts = AtomicU64::new(0);
    let successes = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let add = transact_update(
                        "T",
                        key("hot"),
                        "ADD hits :one",
                        None,
                        Item::from([(":one", n(1))]),
                    );
                    let request = TransactWriteItems {
                        transact_items: vec![add],
                        ..TransactWriteItems::default()
                    };
                    match fixture.engine.run(request) {
                        Ok(_) => successes.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert!(is_conflict(&error));
                            let message = error.reasons()[0].message.as_deref();
                            assert_eq!(message, Some("Transaction is ongoing for the item"));
                            conflicts.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
    });
    let hot = get(&fixture.engine, "T", key("hot")).unwrap();
    assert_eq!(number(&hot, "hits") as u64, successes.into_inner());
    assert!(conflicts.into_inner() > 0, "sixteen threads on one item do meet");
}

/// A batch that meets running transactions writes the other items and returns the rest, which can be sent
/// again.
#[test]
fn a_batch_hands_back_only_what_a_transaction_holds() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let stop = AtomicBool::new(false);
    let handed_back = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let add = transact_update(
                        "T",
                        key("hot"),
                        "ADD hits :one",
                        None,
                        Item::from([(":one", n(1))]),
                    );
                    let request = TransactWriteItems {
                        transact_items: vec![add],
                        ..TransactWriteItems::default()
                    };
                    if let Err(error) = fixture.engine.run(request) {
                        assert!(is_conflict(&error));
                    }
                }
            });
        }
        for round in 0..100 {
            let item = |pk: String| WriteRequest {
                put_request: Some(PutRequest {
                    item: Item::from([("pk", s(pk)), ("hits", n(0))]),
                }),
                delete_request: None,
            };
            let writes = vec![item("hot".into()), item(format!("cold-{round}"))];
            let mut left = [("T".to_owned(), writes)].into();
            loop {
                let request = BatchWriteItem {
                    request_items: left,
                    ..BatchWriteItem::default()
                };
                left = fixture.engine.run(request).unwrap().unprocessed_items;
                if left.is_empty() {
                    break;
                }
                assert_eq!(left["T"], [item("hot".into())]);
                handed_back.fetch_add(1, Ordering::Relaxed);
                assert!(get(&fixture.engine, "T", key(&format!("cold-{round}"))).is_some());
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(
        handed_back.into_inner() > 0,
        "a hundred batches do meet a transaction"
    );
}
