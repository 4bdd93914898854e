//! Counts are the number of rows: whatever clients write to the row that counts, and whether or not it is there.

use crate::database::{Database, line};
use trestle_model::COUNTS_TABLE;

const MODEL: &str = r##"
model = "shop"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "gone"
[entity.customer]
table = "rows"
key = { pk = "customer#{id}", sk = "customer" }
attributes = { id = "string", email = "string", orders = "integer", spent = { type = "integer", default = 100 }, visits = { type = "integer", optional = true }, days = { type = "string-set", optional = true } }
[entity.order]
table = "rows"
key = { pk = "customer#{customer}", sk = "order#{number}" }
attributes = { customer = "string", number = "string", total = { type = "integer", default = 1 } }
[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
with = { id = "customer" }
[entity.order.counter.spent]
entity = "customer"
attribute = "spent"
with = { id = "customer" }
by = "total"
[entity.visit]
table = "rows"
key = { pk = "customer#{customer}", sk = "visit#{day}" }
attributes = { customer = "string", day = "string" }
[entity.visit.counter.visits]
entity = "customer"
attribute = "visits"
with = { id = "customer" }
once_by = ["day"]
seen = "days"
"##;

fn database(orders: &[(&str, i64)]) -> Database {
    let mut database = Database::new(MODEL);
    database.put("rows", "kind=customer id=a email=a@x").unwrap();
    for (number, total) in orders {
        put_order(&mut database, number, *total).unwrap();
    }
    database
}

fn put_order(database: &mut Database, number: &str, total: i64) -> Result<(), String> {
    database.put(
        "rows",
        &format!("kind=order customer=a number={number} total:={total}"),
    )
}

fn customer(database: &Database) -> String {
    let row = database.row("rows", "kind=customer id=a");
    row.map_or(String::new(), |row| line(&row, &["pk", "sk", "kind", "id"]))
}

fn orphans(database: &Database) -> Vec<String> {
    let rows = database.all(COUNTS_TABLE);
    rows.map(|row| line(row, &["parent", "model", "identity"]))
        .collect()
}

#[test]
fn a_put_of_the_row_that_counts_keeps_its_count() {
    let mut database = database(&[("1", 5)]);
    assert_eq!(customer(&database), "email=a@x orders:=1 spent:=105");
    database.put("rows", "kind=customer id=a email=b@x").unwrap();
    assert_eq!(customer(&database), "email=b@x orders:=1 spent:=105");
    database
        .put("rows", "kind=customer id=a email=c@x orders:=1 spent:=105")
        .unwrap();
    assert_eq!(customer(&database), "email=c@x orders:=1 spent:=105");
    database
        .update("rows", "kind=customer id=a", "email=d@x", &["orders", "spent"])
        .unwrap();
    assert_eq!(customer(&database), "email=d@x orders:=1 spent:=105");
}

#[test]
fn another_count_is_refused() {
    let mut database = database(&[("1", 5)]);
    let before = database.rows.clone();
    let refused = database
        .put("rows", "kind=customer id=a email=a@x orders:=0")
        .unwrap_err();
    assert_eq!(
        refused,
        "Entity customer: attribute orders is kept by the counter orders of entity order; it is the number 1, and was \
         given as the number 0; leave it out"
    );
    let refused = database
        .update("rows", "kind=customer id=a", "spent:=1", &[])
        .unwrap_err();
    assert!(
        refused.contains("attribute spent is kept by the counter spent of entity order"),
        "{refused}"
    );
    let refused = database
        .put("rows", "kind=customer id=b email=b@x orders:=3")
        .unwrap_err();
    assert!(
        refused.contains("it is the number 0, and was given as the number 3"),
        "{refused}"
    );
    assert_eq!(database.rows, before);
    database
        .put("rows", "kind=customer id=b email=b@x orders:=0 spent:=100")
        .unwrap();
}

#[test]
fn events_that_were_seen_stay_seen() {
    let mut database = database(&[]);
    database.put("rows", "kind=visit customer=a day=mon").unwrap();
    database.put("rows", "kind=customer id=a email=b@x").unwrap();
    assert_eq!(
        customer(&database),
        "days@=mon email=b@x orders:=0 spent:=100 visits:=1"
    );
    let refused = database
        .update("rows", "kind=customer id=a", "days@=tue", &[])
        .unwrap_err();
    assert!(
        refused.contains("attribute days is kept by the counter visits of entity visit"),
        "{refused}"
    );
    let refused = database
        .put("rows", "kind=customer id=b email=b@x days@=tue")
        .unwrap_err();
    assert!(refused.contains("it is empty, and was given as"), "{refused}");
}

#[test]
fn a_row_that_comes_back_counts_what_is_still_there() {
    for expires in [false, true] {
        let mut database = database(&[("1", 5), ("2", 7)]);
        if expires {
            database.expire("rows", "kind=customer id=a");
        } else {
            database.delete("rows", "kind=customer id=a").unwrap();
        }
        assert_eq!(
            orphans(&database),
            [
                "attribute=orders count:=2 entity=customer",
                "attribute=spent count:=12 entity=customer"
            ]
        );
        database.put("rows", "kind=customer id=a email=n@x").unwrap();
        assert_eq!(customer(&database), "email=n@x orders:=2 spent:=112");
        assert_eq!(orphans(&database), Vec::<String>::new());
    }
}

#[test]
fn a_row_that_comes_back_may_say_its_count() {
    let mut database = database(&[("1", 5), ("2", 7)]);
    database.delete("rows", "kind=customer id=a").unwrap();
    let before = database.rows.clone();
    let refused = database
        .put("rows", "kind=customer id=a email=n@x orders:=2 spent:=111")
        .unwrap_err();
    assert_eq!(
        refused,
        "Entity customer: attribute spent is kept by the counter spent of entity order; it is the number 112, and was \
         given as the number 111; leave it out"
    );
    assert_eq!(database.rows, before);
    database
        .put("rows", "kind=customer id=a email=n@x orders:=2 spent:=112")
        .unwrap();
    assert_eq!(customer(&database), "email=n@x orders:=2 spent:=112");
    assert_eq!(orphans(&database), Vec::<String>::new());
}

#[test]
fn rows_that_remain_are_counted_while_their_parent_is_missing() {
    let mut database = database(&[("1", 5), ("2", 7)]);
    database.delete("rows", "kind=customer id=a").unwrap();
    put_order(&mut database, "1", 6).unwrap();
    database.expire("rows", "kind=order customer=a number=2");
    assert_eq!(
        orphans(&database),
        [
            "attribute=orders count:=1 entity=customer",
            "attribute=spent count:=6 entity=customer"
        ]
    );
    database.put("rows", "kind=customer id=a email=n@x").unwrap();
    assert_eq!(customer(&database), "email=n@x orders:=1 spent:=106");
    database.delete("rows", "kind=customer id=a").unwrap();
    database.delete("rows", "kind=order customer=a number=1").unwrap();
    assert!(database.rows.is_empty(), "a count of zero has no row");
}

#[test]
fn a_new_row_without_its_parent_is_refused() {
    let mut database = database(&[("1", 5)]);
    let missing = "Entity order: counter orders needs the row of entity customer with id \"a\", which counts it, and there \
                   is none; write that row first, or in the same transaction";
    database.delete("rows", "kind=customer id=a").unwrap();
    assert_eq!(put_order(&mut database, "2", 1), Err(missing.to_owned()));
    let visit = database.put("rows", "kind=visit customer=a day=mon").unwrap_err();
    assert!(
        visit.starts_with("Entity visit: counter visits needs the row of entity customer"),
        "{visit}"
    );
}
