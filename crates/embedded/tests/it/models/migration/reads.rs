//! Reads of clients during a migration: one list, both keys, and no double reads when nothing can be found.

use super::{FAST, Shop, former_key, order, own_key, own_row};
use crate::models::support::{SHOP, plain, text};
use serde_json::json;
use trestle_api::{
    BatchGetItem, DeleteItem, KeysAndAttributes, Query, Scan, TransactGetItem, TransactGetItems,
};
use trestle_binding::MigrationState;
use trestle_embedded::StartOptions;
use trestle_item::Item;

fn numbers(rows: &[Item]) -> Vec<String> {
    rows.iter().map(|row| text(row, "sk").to_owned()).collect()
}

/// The orders of ann by a query of the table, in pages of three.
fn listed(shop: &Shop, hash: &str) -> Vec<String> {
    let mut from = None;
    let mut found = Vec::new();
    loop {
        let query = Query {
            table_name: "shop".to_owned(),
            key_condition_expression: Some("pk = :pk".to_owned()),
            expression_attribute_values: Some(Item::from([(":pk", hash)])),
            exclusive_start_key: from,
            limit: Some(3),
            ..Query::default()
        };
        let page = shop.models.run(query).unwrap();
        found.extend(numbers(&page.items.unwrap().to_vec()));
        from = page.last_evaluated_key;
        if from.is_none() {
            return found;
        }
    }
}

#[test]
fn lists_are_whole_and_in_order_while_some_rows_have_moved() {
    let shop = Shop::with_orders(10);
    shop.start(FAST);
    let all: Vec<String> = (1..=10).map(|number| format!("o/{number:08}")).collect();
    assert_eq!(listed(&shop, "shop/ann"), all);
    for number in [2, 3, 7] {
        shop.models.put("shop", order(number)).unwrap();
        assert_eq!(listed(&shop, "shop/ann"), all, "after {number}");
    }
    assert_eq!(listed(&shop, "customer#ann"), all, "as an old client asks");
    assert_eq!(shop.former(), 7);
    let open = shop
        .models
        .partition("shop", "by_status", "status_key", "open#ann");
    assert_eq!(numbers(&open), all);
    let mut scanned = numbers(&shop.models.rows("shop"));
    scanned.sort();
    assert_eq!(scanned, all);
}

#[test]
fn clients_that_know_the_layout_before_read_and_write_until_it_is_finished() {
    let shop = Shop::with_orders(4);
    shop.start(FAST);
    for state in [MigrationState::Dual, MigrationState::Verified] {
        shop.sweep_until(state);
        assert_eq!(shop.models.get("shop", former_key(1)), Some(own_row(1)));
        let keys = KeysAndAttributes {
            keys: vec![plain(former_key(1)), plain(own_key(2))],
            ..KeysAndAttributes::default()
        };
        let batch = BatchGetItem {
            request_items: [("shop".to_owned(), keys)].into(),
            ..BatchGetItem::default()
        };
        let found = shop.models.run(batch).unwrap().responses;
        assert_eq!(found["shop"].len(), 2);
        let get = TransactGetItem {
            get: trestle_api::Get {
                table_name: "shop".to_owned(),
                key: plain(former_key(1)),
                ..trestle_api::Get::default()
            },
        };
        let read = TransactGetItems {
            transact_items: vec![get],
            ..TransactGetItems::default()
        };
        let read = shop.models.run(read).unwrap().responses;
        assert_eq!(read[0].item, Some(own_row(1)));
    }
    // A put with keys and index keys of the former layout, an update and a removal.
    let mut old = order(2);
    for (name, value) in former_key(2).as_object().unwrap() {
        old[name] = value.clone();
    }
    old["kind"] = json!("order");
    old["status"] = json!("paid");
    old["status_key"] = json!("paid#ann");
    shop.models.put("shop", old).unwrap();
    assert_eq!(shop.order(2).unwrap().get("status"), Some(&"paid".into()));
    shop.models
        .update("shop", former_key(3), "SET note = :n", json!({":n": "late"}))
        .unwrap();
    assert_eq!(shop.order(3).unwrap().get("note"), Some(&"late".into()));
    let delete = DeleteItem {
        table_name: "shop".to_owned(),
        key: plain(former_key(4)),
        ..DeleteItem::default()
    };
    shop.models.run(delete).unwrap();
    assert_eq!(shop.order(4), None);
    assert_eq!(shop.lying().len(), 3);
    assert_eq!(shop.former(), 0);

    shop.db().models().finish_migration(None).unwrap();
    assert_eq!(shop.models.get("shop", former_key(1)), None);
    let mut old = order(9);
    for (name, value) in former_key(9).as_object().unwrap() {
        old[name] = value.clone();
    }
    assert!(
        shop.models.put("shop", old).is_err(),
        "the keys are those of nobody"
    );
}

#[test]
fn identifying_attributes_of_the_layout_before_are_understood_too() {
    let wider = super::new_layout()
        .replace("shop/{customer}", "shop/{tenant}/{customer}")
        .replace(
            "customer = \"string\"",
            "customer = \"string\"\ntenant = \"string\"",
        )
        + "\n[entity.order.migrate]\nset = { tenant = \"main\" }\n";
    let shop = Shop::with_orders(2);
    let plan = shop.try_start(&wider, FAST);
    assert!(!plan.is_refused(), "{plan}");
    let found = shop.order(1).unwrap();
    assert_eq!(text(&found, "pk"), "shop/main/ann");
    assert_eq!(text(&found, "tenant"), "main");
    shop.models.put("shop", order(7)).unwrap();
    assert_eq!(text(&shop.order(7).unwrap(), "tenant"), "main");
    shop.sweep();
    shop.db().models().finish_migration(None).unwrap();
    assert!(
        shop.models.put("shop", order(8)).is_err(),
        "nobody says the tenant any more"
    );
}

#[test]
fn double_reads_stop_by_themselves_when_no_row_is_left() {
    let shop = Shop::with_orders(5);
    shop.start(FAST);
    shop.order(1);
    shop.order(77);
    listed(&shop, "shop/ann");
    let during = shop.status().double_reads;
    assert!(during >= 4, "{during}");
    shop.sweep();
    assert_eq!(shop.state(), MigrationState::Verified);
    let verified = shop.status().double_reads;
    for number in [1, 77] {
        shop.order(number);
    }
    listed(&shop, "shop/ann");
    shop.models.rows("shop");
    assert_eq!(shop.status().double_reads, verified);
}

#[test]
fn a_row_in_its_own_place_and_a_table_whose_rows_stay_are_read_once() {
    let with_other = |text: &str| {
        text.to_owned()
            + "[table.notes]\nkey = [\"pk\"]\n[entity.note]\ntable = \"notes\"\nkey = { pk = \"n#{id}\" }\nattributes = { id = \"string\" }\n"
    };
    let shop = Shop::empty();
    shop.models.apply(&with_other(SHOP));
    shop.models.put("shop", order(1)).unwrap();
    shop.models.put("notes", json!({"id": "a"})).unwrap();
    let plan = shop.try_start(&with_other(&super::new_layout()), FAST);
    assert!(!plan.is_refused(), "{plan}");
    shop.models.put("shop", order(2)).unwrap();
    let before = shop.status().double_reads;
    assert!(shop.order(2).is_some());
    for id in ["a", "b"] {
        shop.models.get("notes", json!({"id": id}));
    }
    assert_eq!(shop.models.rows("notes").len(), 1);
    assert_eq!(shop.status().double_reads, before);
    assert!(shop.order(1).is_some());
    assert_eq!(shop.status().double_reads, before + 1);
}

#[test]
fn reading_writes_nothing() {
    let shop = Shop::with_orders(5);
    shop.start(StartOptions { paused: true, ..FAST });
    let before = shop.lying();
    shop.order(1);
    listed(&shop, "shop/ann");
    shop.models.rows("shop");
    let scan = Scan {
        table_name: "shop".to_owned(),
        index_name: Some("by_status".to_owned()),
        ..Scan::default()
    };
    assert_eq!(shop.models.run(scan).unwrap().count, 5);
    assert_eq!(shop.lying(), before);
}

/// Reads and writes an order while rows of another model are filled in.
struct Filling<'s> {
    shop: &'s Shop,
    seen: usize,
}

impl trestle_embedded::Watcher for Filling<'_> {
    fn step(&mut self, _: &trestle_binding::Step) {}

    fn rows(&mut self, doing: &'static str, _: &str, _: u64) {
        if doing == "filling in rows" {
            assert_eq!(self.shop.order(2), Some(own_row(2)));
            self.shop.models.put("shop", order(3)).unwrap();
            self.seen += 1;
        }
    }
}

#[test]
fn another_model_can_be_applied_and_filled_in_meanwhile() {
    let shop = Shop::with_orders(3);
    shop.start(FAST);
    let other = "model = \"other\"\n[table.other]\nkey = [\"pk\"]\n[entity.note]\ntable = \"other\"\nkey = { pk = \"n#{id}\" }\nattributes = { id = \"string\" }\n";
    shop.models.apply(other);
    assert_eq!(
        shop.order(1),
        Some(own_row(1)),
        "the hook still knows where the row lies"
    );
    shop.models.put("other", json!({"id": "a"})).unwrap();
    let more = other.replace(
        "attributes = { id = \"string\" }",
        "attributes = { id = \"string\", colour = { type = \"string\", default = \"red\" } }",
    );
    let mut filling = Filling { shop: &shop, seen: 0 };
    let filled = shop
        .db()
        .models()
        .apply(&more, crate::models::support::FILL, &mut filling);
    let filled = filled.unwrap();
    assert!(filling.seen > 0);
    assert_eq!(shop.lying().len(), 4, "three orders and a note");
    assert!(!filled.is_refused(), "{filled}");
    assert_eq!(shop.order(2), Some(own_row(2)));
    assert_eq!(shop.sweep().state, MigrationState::Verified);
}
