//! Counts of rows in the real engine: kept while the counting row is missing, and after a restart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::models::support::{TestDb, empty, expiring, on};
use serde_json::{Value, json};
use trestle_api::{DeleteItem, ErrorKind, ListTables};
use trestle_env::{Clock, VirtualClock};
use trestle_item::{AttributeValue, Number};
use trestle_store::MemoryStore;

const MODEL: &str = r#"
model = "shop"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "gone_at"
[entity.customer]
table = "rows"
key = { pk = "customer#{id}", sk = "customer" }
attributes = { id = "string", email = "string", orders = { type = "integer", default = 0 } }
[entity.order]
table = "rows"
key = { pk = "customer#{customer}", sk = "order#{number}" }
attributes = { customer = "string", number = "string" }
[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
with = { id = "customer" }
"#;

fn customer() -> Value {
    json!({"kind": "customer", "id": "a", "email": "a@x"})
}

fn order(number: &str) -> Value {
    json!({"kind": "order", "customer": "a", "number": number})
}

fn orders(models: &TestDb) -> Option<AttributeValue> {
    models.get("rows", json!({"id": "a"}))?.get("orders").cloned()
}

fn number(number: i64) -> Option<AttributeValue> {
    Some(AttributeValue::N(Number::from(number)))
}

#[test]
fn a_customer_that_comes_back_after_a_restart_has_its_orders() {
    let store = Arc::new(MemoryStore::new());
    let clock = Arc::new(VirtualClock::new());
    let open = || on(store.clone(), clock.clone(), expiring());
    let models = open();
    models.apply(MODEL);
    models.put("rows", customer()).unwrap();
    for name in ["1", "2"] {
        models.put("rows", order(name)).unwrap();
    }
    models
        .update(
            "rows",
            json!({"id": "a"}),
            "SET gone_at = :t",
            json!({":t": clock.now().as_secs() + 60}),
        )
        .unwrap();
    clock.advance(Duration::from_secs(3600));
    let start = Instant::now();
    while orders(&models).is_some() {
        assert!(start.elapsed() < Duration::from_secs(30), "the customer expires");
        clock.signal().ring();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(models);
    let models = open();
    let delete = DeleteItem {
        table_name: "rows".to_owned(),
        key: crate::models::support::plain(json!({"kind": "order", "customer": "a", "number": "1"})),
        ..DeleteItem::default()
    };
    models.run(delete).unwrap();
    let refused = models.put("rows", order("3")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation);
    models.put("rows", customer()).unwrap();
    assert_eq!(orders(&models), number(1));
    assert!(models.rows("_trestle.counts").is_empty());
    let tables = models.run(ListTables::default()).unwrap().table_names;
    assert_eq!(tables, ["rows"]);
}

#[test]
fn a_put_of_the_customer_keeps_the_count() {
    let models = empty();
    models.apply(MODEL);
    models.put("rows", customer()).unwrap();
    models.put("rows", order("1")).unwrap();
    models.put("rows", customer()).unwrap();
    assert_eq!(orders(&models), number(1));
    let refused = models.update("rows", json!({"id": "a"}), "ADD orders :n", json!({":n": 1}));
    assert!(refused.unwrap_err().message().contains("leave it out"));
}

/// Lets background work run until `holds` is true, or for a while.
fn within(clock: &VirtualClock, wait: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > wait {
            return false;
        }
        clock.advance(Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

#[test]
fn an_order_whose_expiry_is_refused_stays_counted_until_its_customer_is_corrected() {
    let clock = Arc::new(VirtualClock::new());
    let models = on(Arc::new(MemoryStore::new()), clock.clone(), expiring());
    models.apply(MODEL);
    models.put("rows", customer()).unwrap();
    let mut short = order("1");
    short["gone_at"] = json!(clock.now().as_secs() + 60);
    models.put("rows", short).unwrap();
    models.behind_the_models(|_| {
        let spoilt =
            json!({"pk": "customer#a", "sk": "customer", "kind": "customer", "id": "a", "orders": 1});
        models.put("rows", spoilt).unwrap();
    });
    clock.advance(Duration::from_secs(3600));
    let is_gone = || {
        let key = json!({"kind": "order", "customer": "a", "number": "1"});
        models.get("rows", key).is_none()
    };
    assert!(
        !within(&clock, Duration::from_millis(500), is_gone),
        "it is refused"
    );
    assert_eq!(orders(&models), number(1));
    models.put("rows", customer()).unwrap();
    assert!(
        within(&clock, Duration::from_secs(20), is_gone),
        "it expires once nothing is in its way"
    );
    assert_eq!(orders(&models), number(0));
}
