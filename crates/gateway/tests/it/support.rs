//! An endpoint in memory, and gateways of it.

use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, ErrorKind, Scan, Wait};
use trestle_binding::{BindError, Outcome};
use trestle_embedded::{ApplyOptions, RepairOptions, Unwatched};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, SystemClock, Timestamp, VirtualClock};
use trestle_gateway::Gateway;
use trestle_item::Item;
use trestle_store::MemoryStore;

/// A model with every effect.
pub(crate) const EVERYTHING: &str = include_str!("../../../embedded/tests/it/models/everything.toml");

/// A clock that does not advance.
pub(crate) fn clock() -> Arc<VirtualClock> {
    Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)))
}

/// An endpoint without models.
pub(crate) fn endpoint(clock: Arc<dyn Clock>) -> Arc<Engine> {
    Arc::new(Engine::load(Arc::new(MemoryStore::new()), clock, Options::default()).unwrap())
}

/// A gateway of it, with the model applied.
pub(crate) fn gateway(endpoint: Arc<dyn Database>, clock: Arc<dyn Clock>) -> Gateway {
    gateway_with(EVERYTHING, endpoint, clock)
}

/// The same with the given model.
pub(crate) fn gateway_with(model: &str, endpoint: Arc<dyn Database>, clock: Arc<dyn Clock>) -> Gateway {
    let gateway = Gateway::with_clock(endpoint, clock).unwrap();
    let applied = gateway
        .models()
        .apply(model, ApplyOptions::default(), &mut Unwatched)
        .unwrap();
    assert!(applied.obstacles.is_empty(), "{applied}");
    gateway
}

/// Asserts that all derived facts agree with their rows.
pub(crate) fn assert_exact(gateway: &Gateway, when: &str) {
    let options = RepairOptions {
        dry_run: true,
        ..RepairOptions::default()
    };
    let report = gateway.models().repair(&options, &mut Unwatched).unwrap();
    assert!(report.is_clean(), "{when}: {report}");
    assert!(
        report.models.iter().all(|model| model.facts.rows > 0),
        "{when}: no rows"
    );
}

/// All rows of a table.
pub(crate) fn rows(database: &dyn Database, table: &str) -> Vec<Item> {
    let (mut rows, mut start) = (Vec::new(), None);
    loop {
        let asked = Scan {
            table_name: table.to_owned(),
            consistent_read: Some(true),
            exclusive_start_key: start,
            ..Scan::default()
        };
        let page = database.scan(asked).wait().unwrap();
        rows.extend(page.items.map(|rows| rows.to_vec()).unwrap_or_default());
        start = page.last_evaluated_key;
        if start.is_none() {
            break;
        }
    }
    rows.sort_by_key(trestle_item::codec::encode);
    rows
}

/// Applies a version with a sum that the first one does not have: existing rows are filled in, new ones are
/// counted at once.
pub(crate) fn apply_next_version(gateway: &Gateway) {
    let text = format!(
        "{EVERYTHING}\n[entity.order.counter.spent]\nentity = \"shop\"\nattribute = \"spent\"\nby = \"price\"\n"
    );
    let text = text.replace(
        "turnover = { type = \"number\", default = 0 }",
        "turnover = { type = \"number\", default = 0 }, spent = { type = \"number\", default = 0 }",
    );
    let options = ApplyOptions {
        fill: true,
        ..ApplyOptions::default()
    };
    let applied = gateway.models().apply(&text, options, &mut Unwatched).unwrap();
    assert_eq!(applied.outcome, Outcome::Applied, "{applied}");
}

/// Three gateways of an endpoint, with the model applied.
pub(crate) fn three_gateways(remote: &Arc<Engine>) -> Vec<Gateway> {
    let database = || Arc::clone(remote) as Arc<dyn Database>;
    let first = gateway(database(), Arc::new(SystemClock::new()));
    let others = (0..2).map(|_| Gateway::open(database()).unwrap());
    std::iter::once(first).chain(others).collect()
}

/// Runs work that only one gateway can do at a time, and repeats it while another one does it.
pub(crate) fn in_turn<T>(mut work: impl FnMut() -> Result<T, BindError>) -> T {
    loop {
        match work() {
            Err(BindError::Database(error)) if error.kind() == ErrorKind::ResourceInUse => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            done => return done.unwrap(),
        }
    }
}
