//! Intents of a killed gateway, at an endpoint without transactions: one other gateway finishes each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use trestle_api::{Database, DatabaseExt, DeleteItem, Error, PutItem, Request, ResponseFuture, Wait};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::Item;

use crate::requests::item;
use crate::several_gateways::put;
use crate::support::{assert_exact, gateway, rows};
use crate::without_transactions::remote;

type Quicker = Box<dyn FnOnce() + Send>;

/// What happens when a gateway removes a row.
enum AtRemoval {
    /// The gateway is killed immediately before.
    Dies,
    /// Another one does something immediately before.
    IsOvertaken(Mutex<Option<Quicker>>),
}

/// The connection of a gateway to the endpoint.
struct Way {
    database: Arc<dyn Database>,
    at_removal: AtRemoval,
    is_dead: AtomicBool,
}

impl Database for Way {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let removes = matches!(&request, Request::DeleteItem(delete) if delete.table_name == "rows");
        match &self.at_removal {
            AtRemoval::Dies => {
                if removes || self.is_dead.load(Ordering::Acquire) {
                    self.is_dead.store(true, Ordering::Release);
                    return Box::pin(async { Err(Error::internal("the gateway was killed")) });
                }
            }
            AtRemoval::IsOvertaken(quicker) if removes => {
                if let Some(quicker) = quicker.lock().take() {
                    quicker();
                }
            }
            AtRemoval::IsOvertaken(_) => {}
        }
        self.database.execute(request)
    }
}

fn way(database: &Arc<dyn Database>, at_removal: AtRemoval) -> Arc<Way> {
    Arc::new(Way {
        database: Arc::clone(database),
        at_removal,
        is_dead: AtomicBool::new(false),
    })
}

fn has_seat(database: &dyn Database) -> bool {
    let is_seat = |row: &Item| row.get("sk") == Some(&"9".into());
    rows(database, "rows").iter().any(is_seat)
}

fn remove_seat(gateway: &Gateway) {
    let delete = DeleteItem {
        table_name: "rows".to_owned(),
        key: Item::from([("pk", "seat"), ("sk", "9")]),
        ..DeleteItem::default()
    };
    gateway.delete_item(delete).wait().unwrap_err();
}

/// The gateway that left the intent has expired at once, as if its lease had passed.
fn end_lease_of_the_killed(remote: &dyn Database) {
    let intents = rows(remote, "_trestle.intents");
    assert_eq!(intents.len(), 1, "{intents:?}");
    assert!(intents[0].contains_key("plan"), "{intents:?}");
    let killed = intents[0].get("gateway").unwrap().clone();
    let delete = DeleteItem {
        table_name: "_trestle.gateways".to_owned(),
        key: Item::from_iter([("gateway".to_owned(), killed)]),
        ..DeleteItem::default()
    };
    remote.delete_item(delete).wait().unwrap();
}

#[test]
fn a_row_that_comes_back_while_its_removal_is_finished_for_a_killed_gateway_stays() {
    let remote = remote();
    let first = gateway(Arc::clone(&remote), Arc::new(SystemClock::new()));
    put(&first, &json!({"kind": "seat", "seat": "9"}));
    let dying = way(&remote, AtRemoval::Dies);
    let killed = Gateway::open(Arc::clone(&dying) as Arc<dyn Database>).unwrap();
    // Only the slow gateway finishes the intent unless another one finds its locks.
    drop(first);
    let slow_way = way(&remote, AtRemoval::IsOvertaken(Mutex::default()));
    let slow = Gateway::open(Arc::clone(&slow_way) as Arc<dyn Database>).unwrap();
    put(&slow, &json!({"kind": "seat", "seat": "1"}));
    let acknowledged = Arc::new(Mutex::new(None));
    if let AtRemoval::IsOvertaken(quicker) = &slow_way.at_removal {
        let (acknowledged, remote) = (Arc::clone(&acknowledged), Arc::clone(&remote));
        *quicker.lock() = Some(Box::new(move || {
            let putting = thread::spawn(move || {
                let quick = Gateway::open(remote).unwrap();
                // Different from before, so that the row must be written, and then the same again.
                let put = |row| PutItem {
                    table_name: "rows".to_owned(),
                    item: item(&row),
                    ..PutItem::default()
                };
                let other = put(json!({"kind": "seat", "seat": "9", "note": "other"}));
                let same = put(json!({"kind": "seat", "seat": "9"}));
                quick.put_item(other).wait().is_ok() && quick.put_item(same).wait().is_ok()
            });
            *acknowledged.lock() = Some(putting.join().unwrap());
        }));
    }
    remove_seat(&killed);
    assert!(has_seat(&*remote), "it was decided, and not done");
    end_lease_of_the_killed(&*remote);
    let began = Instant::now();
    while !rows(&*remote, "_trestle.intents").is_empty() || acknowledged.lock().is_none() {
        assert!(
            began.elapsed() < Duration::from_secs(40),
            "the intent is not finished"
        );
        thread::sleep(Duration::from_millis(100));
    }
    let acknowledged = acknowledged.lock().take();
    assert_eq!(
        acknowledged,
        Some(has_seat(&*remote)),
        "what was acknowledged is there"
    );
    put(&slow, &json!({"kind": "seat", "seat": "9"}));
    assert!(has_seat(&*remote));
    assert_exact(&slow, "afterwards");
}
