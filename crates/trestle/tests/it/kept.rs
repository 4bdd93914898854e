//! What the database keeps in rows that a program reads, changes and writes back.

use crate::models::shop::{Customer, NewCustomer, NewOrder, Order, Shop};
use crate::support::embedded;
use trestle::{Embedded, Item, TouchRows, Touched, Wait};

fn order(number: i64) -> NewOrder {
    NewOrder {
        customer: "a".into(),
        number,
        customer_name: "Ada".into(),
    }
}

fn customer(db: &Shop<Embedded>) -> Customer {
    db.customer("a").wait().unwrap().unwrap()
}

fn first_order(db: &Shop<Embedded>) -> Order {
    db.order("a", 1).wait().unwrap().unwrap()
}

fn shop() -> Shop<Embedded> {
    let db = Shop::apply_to(&embedded()).unwrap();
    let new = NewCustomer {
        id: "a".into(),
        name: "Ada".into(),
        orders: 0,
    };
    db.put(&new).wait().unwrap();
    db.put(&order(1)).wait().unwrap();
    db
}

#[test]
fn a_row_is_written_back_although_its_count_moved_meanwhile() {
    let db = shop();
    let mut read = customer(&db);
    assert_eq!(read.orders, 1);
    db.put(&order(2)).wait().unwrap();
    read.name = "Ada L.".into();
    db.put(&read).wait().unwrap();
    let written = customer(&db);
    assert_eq!((written.orders, written.name.as_str()), (2, "Ada L."));
    assert_eq!(written.since, read.since);
}

#[test]
fn a_row_is_written_back_although_its_copy_moved_meanwhile() {
    let db = shop();
    let read = first_order(&db);
    let mut renamed = customer(&db);
    renamed.name = "Ada L.".into();
    db.put(&renamed).wait().unwrap();
    db.put(&read).wait().unwrap();
    assert_eq!(first_order(&db).customer_name, "Ada L.");
}

#[test]
fn a_row_is_written_back_although_a_reindex_touched_it_meanwhile() {
    let db = shop();
    let mut read = customer(&db);
    assert_eq!(read.reindex_version, None);
    let touched = db.database().touch(TouchRows {
        table: "shop".into(),
        attribute: "reindexVersion".into(),
        version: 7,
        keys: vec![Item::from([("id", "a")])],
        ..TouchRows::default()
    });
    assert_eq!(touched.wait().unwrap(), [Touched::Raised]);
    read.name = "Ada L.".into();
    db.put(&read).wait().unwrap();
    let written = customer(&db);
    assert_eq!(
        (written.reindex_version, written.name.as_str()),
        (Some(7), "Ada L.")
    );
}
