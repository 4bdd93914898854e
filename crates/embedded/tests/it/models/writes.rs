//! Which attributes a client may leave to the model once it is applied, and which it may not write.

use crate::models::support::{SHOP, TestDb, empty, plain, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trestle_api::{
    BatchWriteItem, DeleteItem, Error, PutItem, PutRequest, TransactWriteItem, TransactWriteItems,
    WriteRequest,
};

fn shop() -> TestDb {
    let models = empty();
    models.apply(SHOP);
    models
}

fn order(customer: &str, number: i64) -> Value {
    json!({"customer": customer, "number": number, "placed": format!("2026-11-15T10:{number:02}:00.000Z")})
}

fn open_orders(models: &TestDb, customer: &str) -> Vec<String> {
    let rows = models.partition("shop", "by_status", "status_key", &format!("open#{customer}"));
    rows.iter().map(|row| text(row, "sk").to_owned()).collect()
}

fn refusal(answer: Result<(), Error>) -> String {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), trestle_api::ErrorKind::Validation);
    error.message().to_owned()
}

#[test]
fn a_put_without_keys_gets_them() {
    let models = shop();
    models.put("shop", order("ann", 7)).unwrap();
    let row = models
        .get("shop", json!({"pk": "customer#ann", "sk": "order#00000007"}))
        .unwrap();
    assert_eq!(text(&row, "kind"), "order");
    assert_eq!(text(&row, "status"), "open");
    assert_eq!(text(&row, "status_key"), "open#ann");
    assert_eq!(open_orders(&models, "ann"), ["order#00000007"]);
}

#[test]
fn a_row_is_found_changed_and_removed_by_what_identifies_it() {
    let models = shop();
    models.put("shop", order("ann", 1)).unwrap();
    let identity = json!({"customer": "ann", "number": 1});
    assert!(models.get("shop", identity.clone()).is_some());
    models
        .update("shop", identity.clone(), "SET note = :n", json!({":n": "soon"}))
        .unwrap();
    assert_eq!(
        text(&models.get("shop", identity.clone()).unwrap(), "note"),
        "soon"
    );
    let delete = DeleteItem {
        table_name: "shop".to_owned(),
        key: plain(identity.clone()),
        ..DeleteItem::default()
    };
    models.run(delete).unwrap();
    assert!(models.get("shop", identity).is_none());
}

#[test]
fn an_update_moves_the_row_in_the_index() {
    let models = shop();
    for number in [2, 1] {
        models.put("shop", order("ann", number)).unwrap();
    }
    assert_eq!(open_orders(&models, "ann"), ["order#00000001", "order#00000002"]);
    let key = json!({"pk": "customer#ann", "sk": "order#00000001"});
    let by_hand = models.update("shop", key, "SET status_key = :s", json!({":s": "paid#ann"}));
    assert!(refusal(by_hand).contains("status_key"));
    pay(&models, "ann", 1);
    assert_eq!(open_orders(&models, "ann"), ["order#00000002"]);
    assert_eq!(
        models
            .partition("shop", "by_status", "status_key", "paid#ann")
            .len(),
        1
    );
}

fn pay(models: &TestDb, customer: &str, number: i64) {
    let update = trestle_api::UpdateItem {
        table_name: "shop".to_owned(),
        key: plain(json!({"customer": customer, "number": number})),
        update_expression: Some("SET #s = :s".to_owned()),
        expression_attribute_names: Some([("#s".to_owned(), "status".to_owned())].into()),
        expression_attribute_values: Some(plain(json!({":s": "paid"}))),
        ..trestle_api::UpdateItem::default()
    };
    models.run(update).unwrap();
}

#[test]
fn batches_and_transactions_derive_keys_too() {
    let models = shop();
    let puts = (1..=3).map(|number| WriteRequest {
        put_request: Some(PutRequest {
            item: plain(order("ann", number)),
        }),
        ..WriteRequest::default()
    });
    let batch = BatchWriteItem {
        request_items: BTreeMap::from([("shop".to_owned(), puts.collect())]),
        ..BatchWriteItem::default()
    };
    models.run(batch).unwrap();
    let put = |number| TransactWriteItem {
        put: Some(Box::new(trestle_api::Put {
            table_name: "shop".to_owned(),
            item: plain(order("bob", number)),
            ..trestle_api::Put::default()
        })),
        ..TransactWriteItem::default()
    };
    let transaction = TransactWriteItems {
        transact_items: vec![put(1), put(2)],
        ..TransactWriteItems::default()
    };
    models.run(transaction).unwrap();
    assert_eq!(open_orders(&models, "ann").len(), 3);
    assert_eq!(open_orders(&models, "bob").len(), 2);
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let models = shop();
    let with = |name: &str, value: Value| {
        let mut row = order("ann", 1);
        row[name] = value;
        models.put("shop", row)
    };
    assert!(refusal(with("status", json!("lost"))).contains("status"));
    assert!(refusal(with("pk", json!("customer#bob"))).contains("customer#ann"));
    assert!(refusal(with("kind", json!("visitor"))).contains("visitor"));
    assert!(refusal(models.put("shop", json!({"number": 1}))).contains("customer"));
    assert!(models.rows("shop").is_empty());
}

#[test]
fn tables_without_a_model_are_left_alone() {
    let models = shop();
    crate::models::support::create(&models, "other", &["pk"]);
    let item = plain(json!({"pk": "x", "status": "lost"}));
    let put = PutItem {
        table_name: "other".to_owned(),
        item: item.clone(),
        ..PutItem::default()
    };
    models.run(put).unwrap();
    assert_eq!(models.rows("other"), [item]);
}
