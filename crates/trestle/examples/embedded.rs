//! A program with a database inside: opens a directory and calls operations, without a server or a socket.
//!
//! ```sh
//! cargo run -p trestle --example embedded             # in a directory that is removed afterwards
//! cargo run -p trestle --example embedded -- ./shop   # in one that stays: run it twice and see the orders add up
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::PathBuf;

use trestle::api::{
    AttributeDefinition, BillingMode, CreateTable, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    Projection, ProjectionType, Put, Query, ReturnValue, TransactWriteItem, TransactWriteItems, Update,
    UpdateItem,
};
use trestle::{AttributeValue, Embedded, ErrorKind, Item, Options, ScalarType};

const TABLE: &str = "shop";

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let database = Embedded::open(&directory, Options::default())?;
    create_table(&database)?;
    stock_up(&database)?;
    while let Some(number) = order(&database, "teapot")? {
        println!("order {number}: one teapot");
    }
    println!("no teapot is left");
    for item in open_orders(&database)? {
        println!("to be sent: {}", serde_json::to_string(&item)?);
    }
    // The database closes with its last handle; every acknowledged write is on disk already.
    Ok(())
}

/// One table for everything, and an index over open work.
fn create_table(database: &Embedded) -> Result<(), trestle::Error> {
    let text = |name: &str| AttributeDefinition {
        attribute_name: name.to_owned(),
        attribute_type: ScalarType::S,
    };
    let key = |name: &str, key_type| KeySchemaElement {
        attribute_name: name.to_owned(),
        key_type,
    };
    let created = database.run(CreateTable {
        table_name: TABLE.into(),
        attribute_definitions: vec![text("pk"), text("sk"), text("status")],
        key_schema: vec![key("pk", KeyType::Hash), key("sk", KeyType::Range)],
        global_secondary_indexes: Some(vec![GlobalSecondaryIndex {
            index_name: "by-status".into(),
            key_schema: vec![key("status", KeyType::Hash), key("pk", KeyType::Range)],
            projection: Projection {
                projection_type: Some(ProjectionType::All),
                non_key_attributes: None,
            },
            ..GlobalSecondaryIndex::default()
        }]),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    });
    match created {
        Err(error) if error.kind() == ErrorKind::ResourceInUse => Ok(()), // From an earlier run.
        other => other.map(|_| ()),
    }
}

/// Three more teapots, whether or not there were any.
fn stock_up(database: &Embedded) -> Result<(), trestle::Error> {
    database.run(UpdateItem {
        table_name: TABLE.into(),
        key: product("teapot"),
        update_expression: Some("ADD stock :more SET title = if_not_exists(title, :title)".into()),
        expression_attribute_values: Some(Item::from([
            (":more", AttributeValue::from(3_i64)),
            (":title", AttributeValue::from("Teapot, blue")),
        ])),
        ..UpdateItem::default()
    })?;
    Ok(())
}

/// Takes one from the stock and writes the order, both or neither; `None` when the stock is empty.
fn order(database: &Embedded, name: &str) -> Result<Option<String>, trestle::Error> {
    let number = format!("{:06}", next_number(database)?);
    let take = TransactWriteItem {
        update: Some(Box::new(Update {
            table_name: TABLE.into(),
            key: product(name),
            update_expression: "ADD stock :taken".into(),
            condition_expression: Some("stock > :none".into()),
            expression_attribute_values: Some(Item::from([(":taken", -1_i64), (":none", 0)])),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    };
    let write = TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: TABLE.into(),
            item: Item::from([
                ("pk", format!("order#{number}")),
                ("sk", "order".to_owned()),
                ("product", name.to_owned()),
                ("status", "open".to_owned()),
            ]),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    };
    let done = database.run(TransactWriteItems {
        transact_items: vec![take, write],
        ..TransactWriteItems::default()
    });
    match done {
        Ok(_) => Ok(Some(number)),
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Ok(None),
        Err(error) => Err(error),
    }
}

/// A counter: exact, however many threads ask.
fn next_number(database: &Embedded) -> Result<i64, trestle::Error> {
    let answer = database.run(UpdateItem {
        table_name: TABLE.into(),
        key: Item::from([("pk", "counter#orders"), ("sk", "counter")]),
        update_expression: Some("ADD next_number :one".into()),
        expression_attribute_values: Some(Item::from([(":one", 1_i64)])),
        return_values: Some(ReturnValue::UpdatedNew),
        ..UpdateItem::default()
    })?;
    let number = answer
        .attributes
        .as_ref()
        .and_then(|item| item.get("next_number"));
    let number = number
        .and_then(AttributeValue::as_n)
        .and_then(trestle::Number::to_i64);
    Ok(number.unwrap_or_default())
}

/// All pages of a query on the index.
fn open_orders(database: &Embedded) -> Result<Vec<Item>, trestle::Error> {
    let mut query = Query {
        table_name: TABLE.into(),
        index_name: Some("by-status".into()),
        key_condition_expression: Some("#s = :open".into()),
        expression_attribute_names: Some([("#s".to_owned(), "status".to_owned())].into()),
        expression_attribute_values: Some(Item::from([(":open", "open")])),
        limit: Some(2),
        ..Query::default()
    };
    let mut items = Vec::new();
    loop {
        let page = database.run(query.clone())?;
        items.extend(page.items.unwrap_or_default());
        match page.last_evaluated_key {
            Some(last) => query.exclusive_start_key = Some(last),
            None => return Ok(items),
        }
    }
}

fn product(name: &str) -> Item {
    Item::from([("pk", format!("product#{name}")), ("sk", "product".to_owned())])
}
