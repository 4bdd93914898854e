//! `counter`: each row once, or each event once.

use crate::database::{Database, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.order]
table = "rows"
key = { pk = "order", sk = "{id}" }
attributes = { id = "string", shop = { type = "string", optional = true }, open = { type = "boolean", default = true }, total = { type = "integer", optional = true }, day = { type = "string", optional = true } }
[entity.order.counter.count]
entity = "shop"
attribute = "count"
[entity.order.counter.open]
entity = "shop"
attribute = "open"
where = { open = true }
[entity.order.counter.total]
entity = "shop"
attribute = "total"
by = "total"
[entity.order.counter.stock]
entity = "shop"
attribute = "stock"
by = -2
[entity.order.counter.days]
entity = "shop"
attribute = "days"
once_by = ["day", "open"]
seen = "seen"
by = 10
[entity.shop]
table = "rows"
key = { pk = "shop", sk = "{shop}" }
attributes = { shop = "string", count = { type = "integer", default = 0 }, open = { type = "integer", optional = true }, total = { type = "integer", optional = true }, stock = { type = "integer", optional = true }, days = { type = "integer", optional = true }, seen = { type = "string-set", optional = true } }
"##;

fn shop(database: &Database, name: &str) -> String {
    let row = database.row("rows", &format!("shop={name}"));
    row.map_or(String::new(), |row| line(&row, &["pk", "sk", "kind", "shop"]))
}

fn put(database: &mut Database, order: &str) {
    database.put("rows", &format!("kind=order {order}")).unwrap();
}

#[test]
fn inserting_counts_replacing_does_not_and_removing_takes_away() {
    let mut database = Database::new(MODEL);
    put(&mut database, "id=a shop=s total:=5");
    assert_eq!(shop(&database, "s"), "count:=1 open:=1 stock:=-2 total:=5");
    put(&mut database, "id=a shop=s total:=5");
    assert_eq!(database.followed, 0);
    put(&mut database, "id=b shop=s total:=7 open?=false");
    assert_eq!(shop(&database, "s"), "count:=2 open:=1 stock:=-4 total:=12");
    database.delete("rows", "kind=order id=a").unwrap();
    assert_eq!(shop(&database, "s"), "count:=1 open:=0 stock:=-2 total:=7");
    database.expire("rows", "kind=order id=b");
    assert_eq!(shop(&database, "s"), "count:=0 open:=0 stock:=0 total:=0");
}

#[test]
fn a_row_that_changes_counts_the_difference() {
    let mut database = Database::new(MODEL);
    put(&mut database, "id=a shop=s total:=5");
    let key = "kind=order id=a";
    for (update, remove, expected) in [
        ("total:=8", vec![], "count:=1 open:=1 stock:=-2 total:=8"),
        ("open?=false", vec![], "count:=1 open:=0 stock:=-2 total:=8"),
        ("", vec!["total"], "count:=1 open:=0 stock:=-2 total:=0"),
        (
            "open?=true total:=1",
            vec![],
            "count:=1 open:=1 stock:=-2 total:=1",
        ),
        ("", vec!["shop"], "count:=0 open:=0 stock:=0 total:=0"),
        ("shop=s", vec![], "count:=1 open:=1 stock:=-2 total:=1"),
    ] {
        database.update("rows", key, update, &remove).unwrap();
        assert_eq!(shop(&database, "s"), expected, "{update}");
    }
    database.update("rows", key, "shop=other", &[]).unwrap();
    assert_eq!(shop(&database, "s"), "count:=0 open:=0 stock:=0 total:=0");
    assert_eq!(shop(&database, "other"), "count:=1 open:=1 stock:=-2 total:=1");
}

#[test]
fn an_event_counts_once_and_stays_seen() {
    let mut database = Database::new(MODEL);
    let days = |database: &Database| {
        let all = shop(database, "s");
        let words: Vec<&str> = all
            .split(' ')
            .filter(|word| word.starts_with("days") || word.starts_with("seen"))
            .collect();
        words.join(" ")
    };
    put(&mut database, "id=a shop=s");
    assert_eq!(days(&database), "", "without its identity it is no event");
    put(&mut database, "id=a shop=s day=mon");
    assert_eq!(days(&database), "days:=10 seen@=mon#true");
    put(&mut database, "id=b shop=s day=mon");
    assert_eq!(days(&database), "days:=10 seen@=mon#true");
    put(&mut database, "id=b shop=s day=tue");
    assert_eq!(days(&database), "days:=20 seen@=mon#true,tue#true");
    database.delete("rows", "kind=order id=b").unwrap();
    put(&mut database, "id=b shop=s day=tue");
    assert_eq!(days(&database), "days:=20 seen@=mon#true,tue#true");
    put(&mut database, "id=c shop=s day=tue#true open?=false");
    assert_eq!(
        days(&database),
        "days:=30 seen@=mon#true,tue#true,tue%23true#false"
    );
}

#[test]
fn a_count_that_is_not_there_is_not_taken_from() {
    let mut database = Database::new(MODEL);
    put(&mut database, "id=a shop=s");
    database.delete("rows", "kind=shop shop=s").unwrap();
    database.delete("rows", "kind=order id=a").unwrap();
    assert!(database.rows.is_empty());
}

#[test]
fn a_count_out_of_bounds_is_refused() {
    let mut database = Database::new(MODEL);
    let most = "9".repeat(38);
    put(
        &mut database,
        &format!("id=a shop=s total:={most}{}", "0".repeat(88)),
    );
    let refused = database
        .put(
            "rows",
            &format!("kind=order id=b shop=s total:={most}{}", "0".repeat(88)),
        )
        .unwrap_err();
    assert!(
        refused.contains("Entity shop: attribute total cannot count any further"),
        "{refused}"
    );
}
