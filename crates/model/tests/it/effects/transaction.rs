//! Several rows in one request: what follows does not depend on the order of the items.

use crate::database::{Database, Write, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[table.rows.index.by_count]
key = ["countKey"]

[entity.customer]
table = "rows"
key = { pk = "customer#{customer}", sk = "customer", countKey = "{orders}" }
attributes = { customer = "string", email = "string", tier = { type = "string", default = "basic" }, orders = { type = "integer", default = 0 } }
[entity.customer.unique.email]
key = { pk = "email#{email}", sk = "email" }

[entity.order]
table = "rows"
key = { pk = "customer#{customer}", sk = "order#{id}" }
attributes = { customer = "string", id = "string", tier = { type = "string", optional = true } }
[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
[entity.order.copy.tier]
from = "customer"
attributes = ["tier"]

[entity.tag]
table = "rows"
key = { pk = "tag#{tag}", sk = "tag" }
attributes = { tag = "string", pages = { type = "integer", default = 0 } }
[entity.page]
table = "rows"
key = { pk = "page#{page}", sk = "page" }
attributes = { page = "string", tag = "string" }
[entity.page.counter.pages]
entity = "tag"
attribute = "pages"

[entity.version]
table = "rows"
key = { pk = "doc#{doc}", sk = "v#{number:02}" }
attributes = { doc = "string", number = "integer", state = { type = "string", optional = true }, note = { type = "string", optional = true } }
[entity.version.head]
key.sk = "head"
newest_by = "number"
previous = { before = "number" }
promote = { set = { state = "latest" } }
demote = { set = { state = "old" }, expire_after = "1h" }
"##;

const CUSTOMER: Write<'_> = Write::Put("rows", "kind=customer customer=c email=e tier=gold");
const ORDER: Write<'_> = Write::Put("rows", "kind=order customer=c id=1");

/// The same database after the writes in either order.
fn both_orders(database: &Database, writes: &[Write<'_>]) -> Result<Database, String> {
    let mut reversed = writes.to_vec();
    reversed.reverse();
    let after = |writes: &[Write<'_>]| {
        let mut database = database.clone();
        database.transact(writes).map(|()| database)
    };
    let (one, other) = (after(writes), after(&reversed));
    assert_eq!(one, other);
    one
}

fn shown(database: &Database, key: &str) -> Option<String> {
    let row = database.row("rows", key)?;
    Some(line(&row, &["pk", "sk", "kind", "countKey"]))
}

#[test]
fn a_row_that_counts_finds_its_parent_in_the_same_request() {
    let database = both_orders(&Database::new(MODEL), &[ORDER, CUSTOMER]).unwrap();
    assert_eq!(
        shown(&database, "kind=customer customer=c").unwrap(),
        "customer=c email=e orders:=1 tier=gold"
    );
    assert_eq!(
        shown(&database, "kind=order customer=c id=1").unwrap(),
        "customer=c id=1 tier=gold"
    );
}

#[test]
fn what_is_copied_is_the_whole_original_with_its_defaults() {
    let customer = Write::Put("rows", "kind=customer customer=c email=e");
    let database = both_orders(&Database::new(MODEL), &[ORDER, customer]).unwrap();
    assert_eq!(
        shown(&database, "kind=order customer=c id=1").unwrap(),
        "customer=c id=1 tier=basic"
    );
}

#[test]
fn an_index_key_made_of_a_counter_follows_it() {
    let mut database = Database::new(MODEL);
    database.transact(&[CUSTOMER]).unwrap();
    let update = Write::Update("rows", "kind=customer customer=c", "tier=silver");
    let database = both_orders(&database, &[ORDER, update]).unwrap();
    let row = database.row("rows", "kind=customer customer=c").unwrap();
    assert_eq!(
        line(&row, &["pk", "sk", "kind"]),
        "countKey=1 customer=c email=e orders:=1 tier=silver"
    );
}

#[test]
fn a_parent_that_goes_is_missing_for_a_row_that_comes() {
    let mut database = Database::new(MODEL);
    database.transact(&[CUSTOMER]).unwrap();
    let gone = Write::Delete("rows", "kind=customer customer=c");
    let refusal = both_orders(&database, &[gone, ORDER]).unwrap_err();
    assert!(refusal.contains("needs the row of entity customer"), "{refusal}");
    assert_eq!(database.blamed(&[gone, ORDER]).0, 1);
    assert_eq!(database.blamed(&[ORDER, gone]).0, 0);
}

#[test]
fn a_parent_that_needs_nothing_is_made_again() {
    let mut database = Database::new(MODEL);
    let page = |name| format!("kind=page page={name} tag=t");
    database.put("rows", &page("a")).unwrap();
    let gone = Write::Delete("rows", "tag=t");
    let come = page("b");
    let database = both_orders(&database, &[gone, Write::Put("rows", &come)]).unwrap();
    assert_eq!(
        shown(&database, "tag=t").unwrap(),
        "pages:=2 tag=t",
        "both pages are there"
    );
}

#[test]
fn a_unique_value_is_handed_from_one_row_to_another() {
    let mut database = Database::new(MODEL);
    database.put("rows", "kind=customer customer=a email=e").unwrap();
    database.put("rows", "kind=customer customer=b email=f").unwrap();
    let owner = |database: &Database, email: &str| {
        let row = database.row("rows", &format!("pk=email#{email} sk=email"))?;
        Some(row.get("customer")?.as_s()?.to_owned())
    };
    let set = |customer, email| Write::Update("rows", customer, email);
    let (a, b) = ("kind=customer customer=a", "kind=customer customer=b");
    let swapped = both_orders(&database, &[set(a, "email=f"), set(b, "email=e")]).unwrap();
    assert_eq!(owner(&swapped, "e").as_deref(), Some("b"));
    assert_eq!(owner(&swapped, "f").as_deref(), Some("a"));
    let moved = both_orders(&database, &[set(a, "email=g"), set(b, "email=e")]).unwrap();
    assert_eq!(owner(&moved, "e").as_deref(), Some("b"));
    assert_eq!(owner(&moved, "g").as_deref(), Some("a"));
    assert_eq!(owner(&moved, "f"), None);
    let inherited = both_orders(&database, &[Write::Delete("rows", a), set(b, "email=e")]).unwrap();
    assert_eq!(owner(&inherited, "e").as_deref(), Some("b"));
    assert_eq!(owner(&inherited, "f"), None);
    // It is still taken if its owner keeps it, and it goes to the first of two rows that are added.
    both_orders(&database, &[set(a, "tier=gold"), set(b, "email=e")]).unwrap_err();
    both_orders(&database, &[set(a, "email=g"), set(b, "email=g")]).unwrap_err();
}

#[test]
fn rows_of_one_group_come_in_the_order_of_their_rank() {
    let version = |number| format!("kind=version doc=d number:={number}");
    let (one, two, three) = (version(1), version(2), version(3));
    let put = |row| Write::Put("rows", row);
    let database = both_orders(&Database::new(MODEL), &[put(&one), put(&three), put(&two)]).unwrap();
    let state = |database: &Database, key: &str| {
        let row = database.row("rows", key)?;
        Some(row.get("state")?.as_s()?.to_owned())
    };
    assert_eq!(
        shown(&database, "pk=doc#d sk=head").unwrap(),
        "before:=2 doc=d number:=3 state=latest"
    );
    assert_eq!(state(&database, &two).as_deref(), Some("old"));
    // The newest row is removed, and another is added.
    let four = version(4);
    let next = both_orders(&database, &[Write::Delete("rows", &three), put(&four)]).unwrap();
    assert_eq!(state(&next, "pk=doc#d sk=head").as_deref(), Some("latest"));
    assert_eq!(state(&next, &four).as_deref(), Some("latest"));
    assert_eq!(state(&next, &two).as_deref(), Some("old"));
    // The newest row is removed together with the one before it.
    let back = both_orders(
        &database,
        &[Write::Delete("rows", &three), Write::Delete("rows", &two)],
    )
    .unwrap();
    assert_eq!(state(&back, &one).as_deref(), Some("latest"));
}

#[test]
fn a_head_that_a_client_points_elsewhere_stays_there() {
    let version = |number| format!("kind=version doc=d number:={number}");
    let (one, two, three) = (version(1), version(2), version(3));
    let mut database = Database::new(MODEL);
    database.put("rows", &one).unwrap();
    database.put("rows", &two).unwrap();
    let head = "pk=doc#d sk=head";
    let pointed = Write::Update("rows", head, "number:=1");
    let after = both_orders(&database, &[Write::Put("rows", &three), pointed]).unwrap();
    assert!(shown(&after, head).unwrap().contains("number:=1"));
    assert!(shown(&after, &one).unwrap().contains("state=latest"));
    assert!(shown(&after, &three).unwrap().contains("state=old"));
    // It may be removed with the last row, not before.
    let all = [
        Write::Delete("rows", &one),
        Write::Delete("rows", &two),
        Write::Delete("rows", head),
    ];
    let after = both_orders(&database, &all).unwrap();
    assert_eq!(after.all("rows").count(), 0);
    both_orders(&database, &all[1..]).unwrap_err();
}

#[test]
fn the_row_to_blame_is_named() {
    let mut database = Database::new(MODEL);
    database.put("rows", "kind=customer customer=a email=e").unwrap();
    let taken = Write::Put("rows", "kind=customer customer=b email=e");
    let fine = Write::Put("rows", "kind=customer customer=c email=f");
    assert_eq!(database.blamed(&[fine, taken]).0, 1);
    assert_eq!(database.blamed(&[taken, fine]).0, 0);
    // A refusal of what follows from a row names that row.
    let orphan = Write::Put("rows", "kind=order customer=x id=1");
    assert_eq!(database.blamed(&[fine, orphan]).0, 1);
    assert_eq!(database.blamed(&[orphan, fine]).0, 0);
}
