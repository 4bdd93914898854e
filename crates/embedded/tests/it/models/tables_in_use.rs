//! Tables of a model: which of them and which indexes a client can delete, and that nothing of a deleted
//! table remains.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::models::support::{Found, TestDb, empty, expiring, on, plain};
use serde_json::{Value, json};
use trestle_api::{
    CreateTable, DeleteGlobalSecondaryIndexAction, DeleteItem, DeleteTable, DescribeTable, Error, ErrorKind,
    GlobalSecondaryIndexUpdate, ListTables, UpdateTable,
};
use trestle_embedded::{VerifyOptions, verify};
use trestle_env::{Clock, VirtualClock};
use trestle_item::{AttributeValue, Number};
use trestle_model::{COPIES_TABLE, COUNTS_TABLE};
use trestle_store::MemoryStore;

/// Each effect leads from table `users` to table `places`.
const ACROSS: &str = r#"
model = "shop"
[table.users]
key = ["pk"]
entity_attribute = "kind"
[table.users.index.by_place]
key = ["of_place"]
[table.places]
key = ["pk"]
entity_attribute = "kind"
[entity.place]
table = "places"
key = { pk = "place#{place}" }
[entity.place.attributes]
place = "string"
title = { type = "string", optional = true }
members = { type = "string-set", optional = true }
count = { type = "integer", default = 0 }
[entity.user]
table = "users"
key = { pk = "user#{id}", of_place = "{place}" }
[entity.user.attributes]
id = "string"
place = { type = "string", optional = true }
email = { type = "string", optional = true }
version = { type = "integer", optional = true }
placeTitle = { type = "string", optional = true }
"#;

const UNIQUE: &str = r#"
[entity.user.unique.email]
table = "places"
key = { pk = "email#{email}" }
"#;

const COUNTER: &str = r#"
[entity.user.counter.users]
entity = "place"
attribute = "count"
"#;

const INVERSE: &str = r#"
[entity.user.inverse.members]
entity = "place"
of = "place"
set = "members"
"#;

const HEAD: &str = r#"
[entity.version]
table = "users"
key = { pk = "version#{document}#{number}" }
attributes = { document = "string", number = "integer" }
[entity.version.head]
table = "places"
key = { pk = "newest#{document}" }
newest_by = "number"
"#;

const COPY: &str = r#"
[entity.user.copy.title]
from = "place"
attributes = { title = "placeTitle" }
"#;

const COPY_IN_STEP: &str = r#"
[entity.user.copy.title]
from = "place"
attributes = { title = "placeTitle" }
in_step = "users_of_place"
[access.users_of_place]
query = "by_place"
where = { place = "{place}" }
returns = "user"
"#;

/// Everything in one table: a count that outlives its row, copies in the background, and a head whose group an index holds.
const ONE_TABLE: &str = r#"
model = "shop"
[table.rows]
key = ["pk"]
entity_attribute = "kind"
[table.rows.index.by_customer]
key = ["of_customer", "pk"]
[table.rows.index.by_document]
key = ["of_document", "pk"]
[table.rows.index.by_note]
key = ["note"]
[entity.customer]
table = "rows"
key = { pk = "customer#{id}" }
attributes = { id = "string", name = "string", orders = { type = "integer", default = 0 } }
[entity.order]
table = "rows"
key = { pk = "order#{number}", of_customer = "{customer}" }
attributes = { number = "string", customer = "string", note = { type = "string", optional = true }, name = { type = "string", optional = true } }
[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
with = { id = "customer" }
[entity.order.copy.name]
from = "customer"
with = { id = "customer" }
attributes = { name = "name" }
in_step = "orders_of_customer"
background = true
[entity.version]
table = "rows"
key = { pk = "version#{document}#{number}", of_document = "{document}" }
attributes = { document = "string", number = "integer" }
[entity.version.head]
key = { pk = "newest#{document}" }
newest_by = "number"
[access.orders_of_customer]
query = "by_customer"
where = { customer = "{id}" }
returns = "order"
"#;

fn clean(db: &TestDb) {
    let mut found = Found::default();
    let verified = verify(&mut db.view(), db.now(), VerifyOptions::default(), &mut found).unwrap();
    assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
}

fn delete_table(db: &TestDb, name: &str) -> Result<(), Error> {
    let delete = DeleteTable {
        table_name: name.to_owned(),
    };
    db.run(delete).map(drop)
}

fn delete_index(db: &TestDb, index: &str) -> Result<(), Error> {
    let update = UpdateTable {
        table_name: "rows".to_owned(),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            delete: Some(DeleteGlobalSecondaryIndexAction {
                index_name: index.to_owned(),
            }),
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTable::default()
    };
    db.run(update).map(drop)
}

/// The message of a refusal because something is in use.
fn in_use(refused: Result<(), Error>) -> String {
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceInUse, "{refused}");
    refused.message().to_owned()
}

fn refusal(table: &str, effect: &str, other: &str) -> String {
    format!(
        "Attempt to change a resource which is still in use: Table {table} cannot be deleted: the {effect} in model shop \
         relates its rows to rows of table {other}. Remove the model first (`trestle model remove shop`), or apply \
         a version of it without this effect."
    )
}

/// A removed customer with two orders: there is an orphan count of its orders, and a copy note about its
/// name.
fn shop_without_its_customer() -> TestDb {
    let db = empty();
    db.apply(ONE_TABLE);
    fill_shop(&db);
    assert_eq!(hidden_rows(&db), (1, 1));
    db
}

fn fill_shop(db: &TestDb) {
    db.put("rows", customer("N")).unwrap();
    for number in ["1", "2"] {
        let order = json!({"kind": "order", "number": number, "customer": "a"});
        db.put("rows", order).unwrap();
    }
    db.put("rows", customer("M")).unwrap();
    delete_item(db, "rows", "customer#a");
}

fn customer(name: &str) -> Value {
    json!({"kind": "customer", "id": "a", "name": name})
}

fn delete_item(db: &TestDb, table: &str, pk: &str) {
    let delete = DeleteItem {
        table_name: table.to_owned(),
        key: plain(json!({ "pk": pk })),
        ..DeleteItem::default()
    };
    db.run(delete).unwrap();
}

/// How many counts and copy notes are stored.
fn hidden_rows(db: &TestDb) -> (usize, usize) {
    (db.rows(COUNTS_TABLE).len(), db.rows(COPIES_TABLE).len())
}

fn orders(db: &TestDb) -> Option<AttributeValue> {
    db.get("rows", json!({"pk": "customer#a"}))?
        .get("orders")
        .cloned()
}

fn zero() -> Option<AttributeValue> {
    Some(AttributeValue::N(Number::from(0_i64)))
}

/// The model without the effect that needs the index of orders.
fn without_finder() -> String {
    ONE_TABLE.replace("in_step = \"orders_of_customer\"\nbackground = true\n", "")
}

/// The request that creates a table like this one, without indexes.
fn like(db: &TestDb, name: &str) -> CreateTable {
    let asked = DescribeTable {
        table_name: name.to_owned(),
    };
    let there = *db.run(asked).unwrap().table;
    CreateTable {
        table_name: name.to_owned(),
        attribute_definitions: there
            .attribute_definitions
            .into_iter()
            .filter(|one| one.attribute_name == "pk")
            .collect(),
        key_schema: there.key_schema,
        billing_mode: Some(trestle_api::BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}

#[test]
fn a_table_with_derived_facts_in_another_is_not_deleted_and_neither_is_the_other() {
    let effects = [
        (UNIQUE, "unique email of entity user"),
        (COUNTER, "counter users of entity user"),
        (INVERSE, "inverse members of entity user"),
        (HEAD, "head of entity version"),
        (COPY_IN_STEP, "copy title of entity user"),
    ];
    for (text, effect) in effects {
        let db = empty();
        db.apply(&format!("{ACROSS}{text}"));
        db.put("places", json!({"kind": "place", "place": "p"})).unwrap();
        let user = json!({"kind": "user", "id": "1", "place": "p", "email": "x"});
        db.put("users", user).unwrap();
        assert_eq!(
            in_use(delete_table(&db, "users")),
            refusal("users", effect, "places")
        );
        assert_eq!(
            in_use(delete_table(&db, "places")),
            refusal("places", effect, "users")
        );
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/users";
        assert_eq!(in_use(delete_table(&db, arn)), refusal("users", effect, "places"));
        assert_eq!(db.rows("users").len(), 1, "nothing is deleted");
        clean(&db);
    }
}

#[test]
fn a_table_is_deleted_once_the_model_has_no_such_effect_or_is_removed() {
    let with = format!("{ACROSS}{UNIQUE}");
    let user = || json!({"kind": "user", "id": "1", "email": "x"});
    let db = empty();
    db.apply(&with);
    db.put("users", user()).unwrap();
    db.apply(ACROSS);
    delete_table(&db, "users").unwrap();
    db.apply(&with);
    assert!(
        db.rows("places").is_empty(),
        "no value is taken by a row that is gone"
    );
    db.put("users", user()).unwrap();
    clean(&db);
    db.db().models().remove("shop").unwrap();
    delete_table(&db, "users").unwrap();
    delete_table(&db, "places").unwrap();
}

#[test]
fn a_dropped_effect_is_cleared_up_although_its_table_was_deleted() {
    let with = format!("{ACROSS}{UNIQUE}");
    let db = empty();
    db.apply(&with);
    db.apply(ACROSS);
    delete_table(&db, "places").unwrap();
    db.apply(&with);
    db.put("users", json!({"kind": "user", "id": "1", "email": "x"}))
        .unwrap();
    clean(&db);
}

#[test]
fn an_original_is_needed_by_its_copies_and_copies_that_are_not_in_step_by_no_original() {
    let db = empty();
    db.apply(&format!("{ACROSS}{COPY}"));
    assert_eq!(
        in_use(delete_table(&db, "places")),
        refusal("places", "copy title of entity user", "users")
    );
    delete_table(&db, "users").unwrap();
}

#[test]
fn a_missing_table_is_not_found_and_not_in_use() {
    let db = empty();
    db.apply(&format!("{ACROSS}{COUNTER}"));
    db.behind_the_models(|_| delete_table(&db, "users").unwrap());
    let missing = delete_table(&db, "users").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::ResourceNotFound);
}

#[test]
fn what_is_kept_about_missing_rows_goes_with_their_table() {
    let db = shop_without_its_customer();
    delete_table(&db, "rows").unwrap();
    assert_eq!(hidden_rows(&db), (0, 0));
    db.apply(ONE_TABLE);
    db.put("rows", customer("N")).unwrap();
    assert_eq!(orders(&db), zero());
    clean(&db);
}

#[test]
fn what_a_crash_leaves_of_a_deleted_table_goes_when_the_database_is_opened() {
    let db = shop_without_its_customer();
    db.behind_the_models(|_| {
        delete_table(&db, "rows").unwrap();
        assert_eq!(hidden_rows(&db), (1, 1));
    });
    assert_eq!(hidden_rows(&db), (0, 0));
    db.apply(ONE_TABLE);
    db.put("rows", customer("N")).unwrap();
    assert_eq!(orders(&db), zero());
    clean(&db);
}

#[test]
fn what_rows_of_another_table_count_stays_although_the_counting_table_is_missing() {
    let (db, model) = (empty(), format!("{ACROSS}{COUNTER}"));
    let place = || json!({"kind": "place", "place": "p"});
    db.apply(&model);
    db.put("places", place()).unwrap();
    let user = json!({"kind": "user", "id": "1", "place": "p"});
    db.put("users", user).unwrap();
    delete_item(&db, "places", "place#p");
    db.behind_the_models(|_| delete_table(&db, "places").unwrap());
    db.apply(&model);
    db.put("places", place()).unwrap();
    clean(&db);
}

#[test]
fn a_client_that_creates_the_table_again_finds_nothing_of_before() {
    let db = empty();
    db.apply(&without_finder());
    let create = like(&db, "rows");
    fill_shop(&db);
    delete_table(&db, "rows").unwrap();
    db.run(create).unwrap();
    db.put("rows", customer("N")).unwrap();
    assert_eq!(orders(&db), zero());
    clean(&db);
}

#[test]
fn no_row_expires_while_its_table_is_being_deleted() {
    let clock = Arc::new(VirtualClock::new());
    let mut options = expiring();
    options.engine.delete_table_delay = Duration::from_secs(60);
    let db = on(Arc::new(MemoryStore::new()), clock.clone(), options);
    let expiring = ONE_TABLE.replace("[table.rows]", "[table.rows]\nttl = \"gone_at\"");
    db.apply(&expiring);
    let mut short = customer("N");
    short["gone_at"] = json!(clock.now().as_secs() + 10);
    db.put("rows", short).unwrap();
    let order = json!({"kind": "order", "number": "1", "customer": "a"});
    db.put("rows", order).unwrap();
    delete_table(&db, "rows").unwrap();
    let begun = Instant::now();
    while table_names(&db).contains(&"rows".to_owned()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "the table goes");
        clock.advance(Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(db.rows(COUNTS_TABLE).is_empty());
    db.apply(&expiring);
    db.put("rows", customer("N")).unwrap();
    assert_eq!(orders(&db), zero());
    clean(&db);
}

fn table_names(db: &TestDb) -> Vec<String> {
    db.run(ListTables::default()).unwrap().table_names
}

#[test]
fn rows_about_other_tables_and_of_other_models_stay() {
    let db = shop_without_its_customer();
    let other = ONE_TABLE.replace("model = \"shop\"", "model = \"other\"\ntable_prefix = \"other-\"");
    db.apply(&other);
    delete_table(&db, "other-rows").unwrap();
    assert_eq!(hidden_rows(&db), (1, 1));
    db.db().models().remove("other").unwrap();
    assert_eq!(hidden_rows(&db), (1, 1));
    db.put("rows", customer("N")).unwrap();
    assert_eq!(orders(&db), Some(AttributeValue::N(Number::from(2_i64))));
}

#[test]
fn the_rows_of_a_removed_model_go_with_it() {
    let db = shop_without_its_customer();
    db.db().models().remove("shop").unwrap();
    assert_eq!(hidden_rows(&db), (0, 0));
    assert!(db.documents().is_empty());
}

#[test]
fn a_removal_that_was_cut_short_is_ended_when_the_database_is_opened() {
    let db = shop_without_its_customer();
    db.behind_the_models(|engine| {
        let documents = engine.documents().unwrap().into_iter();
        let mut documents: Vec<_> = documents.map(|(name, _)| (name, None)).collect();
        documents.push(("removal/shop".to_owned(), Some(Vec::new())));
        engine.store_documents(documents).unwrap();
    });
    assert_eq!(hidden_rows(&db), (0, 0));
    assert!(db.documents().is_empty());
}

#[test]
fn an_index_through_which_an_effect_finds_rows_is_not_deleted() {
    let db = empty();
    db.apply(ONE_TABLE);
    let refusal = |index: &str, effect: &str| {
        format!(
            "Attempt to change a resource which is still in use: Index {index} of table rows cannot be deleted: the {effect} in \
             model shop finds rows through it. Apply a version of the model without this effect first."
        )
    };
    assert_eq!(
        in_use(delete_index(&db, "by_customer")),
        refusal("by_customer", "copy name of entity order")
    );
    assert_eq!(
        in_use(delete_index(&db, "by_document")),
        refusal("by_document", "head of entity version")
    );
    delete_index(&db, "by_note").unwrap();
    let missing = delete_index(&db, "by_note").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::ResourceNotFound);
    db.apply(&without_finder());
    delete_index(&db, "by_customer").unwrap();
    db.put("rows", customer("N")).unwrap();
    db.put("rows", customer("M")).unwrap();
    clean(&db);
}
