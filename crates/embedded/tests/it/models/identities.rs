//! Identifying attributes, instead of the key, in every operation with a key.

use crate::models::support::{SHOP, TestDb, empty, plain, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trestle_api::{
    BatchGetItem, BatchWriteItem, ConditionCheck, Delete, DeleteRequest, Get, KeysAndAttributes, PutItem,
    TransactGetItem, TransactGetItems, TransactWriteItem, TransactWriteItems, Update, WriteRequest,
};
use trestle_item::Item;

/// Orders 1 to 4 of ann.
fn shop() -> TestDb {
    let models = empty();
    models.apply(SHOP);
    for number in 1..=4 {
        let order = json!({"customer": "ann", "number": number, "placed": "2026-11-15T10:00:00.000Z"});
        models.put("shop", order).unwrap();
    }
    models
}

fn identity(number: i64) -> Item {
    plain(json!({"customer": "ann", "number": number}))
}

fn sort_keys(rows: &[Item]) -> Vec<&str> {
    let mut keys: Vec<&str> = rows.iter().map(|row| text(row, "sk")).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn batches_find_and_remove_rows_by_what_identifies_them() {
    let models = shop();
    let keys = KeysAndAttributes {
        // A key works as well, also in the same batch.
        keys: vec![
            identity(1),
            identity(9),
            plain(json!({"pk": "customer#ann", "sk": "order#00000002"})),
        ],
        ..KeysAndAttributes::default()
    };
    let got = models.run(BatchGetItem {
        request_items: BTreeMap::from([("shop".to_owned(), keys)]),
        ..BatchGetItem::default()
    });
    let got = got.unwrap().responses;
    assert_eq!(sort_keys(&got["shop"]), ["order#00000001", "order#00000002"]);
    let gone = [1, 2].map(|number| WriteRequest {
        delete_request: Some(DeleteRequest {
            key: identity(number),
        }),
        ..WriteRequest::default()
    });
    let batch = BatchWriteItem {
        request_items: BTreeMap::from([("shop".to_owned(), gone.into())]),
        ..BatchWriteItem::default()
    };
    models.run(batch).unwrap();
    assert_eq!(
        sort_keys(&models.rows("shop")),
        ["order#00000003", "order#00000004"]
    );
}

#[test]
fn transactions_check_change_remove_and_read_rows_by_what_identifies_them() {
    let models = shop();
    let table_name = || "shop".to_owned();
    let check = TransactWriteItem {
        condition_check: Some(Box::new(ConditionCheck {
            key: identity(1),
            table_name: table_name(),
            condition_expression: "attribute_exists(placed)".to_owned(),
            ..ConditionCheck::default()
        })),
        ..TransactWriteItem::default()
    };
    let update = TransactWriteItem {
        update: Some(Box::new(Update {
            key: identity(2),
            table_name: table_name(),
            update_expression: "SET #s = :s".to_owned(),
            expression_attribute_names: Some([("#s".to_owned(), "status".to_owned())].into()),
            expression_attribute_values: Some(plain(json!({":s": "paid"}))),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    };
    let delete = TransactWriteItem {
        delete: Some(Box::new(Delete {
            key: identity(3),
            table_name: table_name(),
            ..Delete::default()
        })),
        ..TransactWriteItem::default()
    };
    let transaction = TransactWriteItems {
        transact_items: vec![check, update, delete],
        ..TransactWriteItems::default()
    };
    models.run(transaction).unwrap();
    let get = |number| TransactGetItem {
        get: Get {
            key: identity(number),
            table_name: table_name(),
            ..Get::default()
        },
    };
    let got = models.run(TransactGetItems {
        transact_items: vec![get(1), get(2), get(3)],
        ..TransactGetItems::default()
    });
    let got = got.unwrap().responses;
    let status_keys: Vec<Option<&str>> = got
        .iter()
        .map(|found| found.item.as_ref().map(|row| text(row, "status_key")))
        .collect();
    assert_eq!(status_keys, [Some("open#ann"), Some("paid#ann"), None]);
}

/// Two entities, distinguished by their tag or by the form of their keys.
const LIBRARY: &str = r#"
model = "library"
[table.library]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.book]
table = "library"
key = { pk = "book#{book}", sk = "book" }
attributes = { book = "string", title = "string" }
[entity.loan]
table = "library"
key = { pk = "book#{book}", sk = "loan#{reader}" }
attributes = { book = "string", reader = "string" }
"#;

fn library() -> TestDb {
    let models = empty();
    models.apply(LIBRARY);
    models
}

#[test]
fn the_tag_is_filled_in_by_the_shape_of_the_key() {
    let models = library();
    for (sk, kind) in [("book", "book"), ("loan#ann", "loan")] {
        models
            .put("library", json!({"pk": "book#1", "sk": sk, "title": "t"}))
            .unwrap();
        let row = models.get("library", json!({"pk": "book#1", "sk": sk})).unwrap();
        assert_eq!((text(&row, "kind"), text(&row, "book")), (kind, "1"));
    }
    let loan = models
        .get("library", json!({"book": "1", "reader": "ann"}))
        .unwrap();
    assert_eq!(text(&loan, "reader"), "ann", "the key told who");
}

#[test]
fn a_key_that_does_not_fit_is_refused_with_both() {
    let models = library();
    let refused = |row: Value| models.put("library", row).unwrap_err().message().to_owned();
    let said = refused(json!({"pk": "book#2", "sk": "book", "kind": "book", "book": "1", "title": "t"}));
    assert!(
        said.contains("\"book#2\"") && said.contains("\"book#1\""),
        "{said}"
    );
    let said = refused(json!({"pk": "shelf#1", "sk": "book", "title": "t"}));
    assert!(said.contains("no entity of table library"), "{said}");
    assert!(models.rows("library").is_empty());
}

#[test]
fn two_models_are_each_enforced_in_their_own_tables_without_a_restart() {
    let models = library();
    models
        .put("library", json!({"kind": "book", "book": "1", "title": "t"}))
        .unwrap();
    models.apply(SHOP);
    let order = json!({"customer": "ann", "number": 1, "placed": "2026-11-15T10:00:00.000Z"});
    models.put("shop", order.clone()).unwrap();
    for (table, row) in [("library", order), ("shop", json!({"book": "1", "title": "t"}))] {
        let put = PutItem {
            table_name: table.to_owned(),
            item: plain(row),
            ..PutItem::default()
        };
        models.run(put).unwrap_err();
    }
    assert!(
        models
            .get("library", json!({"kind": "book", "book": "1"}))
            .is_some()
    );
    assert!(
        models
            .get("shop", json!({"customer": "ann", "number": 1}))
            .is_some()
    );
}
