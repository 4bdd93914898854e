//! Rows that are added between the read of a group of rows by one gateway and its write, through another
//! gateway.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use trestle_api::{Database, DatabaseExt, DeleteItem, Request, ResponseFuture, Wait};
use trestle_env::Clock;
use trestle_gateway::Gateway;

use crate::requests::item;
use crate::several_gateways::put;
use crate::support::{assert_exact, clock, endpoint, gateway, gateway_with, rows};

type Quicker = Box<dyn FnOnce() + Send>;

/// The connection of a gateway that another one overtakes once, immediately before its next transaction
/// arrives.
struct Overtaken {
    database: Arc<dyn Database>,
    quicker: Mutex<Option<Quicker>>,
}

impl Database for Overtaken {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        if matches!(request, Request::TransactWriteItems(_))
            && let Some(quicker) = self.quicker.lock().take()
        {
            quicker();
        }
        self.database.execute(request)
    }
}

/// A slow gateway, with a way to overtake it, and a fast one.
fn two_gateways(model: Option<&str>) -> (Gateway, Arc<Overtaken>, Gateway) {
    let clock: Arc<dyn Clock> = clock();
    let remote: Arc<dyn Database> = endpoint(Arc::clone(&clock));
    let quick = match model {
        Some(model) => gateway_with(model, Arc::clone(&remote), Arc::clone(&clock)),
        None => gateway(Arc::clone(&remote), Arc::clone(&clock)),
    };
    let way = Arc::new(Overtaken {
        database: remote,
        quicker: Mutex::default(),
    });
    let slow = Gateway::with_clock(Arc::clone(&way) as Arc<dyn Database>, clock).unwrap();
    (slow, way, quick)
}

fn overtake(way: &Overtaken, quick: &Gateway, row: serde_json::Value) {
    let quick = quick.clone();
    *way.quicker.lock() = Some(Box::new(move || {
        let putting = std::thread::spawn(move || put(&quick, &row));
        putting.join().unwrap();
    }));
}

#[test]
fn a_row_that_comes_while_the_newest_goes_is_the_next_head() {
    let (slow, way, quick) = two_gateways(None);
    for version in [1, 5] {
        put(&quick, &json!({"kind": "doc", "name": "a", "version": version}));
    }
    overtake(&way, &quick, json!({"kind": "doc", "name": "a", "version": 3}));
    let delete = DeleteItem {
        table_name: "rows".to_owned(),
        key: item(&json!({"pk": "doc#a", "sk": "v#0005"})),
        ..DeleteItem::default()
    };
    slow.delete_item(delete).wait().unwrap();
    assert!(way.quicker.lock().is_none());
    assert_exact(&quick, "afterwards");
    let head = rows(&quick, "rows")
        .into_iter()
        .find(|row| row.get("sk") == Some(&"head".into()));
    assert_eq!(head.unwrap().get("version"), Some(&3i64.into()));
}

#[test]
fn a_copy_that_comes_while_its_original_changes_is_in_step() {
    let (slow, way, quick) = two_gateways(None);
    put(&quick, &json!({"kind": "person", "person": "x", "name": "Ada"}));
    put(&quick, &json!({"kind": "seat", "seat": "1", "person": "x"}));
    overtake(&way, &quick, json!({"kind": "seat", "seat": "2", "person": "x"}));
    put(&slow, &json!({"kind": "person", "person": "x", "name": "Bo"}));
    assert!(way.quicker.lock().is_none());
    assert_exact(&quick, "afterwards");
}
