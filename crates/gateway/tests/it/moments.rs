//! Audits, repairs and fills while clients write through several gateways: they see a consistent state of the
//! rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use trestle_api::{Database, DatabaseExt, ErrorKind, PutItem, UpdateItem, Wait};
use trestle_binding::RepairReport;
use trestle_embedded::{RepairOptions, Unwatched};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::{AttributeValue, Item, Map, Number};

use crate::requests::{item, request};
use crate::several_gateways::{is_fault, put};
use crate::support::{apply_next_version, assert_exact, endpoint, in_turn, rows, three_gateways};

/// Stops writers when it is dropped, also after a failed check.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs writers of random rows and of orders of shop `s` until `work` is done. Returns how many orders they
/// wrote.
fn while_writers_go_on(gateways: &[Gateway], writers: usize, work: impl FnOnce()) -> u64 {
    let (stop, orders) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for (writer, gateway) in (0..writers).zip(gateways.iter().cycle()) {
            let (stop, orders) = (&stop, &orders);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(writer as u64);
                for number in 0.. {
                    if stop.load(Ordering::Acquire) {
                        return;
                    }
                    assert!(!is_fault(&gateway.execute(request(&mut random)).wait()));
                    let id = format!("{writer}-{number}");
                    // All of them change the count in one row: some conflict too often, which clients must
                    // accept.
                    let order = PutItem {
                        table_name: "rows".to_owned(),
                        item: item(&json!({"kind": "order", "id": id, "shop": "s", "price": 2})),
                        ..PutItem::default()
                    };
                    match gateway.put_item(order).wait() {
                        Err(error) => assert_eq!(error.kind(), ErrorKind::TransactionConflict, "{error}"),
                        Ok(_) => drop(orders.fetch_add(1, Ordering::Relaxed)),
                    }
                }
            });
        }
        thread::sleep(Duration::from_millis(300));
        let _stops = Stops(&stop);
        work();
    });
    orders.load(Ordering::Relaxed)
}

fn repair(gateway: &Gateway, dry_run: bool) -> RepairReport {
    let options = RepairOptions {
        dry_run,
        ..RepairOptions::default()
    };
    in_turn(|| gateway.models().repair(&options, &mut Unwatched))
}

/// Changes the count of a shop without a gateway, if the shop exists.
fn miscount(remote: &dyn Database, shop: &str, by: i64) {
    let update = UpdateItem {
        table_name: "rows".to_owned(),
        key: item(&json!({"pk": "shop", "sk": shop})),
        update_expression: Some("ADD #c :by, turnover :by".to_owned()),
        condition_expression: Some("attribute_exists(pk)".to_owned()),
        expression_attribute_names: Some([("#c".to_owned(), "count".to_owned())].into()),
        expression_attribute_values: Some(Map::from_iter([(":by".to_owned(), AttributeValue::from(by))])),
        ..UpdateItem::default()
    };
    loop {
        match remote.update_item(update.clone()).wait() {
            Err(error) if error.kind() == ErrorKind::TransactionConflict => {}
            Err(error) if error.kind() != ErrorKind::ConditionalCheckFailed => panic!("{error}"),
            _ => return,
        }
    }
}

/// The orders of a shop, and the count in its row.
fn counted(remote: &dyn Database, shop: &str) -> (u64, Option<Number>) {
    let rows = rows(remote, "rows");
    let text = |row: &Item, name: &str| row.get(name).and_then(AttributeValue::as_s).map(str::to_owned);
    let is_of = |row: &&Item, kind: &str| {
        text(row, "kind").as_deref() == Some(kind) && text(row, "shop").as_deref() == Some(shop)
    };
    let orders = rows.iter().filter(|row| is_of(row, "order")).count();
    let shop = rows.iter().find(|row| is_of(row, "shop"));
    let count = shop.and_then(|shop| shop.get("count")?.as_n().copied());
    (orders as u64, count)
}

#[test]
fn an_audit_finds_nothing_wrong_while_sixteen_writers_go_on() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let gateways = three_gateways(&remote);
    while_writers_go_on(&gateways, 16, || {
        for gateway in &gateways {
            let report = repair(gateway, true);
            assert!(report.is_clean(), "{report}");
        }
    });
    assert_exact(&gateways[0], "afterwards");
}

#[test]
fn counts_are_mended_exactly_while_sixteen_writers_go_on() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    mend_counts(&three_gateways(&remote), &*remote);
}

/// Counts are made wrong and repaired, by one gateway after the other, while clients write.
pub(crate) fn mend_counts(gateways: &[Gateway], remote: &dyn Database) {
    let mut mended = 0;
    while_writers_go_on(gateways, 16, || {
        for (gateway, by) in gateways.iter().zip([1000, -70, 3]) {
            put(gateway, &json!({"kind": "shop", "shop": "kept"}));
            miscount(remote, "kept", by);
            miscount(remote, "s", by);
            let report = repair(gateway, false);
            assert_eq!(report.models[0].left_total, 0, "{report}");
            mended += report.models[0].mended.values().sum::<u64>();
            let report = repair(gateway, true);
            assert!(report.is_clean(), "{report}");
        }
    });
    assert!(mended >= 6, "{mended} sums were mended");
    assert_exact(&gateways[0], "afterwards");
    let (orders, count) = counted(remote, "s");
    // A client may have removed the shop last; the count of its orders is then an orphan count.
    assert!(
        count.is_none_or(|count| count == Number::from(orders)),
        "{orders} {count:?}"
    );
}

#[test]
fn two_gateways_that_repair_at_once_add_no_error_twice() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let gateways = three_gateways(&remote);
    for shop in ["u", "v", "w"] {
        put(&gateways[0], &json!({"kind": "shop", "shop": shop}));
        miscount(&*remote, shop, 5);
    }
    while_writers_go_on(&gateways, 4, || {
        thread::scope(|scope| {
            for gateway in &gateways[..2] {
                scope.spawn(|| repair(gateway, false));
            }
        });
    });
    assert_exact(&gateways[2], "afterwards");
    for shop in ["u", "v", "w"] {
        assert_eq!(counted(&*remote, shop), (0, Some(Number::ZERO)));
    }
}

#[test]
fn a_sum_is_filled_in_exactly_while_sixteen_writers_go_on() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let gateways = three_gateways(&remote);
    let orders = while_writers_go_on(&gateways, 16, || apply_next_version(&gateways[1]));
    assert!(orders > 16, "{orders} orders were written meanwhile");
    for gateway in &gateways {
        assert_exact(gateway, "afterwards");
    }
}

#[test]
fn rows_that_are_put_removed_and_changed_while_they_are_added_up_are_those_of_the_moment() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let gateways = three_gateways(&remote);
    put(&gateways[0], &json!({"kind": "shop", "shop": "m"}));
    for number in 0..40 {
        let order = json!({"kind": "order", "id": format!("m{number}"), "shop": "m", "price": number});
        put(&gateways[0], &order);
    }
    // Each request of this writer leaves the sum unchanged, but separate reads of rows are inconsistent:
    // prices are swapped in transactions.
    while_writers_go_on(&gateways, 2, || {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stops = Stops(&stop);
            for gateway in &gateways[1..] {
                scope.spawn(|| {
                    let mut random = fastrand::Rng::new();
                    while !stop.load(Ordering::Acquire) {
                        swap(gateway, random.u8(..20), random.u8(20..40), random.i64(-50..50));
                    }
                });
            }
            for _ in 0..3 {
                let report = repair(&gateways[0], true);
                assert!(report.is_clean(), "{report}");
            }
        });
    });
    assert_exact(&gateways[0], "afterwards");
}

/// Raises the price of one order and lowers another, in one transaction.
fn swap(gateway: &Gateway, one: u8, other: u8, by: i64) {
    let part = |order: u8, by: i64| trestle_api::TransactWriteItem {
        update: Some(Box::new(trestle_api::Update {
            table_name: "rows".to_owned(),
            key: item(&json!({"pk": "order", "sk": format!("m{order}")})),
            update_expression: "ADD price :by".to_owned(),
            expression_attribute_values: Some(Map::from_iter([(":by".to_owned(), AttributeValue::from(by))])),
            ..trestle_api::Update::default()
        })),
        ..trestle_api::TransactWriteItem::default()
    };
    let request = trestle_api::TransactWriteItems {
        transact_items: vec![part(one, by), part(other, -by)],
        ..trestle_api::TransactWriteItems::default()
    };
    let swapped = gateway.transact_write_items(request).wait();
    assert!(!is_fault(&swapped.map(Into::into)));
}
