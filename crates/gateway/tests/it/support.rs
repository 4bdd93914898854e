//! An endpoint in memory, and gateways before it.

use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, Scan, Wait};
use trestle_embedded::{ApplyOptions, Nobody, RepairOptions};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_gateway::Gateway;
use trestle_item::Item;
use trestle_store::MemoryStore;

/// A model with every effect.
pub(crate) const EVERYTHING: &str = include_str!("../../../embedded/tests/it/models/everything.toml");

/// A clock that stands still.
pub(crate) fn clock() -> Arc<VirtualClock> {
    Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)))
}

/// An endpoint that knows no model.
pub(crate) fn endpoint(clock: Arc<dyn Clock>) -> Arc<Engine> {
    Arc::new(Engine::load(Arc::new(MemoryStore::new()), clock, Options::default()).unwrap())
}

/// A gateway before it, with the model applied.
pub(crate) fn gateway(endpoint: Arc<dyn Database>, clock: Arc<dyn Clock>) -> Gateway {
    let gateway = Gateway::with_clock(endpoint, clock).unwrap();
    let applied = gateway
        .models()
        .apply(EVERYTHING, ApplyOptions::default(), &mut Nobody)
        .unwrap();
    assert!(applied.obstacles.is_empty(), "{applied}");
    gateway
}

/// Asserts that everything that is derived agrees with its rows.
pub(crate) fn assert_exact(gateway: &Gateway, when: &str) {
    let options = RepairOptions {
        dry_run: true,
        ..RepairOptions::default()
    };
    let report = gateway.models().repair(&options, &mut Nobody).unwrap();
    assert!(report.is_clean(), "{when}: {report}");
    assert!(
        report.models.iter().all(|model| model.facts.rows > 0),
        "{when}: no rows"
    );
}

/// All rows of a table.
pub(crate) fn rows(database: &dyn Database, table: &str) -> Vec<Item> {
    let asked = Scan {
        table_name: table.to_owned(),
        consistent_read: Some(true),
        ..Scan::default()
    };
    let page = database.scan(asked).wait().unwrap();
    assert!(page.last_evaluated_key.is_none(), "one page");
    let mut rows = page.items.map(|rows| rows.to_vec()).unwrap_or_default();
    rows.sort_by_key(trestle_item::codec::encode);
    rows
}
