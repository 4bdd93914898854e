//! Importing: what is written, what is kept, and how an import continues.

use crate::fixture::{Folder, line_of, rows};
use trestle_api::{Database, Error, PutItem, Request, ResponseFuture, UpdateItem, Wait};
use trestle_cassandra::ImportSettings;
use trestle_embedded::Embedded;
use trestle_item::{AttributeValue, Item};

const SCHEMA: &str = include_str!("../data/orders/schema.cql");
const MODEL: &str = include_str!("../data/orders/model.toml");
const PLAIN: &str = include_str!("../data/orders/mapping.toml");

/// The same with write times.
fn with_times() -> String {
    PLAIN.replace("columns =", "write_time = \"written\"\ncolumns =")
}

fn folder(mapping: &str, file: &str) -> Folder {
    Folder::new(
        MODEL,
        &[
            ("schema.cql", SCHEMA),
            ("mapping.toml", mapping),
            ("orders.csv", file),
        ],
    )
}

const ORDERS: &str = "customer,number,note,owner\nann,1,first,o\nann,2,,o\nbob,1,\"a,b\",\n";

fn note(db: &Embedded, pk: &str, sk: &str) -> Option<String> {
    let found = rows(db, "orders");
    let row = found.iter().find(|row| {
        row.get("pk").and_then(AttributeValue::as_s) == Some(pk)
            && row.get("sk").and_then(AttributeValue::as_s) == Some(sk)
    });
    row?.get("note")?.as_s().map(str::to_owned)
}

fn change_note(db: &Embedded, customer: &str, number: i64, note: &str) {
    let mut key = Item::from([("customer", customer), ("kind", "order")]);
    key.insert("number", number);
    let update = UpdateItem {
        table_name: "orders".to_owned(),
        key,
        update_expression: Some("SET note = :note".to_owned()),
        expression_attribute_values: Some(Item::from([(":note", note)])),
        ..UpdateItem::default()
    };
    db.run(update).unwrap();
}

#[test]
fn the_model_makes_the_keys_and_a_second_run_writes_nothing() {
    let folder = folder(PLAIN, ORDERS);
    let db = folder.database();
    let first = folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!((first.imports[0].rows, first.imports[0].inserted), (3, 3));
    let stored = rows(&db, "orders");
    assert_eq!(note(&db, "ann", "order#000001").as_deref(), Some("first"));
    let second = folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!((second.imports[0].inserted, second.imports[0].unchanged), (0, 3));
    // `changed` would have another time.
    assert_eq!(rows(&db, "orders"), stored);
    let verified = &folder.verify(&db)[0];
    assert!(verified.holds());
    assert_eq!(verified.checksum_in_source, verified.checksum_in_database);
}

#[test]
fn without_write_times_a_row_that_differs_is_reported_and_kept_unless_it_may_be_overwritten() {
    let folder = folder(PLAIN, ORDERS);
    let db = folder.database();
    folder.run(&db, ImportSettings::default()).0.unwrap();
    change_note(&db, "ann", 1, "changed here");
    let (totals, heard) = folder.run(&db, ImportSettings::default());
    assert_eq!(totals.unwrap().imports[0].collisions, 1);
    assert_eq!(line_of(&heard.collisions[0].place), 2);
    assert!(heard.collisions[0].reason.contains("--overwrite"));
    assert_eq!(note(&db, "ann", "order#000001").as_deref(), Some("changed here"));
    let verified = &folder.verify(&db)[0];
    assert_eq!((verified.same, verified.different, verified.missing), (2, 1, 0));
    assert_ne!(verified.checksum_in_source, verified.checksum_in_database);
    let overwrite = ImportSettings {
        overwrite: true,
        ..ImportSettings::default()
    };
    let totals = folder.run(&db, overwrite).0.unwrap();
    assert_eq!(
        (totals.imports[0].overwritten, totals.imports[0].unchanged),
        (1, 2)
    );
    assert!(folder.verify(&db)[0].holds());
}

#[test]
fn an_overwritten_row_keeps_attributes_that_the_import_does_not_know() {
    let folder = folder(PLAIN, ORDERS);
    let db = folder.database();
    let mut other = Item::from([("kind", "order"), ("customer", "ann"), ("own", "stays")]);
    other.insert("number", 1_i64);
    let put = PutItem {
        table_name: "orders".to_owned(),
        item: other,
        ..PutItem::default()
    };
    db.run(put).unwrap();
    let overwrite = ImportSettings {
        overwrite: true,
        ..ImportSettings::default()
    };
    assert_eq!(folder.run(&db, overwrite).0.unwrap().imports[0].overwritten, 1);
    let found = rows(&db, "orders");
    let row = found.iter().find(|row| row.contains_key("own")).unwrap();
    assert_eq!(row.get("note").and_then(AttributeValue::as_s), Some("first"));
}

fn timed(time: i64, note: &str) -> String {
    format!("customer,number,note,owner,writetime(note)\nann,1,{note},,{time}\n")
}

#[test]
fn the_later_write_time_wins() {
    let folder = folder(&with_times(), &timed(2_000_000, "second"));
    let db = folder.database();
    folder.run(&db, ImportSettings::default()).0.unwrap();
    folder.write("orders.csv", &timed(1_000_000, "first"));
    let totals = folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!(totals.imports[0].kept_newer, 1);
    assert_eq!(note(&db, "ann", "order#000001").as_deref(), Some("second"));
    assert_eq!(folder.verify(&db)[0].newer, 1);
    folder.write("orders.csv", &timed(3_000_000, "third"));
    let totals = folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!(totals.imports[0].overwritten, 1);
    assert_eq!(note(&db, "ann", "order#000001").as_deref(), Some("third"));
    assert_eq!(
        folder.run(&db, ImportSettings::default()).0.unwrap().imports[0].unchanged,
        1
    );
}

#[test]
fn a_row_that_was_changed_here_is_not_replaced_by_a_later_export() {
    let folder = folder(&with_times(), &timed(1_000_000, "first"));
    let db = folder.database();
    folder.run(&db, ImportSettings::default()).0.unwrap();
    change_note(&db, "ann", 1, "changed here");
    folder.write("orders.csv", &timed(3_000_000, "third"));
    let (totals, heard) = folder.run(&db, ImportSettings::default());
    assert_eq!(totals.unwrap().imports[0].collisions, 1);
    assert!(
        heard.collisions[0].reason.contains("changed here"),
        "{}",
        heard.collisions[0]
    );
    assert_eq!(note(&db, "ann", "order#000001").as_deref(), Some("changed here"));
}

#[test]
fn static_columns_make_an_entity_of_their_own() {
    let mapping = format!(
        "{PLAIN}\n[[import]]\ntable = \"ks.orders\"\nentity = \"customer\"\nfiles = [\"orders.csv\"]\n\
         columns = {{ customer = \"customer\", number = false, note = false, owner = \"owner\" }}"
    );
    // The last partition has no rows, only static columns.
    let folder = folder(
        &mapping,
        "customer,number,note,owner\nann,1,first,o\nann,2,,o\ncid,,,p\n",
    );
    let db = folder.database();
    let totals = folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!(
        (totals.imports[0].inserted, totals.imports[0].without_row),
        (2, 1)
    );
    assert_eq!((totals.imports[1].inserted, totals.imports[1].unchanged), (2, 1));
    assert!(folder.verify(&db).iter().all(trestle_cassandra::Verified::holds));
    assert_eq!(rows(&db, "orders").len(), 4);
}

#[test]
fn a_row_expires_with_its_last_cell() {
    let mapping = PLAIN.replace(
        "columns =",
        "expires = \"expires\"\nexported = \"1970-01-01T00:01:40Z\"\ncolumns =",
    );
    let folder = folder(
        &mapping,
        "customer,number,note,owner,ttl(note)\nann,1,first,,50\nann,2,second,,\nann,3,,,\n",
    );
    let db = folder.database();
    folder.run(&db, ImportSettings::default()).0.unwrap();
    let mut expires: Vec<Option<i64>> = rows(&db, "orders")
        .iter()
        .map(|row| row.get("expires").and_then(|value| value.as_n()?.to_i64()))
        .collect();
    expires.sort_unstable();
    assert_eq!(expires, [None, None, Some(150)]);
}

#[test]
fn rows_that_do_not_fit_can_be_skipped() {
    let folder = folder(
        PLAIN,
        "customer,number,note,owner\nann,1,a,\nann,x,b,\nann,-2,c,\n",
    );
    let db = folder.database();
    let (refused, heard) = folder.run(&db, ImportSettings::default());
    assert!(refused.is_err());
    assert_eq!(heard.misfits.len(), 2);
    assert!(rows(&db, "orders").is_empty());
    let skipping = ImportSettings {
        skip_unfit: true,
        ..ImportSettings::default()
    };
    let (totals, heard) = folder.run(&db, skipping);
    let totals = totals.unwrap();
    assert_eq!((totals.imports[0].inserted, totals.imports[0].unfit), (1, 2));
    assert_eq!(
        heard
            .misfits
            .iter()
            .map(|misfit| line_of(&misfit.place))
            .collect::<Vec<_>>(),
        [3, 4]
    );
}

/// A database that fails after this many puts, like a process that is killed.
struct Ending {
    db: Embedded,
    puts_left: std::sync::atomic::AtomicI64,
}

impl Database for Ending {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let is_row = matches!(&request, Request::PutItem(put) if put.table_name == "orders");
        let left = self
            .puts_left
            .fetch_sub(i64::from(is_row), std::sync::atomic::Ordering::SeqCst);
        if left <= 0 {
            return Box::pin(async { Err(Error::internal("the end")) });
        }
        self.db.execute(request)
    }
}

#[test]
fn an_import_that_ended_goes_on_where_it_was() {
    let mut file = "customer,number,note,owner\n".to_owned();
    for number in 0..60_000 {
        file += &format!("c{},{number},some text,\n", number % 97);
    }
    let folder = folder(PLAIN, &file);
    let db = folder.database();
    let ending = Ending {
        db: db.clone(),
        puts_left: std::sync::atomic::AtomicI64::new(45_500),
    };
    let settings = ImportSettings::default();
    let mut heard = crate::fixture::Heard::default();
    let ended = folder.import(settings).run(&ending, &mut heard).wait();
    assert!(ended.unwrap_err().to_string().contains("the end"));
    let totals = folder.run(&db, settings).0.unwrap();
    assert!(totals.resumed);
    let counts = &totals.imports[0];
    assert_eq!(counts.rows, 60_000);
    assert_eq!(counts.inserted + counts.unchanged, 60_000);
    // At least two states were stored, so that most rows were not read again.
    assert!(counts.unchanged < 30_000, "{counts:?}");
    assert!(folder.verify(&db)[0].holds());
    // It is finished: another run begins again, and finds everything.
    let again = folder.run(&db, settings).0.unwrap();
    assert!(!again.resumed);
    assert_eq!(again.imports[0].unchanged, 60_000);
}

#[test]
fn other_files_are_another_import() {
    let folder = folder(PLAIN, ORDERS);
    let db = folder.database();
    let ending = Ending {
        db: db.clone(),
        puts_left: std::sync::atomic::AtomicI64::new(1),
    };
    let mut heard = crate::fixture::Heard::default();
    let ended = folder
        .import(ImportSettings::default())
        .run(&ending, &mut heard)
        .wait();
    assert!(ended.is_err());
    folder.write("orders.csv", &format!("{ORDERS}cid,1,x,\n"));
    let totals = folder.run(&db, ImportSettings::default()).0.unwrap();
    assert!(!totals.resumed);
    assert_eq!(rows(&db, "orders").len(), 4);
}
