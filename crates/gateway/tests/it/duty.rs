//! Tasks that one of several gateways does for all of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trestle_api::{
    BatchWriteItem, Database, DatabaseExt, Error, ErrorKind, GetItem, PutRequest, Wait, WriteRequest,
};
use trestle_env::SystemClock;
use trestle_gateway::{Duty, DutyHolder, Fence, Gateway};
use trestle_item::{AttributeValue, Item};

use crate::support::endpoint;

const OWN: &str = "_trestle.routes";
const THERE: &str = "_trestle.gateway_routes";

fn open(remote: &Arc<dyn Database>) -> Gateway {
    Gateway::open(Arc::clone(remote)).unwrap()
}

fn epoch_of(duty: &Duty) -> Option<u64> {
    match duty.look().wait().unwrap() {
        DutyHolder::This { epoch, .. } => Some(epoch),
        DutyHolder::Other => None,
    }
}

/// Makes the table through the fence, as a router does.
fn make_table(fence: &Fence) {
    use trestle_api::{AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType};
    let create = CreateTable {
        table_name: OWN.to_owned(),
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".to_owned(),
            key_type: KeyType::Hash,
        }],
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: "pk".to_owned(),
            attribute_type: trestle_item::ScalarType::S,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    };
    fence.create_table(create).wait().unwrap();
}

fn write(fence: &Fence, rows: &[(&str, &str)]) -> Result<(), Error> {
    let put = |(key, value): &(&str, &str)| WriteRequest {
        put_request: Some(PutRequest {
            item: Item::from([("pk", *key), ("value", *value)]),
        }),
        ..WriteRequest::default()
    };
    let batch = BatchWriteItem {
        request_items: [(OWN.to_owned(), rows.iter().map(put).collect())].into(),
        ..BatchWriteItem::default()
    };
    let written = fence.batch_write_item(batch).wait()?;
    assert!(written.unprocessed_items.is_empty());
    Ok(())
}

fn value(database: &dyn Database, table: &str, key: &str) -> Option<String> {
    let get = GetItem {
        table_name: table.to_owned(),
        key: Item::from([("pk", key)]),
        ..GetItem::default()
    };
    let row = database.get_item(get).wait().unwrap().item?;
    row.get("value").and_then(AttributeValue::as_s).map(str::to_owned)
}

#[test]
fn one_gateway_has_the_duty_until_it_gives_it_up_or_leaves() {
    let remote: Arc<dyn Database> = endpoint(Arc::new(SystemClock::new()));
    let (first, second) = (open(&remote), open(&remote));
    let (duty, other) = (first.duty(), second.duty());
    assert_eq!(epoch_of(&duty), Some(1));
    assert_eq!((epoch_of(&other), epoch_of(&duty)), (None, Some(1)));
    // Requested and given.
    other.ask_for().wait().unwrap();
    let DutyHolder::This { wanted_by, .. } = duty.look().wait().unwrap() else {
        panic!("it was taken before it was given");
    };
    assert_eq!(epoch_of(&other), None);
    duty.give_up(1, wanted_by.as_deref()).wait().unwrap();
    assert_eq!((epoch_of(&duty), epoch_of(&other)), (None, Some(2)));
    // Giving up an outdated epoch changes nothing.
    duty.give_up(1, None).wait().unwrap();
    assert_eq!(epoch_of(&other), Some(2));
    // One that ends gives it up, and is replaced at once.
    drop((other, second));
    let ended = Instant::now();
    while epoch_of(&duty).is_none() {
        assert!(ended.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_gateway_that_is_not_the_holder_any_more_writes_nothing() {
    let remote: Arc<dyn Database> = endpoint(Arc::new(SystemClock::new()));
    let (first, second) = (open(&remote), open(&remote));
    let (duty, other) = (first.duty(), second.duty());
    let epoch = epoch_of(&duty).unwrap();
    let fence = duty.fence(epoch, OWN, THERE);
    make_table(&fence);
    write(&fence, &[("a", "first"), ("b", "first")]).unwrap();
    assert_eq!(value(&*remote, THERE, "a").as_deref(), Some("first"));
    assert_eq!(value(&fence, OWN, "a").as_deref(), Some("first"));
    assert!(!fence.is_lost());

    other.ask_for().wait().unwrap();
    duty.give_up(epoch, Some(&holder_of(&duty))).wait().unwrap();
    let theirs = other.fence(epoch_of(&other).unwrap(), OWN, THERE);
    write(&theirs, &[("a", "second")]).unwrap();
    // The first was suspended for a while, and continues with its next write.
    let refused = write(&fence, &[("a", "late"), ("b", "late")]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TransactionCanceled);
    assert!(fence.is_lost() && !theirs.is_lost());
    assert_eq!(value(&*remote, THERE, "a").as_deref(), Some("second"));
    assert_eq!(value(&*remote, THERE, "b").as_deref(), Some("first"));
    // A gateway without the duty reads.
    let open_side = duty.open_side(OWN, THERE);
    assert_eq!(value(&open_side, OWN, "a").as_deref(), Some("second"));
    assert!(write(&open_side, &[("a", "by hand")]).is_err());
}

/// The gateway that requests the duty.
fn holder_of(duty: &Duty) -> String {
    match duty.look().wait().unwrap() {
        DutyHolder::This {
            wanted_by: Some(by), ..
        } => by,
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_rows_are_written_in_transactions_that_the_endpoint_takes() {
    let remote: Arc<dyn Database> = endpoint(Arc::new(SystemClock::new()));
    let gateway = open(&remote);
    let duty = gateway.duty();
    let fence = duty.fence(epoch_of(&duty).unwrap(), OWN, THERE);
    make_table(&fence);
    // Together more than the 4 MB of a transaction.
    let large = "x".repeat(390_000);
    let keys: Vec<String> = (0..25).map(|number| format!("key {number}")).collect();
    let rows: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), large.as_str())).collect();
    write(&fence, &rows).unwrap();
    assert!(
        keys.iter()
            .all(|key| value(&*remote, THERE, key).as_deref() == Some(&large))
    );
}
