//! What an endpoint can do is found out, and nothing is left of the search.

use std::sync::Arc;

use trestle_api::{DatabaseExt, ListTables, Wait};
use trestle_env::SystemClock;
use trestle_gateway::Capabilities;

use crate::support::endpoint;

#[test]
fn an_engine_can_do_everything_but_large_batches() {
    let engine = endpoint(Arc::new(SystemClock::new()));
    let found = Capabilities::probe(&*engine).wait().unwrap();
    let lacking: Vec<_> = found.named().into_iter().filter(|(_, has, _)| !has).collect();
    assert!(matches!(&lacking[..], [("batches beyond 25", ..)]), "{lacking:?}");
    let tables = engine.list_tables(ListTables::default()).wait().unwrap();
    assert!(tables.table_names.is_empty(), "{tables:?}");
}
