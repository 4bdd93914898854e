//! Trestle's own tables: programs can read them, and only queues and routes write them.

use crate::support::{World, put, rows};
use serde_json::json;
use trestle_api::{
    BatchExecuteStatement, BatchStatementRequest, CreateTable, Database, DatabaseExt, DeleteTable, ErrorKind,
    ExecuteStatement, ExecuteTransaction, ParameterizedStatement, Put, PutItem, TransactWriteItem,
    TransactWriteItems,
};
use trestle_queue::QueueAttributes;

const TABLE: &str = "_trestle.queues";
const REFUSAL: &str = "The table _trestle.queues belongs to Trestle and cannot be written by clients; it can be read. \
                       Names of your own tables must not begin with _trestle.";

fn row() -> trestle_item::Item {
    crate::support::plain(json!({"pk": "a", "sk": "b"}))
}

fn insert() -> String {
    format!(r#"INSERT INTO "{TABLE}" VALUE {{'pk': 'a', 'sk': 'b'}}"#)
}

#[tokio::test]
async fn no_request_of_a_program_writes_them() {
    let db = World::new().open();
    db.queues()
        .create("mail", &QueueAttributes::default(), &Default::default())
        .await
        .unwrap();
    let put = PutItem {
        table_name: TABLE.to_owned(),
        item: row(),
        ..PutItem::default()
    };
    let refused = [
        db.run(put.clone()).unwrap_err(),
        db.put_item(put.clone()).await.unwrap_err(),
        db.clone().execute(put.into()).await.unwrap_err(),
        db.run(CreateTable {
            table_name: TABLE.to_owned(),
            ..CreateTable::default()
        })
        .unwrap_err(),
        db.run(DeleteTable {
            table_name: TABLE.to_owned(),
        })
        .unwrap_err(),
        db.run(TransactWriteItems {
            transact_items: vec![TransactWriteItem {
                put: Some(Box::new(Put {
                    table_name: TABLE.to_owned(),
                    item: row(),
                    ..Put::default()
                })),
                ..TransactWriteItem::default()
            }],
            ..TransactWriteItems::default()
        })
        .unwrap_err(),
        db.run(ExecuteStatement {
            statement: insert(),
            ..ExecuteStatement::default()
        })
        .unwrap_err(),
        db.run(BatchExecuteStatement {
            statements: vec![BatchStatementRequest {
                statement: insert(),
                ..BatchStatementRequest::default()
            }],
            ..BatchExecuteStatement::default()
        })
        .unwrap_err(),
        db.run(ExecuteTransaction {
            transact_statements: vec![ParameterizedStatement {
                statement: insert(),
                ..ParameterizedStatement::default()
            }],
            ..ExecuteTransaction::default()
        })
        .unwrap_err(),
    ];
    for error in refused {
        assert_eq!((error.kind(), error.message()), (ErrorKind::Validation, REFUSAL));
    }
}

#[tokio::test]
async fn queues_write_theirs_and_programs_read_them() {
    let db = World::new().open();
    db.queues()
        .create("mail", &QueueAttributes::default(), &Default::default())
        .await
        .unwrap();
    let before = rows(&db, TABLE).len();
    db.queues().send("mail", "hello").await.unwrap();
    assert!(rows(&db, TABLE).len() > before);
    let select = format!(r#"SELECT * FROM "{TABLE}""#);
    let read = db
        .run(ExecuteStatement {
            statement: select,
            ..ExecuteStatement::default()
        })
        .unwrap();
    assert!(!read.items.is_empty());
}

#[test]
fn other_tables_are_written_as_ever() {
    let db = World::new().open();
    crate::support::apply(&db, &crate::support::model("one"));
    put(&db, "one", json!({"kind": "team", "team": "_trestle"}));
    assert_eq!(rows(&db, "one").len(), 1);
}

#[tokio::test]
async fn messages_go_with_a_transaction_and_nothing_else_is_written_with_them() {
    let db = World::new().open();
    crate::support::apply(&db, &crate::support::model("one"));
    db.queues()
        .create("mail", &QueueAttributes::default(), &Default::default())
        .await
        .unwrap();
    let part = |table_name: &str, item| TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: table_name.to_owned(),
            item,
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    };
    let team = || part("one", crate::support::plain(json!({"kind": "team", "team": "a"})));
    let enlisted = db.queues().enlist("mail", vec!["hello".into()]).await.unwrap();
    let transaction = |more: Option<TransactWriteItem>| TransactWriteItems {
        transact_items: enlisted
            .writes
            .iter()
            .cloned()
            .chain([team()])
            .chain(more)
            .collect(),
        ..TransactWriteItems::default()
    };
    let refused = db.run(transaction(None)).unwrap_err();
    assert_eq!(
        refused.message(),
        REFUSAL,
        "a client's own handle does not send messages"
    );
    let refused = enlisted
        .transact_write_items(transaction(Some(part(TABLE, row()))))
        .await;
    assert_eq!(refused.unwrap_err().message(), REFUSAL);
    let put = PutItem {
        table_name: "one".to_owned(),
        item: row(),
        ..PutItem::default()
    };
    assert!(
        enlisted.put_item(put).await.is_err(),
        "it is for transactions alone"
    );
    assert!(rows(&db, "one").is_empty());
    enlisted.transact_write_items(transaction(None)).await.unwrap();
    enlisted.committed();
    assert_eq!(db.queues().counts("mail").await.unwrap().visible, 1);
}
