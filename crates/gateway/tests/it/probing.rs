//! The capabilities of an endpoint are detected, and the probe leaves nothing behind.

use std::sync::Arc;

use trestle_api::{DatabaseExt, ListTables, Wait};
use trestle_env::{SystemClock, Timestamp};
use trestle_gateway::{Capabilities, Gateway, StoredProbe};

use crate::support::endpoint;

#[test]
fn an_engine_can_do_everything_within_the_limits_of_dynamodb() {
    let engine = endpoint(Arc::new(SystemClock::new()));
    let found = Capabilities::probe(&*engine).wait().unwrap();
    let lacking: Vec<_> = found.named().into_iter().filter(|(_, has, _)| !has).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    assert_eq!((found.batch_writes, found.transaction_items), (25, 100));
    assert_eq!(found.write_isolation, None);
    let tables = engine.list_tables(ListTables::default()).wait().unwrap();
    assert!(tables.table_names.is_empty(), "{tables:?}");
}

#[test]
fn what_was_found_out_is_stored_at_the_endpoint_with_its_date() {
    let engine = endpoint(Arc::new(SystemClock::new()));
    assert_eq!(StoredProbe::read(&*engine).wait(), Ok(None));
    let found = Capabilities {
        transactions: true,
        batch_writes: 25,
        ..Capabilities::default()
    };
    for seconds in [1_800_000_000, 1_800_000_001] {
        let stored = StoredProbe::new(found.clone(), Timestamp::from_secs(seconds));
        stored.store(&*engine).wait().unwrap();
        assert_eq!(StoredProbe::read(&*engine).wait(), Ok(Some(stored)));
    }
    let gateway = Gateway::open(engine).unwrap();
    let known = gateway.stored_probe().wait().unwrap().unwrap();
    assert_eq!(known.probed, "2027-01-15T08:00:01.000Z");
}
