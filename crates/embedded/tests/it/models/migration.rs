//! A new layout of keys on a real engine: its states, reads and writes meanwhile, and restarts.

mod effects;
mod entries;
mod plan;
mod reads;
mod refused;
mod restart;
mod rollback;
mod states;
mod stuck;
mod sweeper;

use crate::models::support::{SHOP, TestDb, on, plain, quiet, text};
use serde_json::{Value, json};
use std::ops::Bound;
use std::sync::Arc;
use trestle_binding::{MigrationPlan, MigrationState, MigrationStatus, Rate};
use trestle_embedded::{Embedded, StartOptions, Unwatched};
use trestle_env::{Timestamp, VirtualClock};
use trestle_item::{Item, codec};
use trestle_store::{Direction, MemoryStore, Space, Store};

const FAST: StartOptions = StartOptions {
    rate: Rate::UNLIMITED,
    finish: false,
    paused: false,
    delete_indexes: false,
};

/// The shop with other keys of its table.
fn new_layout() -> String {
    SHOP.replace("customer#{customer}", "shop/{customer}")
        .replace("order#{number:08}", "o/{number:08}")
}

/// A database that can be stopped at any moment and opened again.
struct Shop {
    store: Arc<MemoryStore>,
    clock: Arc<VirtualClock>,
    models: TestDb,
}

impl Shop {
    fn empty() -> Self {
        let clock = VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000));
        Shop::on(Arc::new(MemoryStore::new()), Arc::new(clock))
    }

    fn on(store: Arc<MemoryStore>, clock: Arc<VirtualClock>) -> Self {
        let models = on(Arc::clone(&store) as _, Arc::clone(&clock) as _, quiet());
        Shop { store, clock, models }
    }

    /// A shop in the former layout, with this many orders of ann.
    fn with_orders(orders: i64) -> Self {
        let shop = Shop::empty();
        shop.models.apply(SHOP);
        for number in 1..=orders {
            shop.models.put("shop", order(number)).unwrap();
        }
        shop
    }

    /// The state after kill -9: nothing was ended in order, and memory is lost.
    fn restarted(self) -> Self {
        let models = self.models.restarted();
        Shop { models, ..self }
    }

    fn db(&self) -> Embedded {
        self.models.db()
    }

    fn try_start(&self, text: &str, options: StartOptions) -> MigrationPlan {
        self.db()
            .models()
            .start_migration(text, options, &mut Unwatched)
            .unwrap()
    }

    fn start(&self, options: StartOptions) {
        let plan = self.try_start(&new_layout(), options);
        assert!(!plan.is_refused(), "{plan}");
    }

    fn status(&self) -> MigrationStatus {
        let migrations = self.db().models().migrations();
        migrations.into_iter().next().unwrap()
    }

    fn state(&self) -> MigrationState {
        self.status().state
    }

    /// Moves this many pages.
    fn pages(&self, pages: usize) -> MigrationStatus {
        let mut left = pages;
        let mut watch = |_: &MigrationStatus| {
            let goes_on = left > 0;
            left = left.saturating_sub(1);
            goes_on
        };
        self.db().models().sweep(Some("shop"), &mut watch).unwrap()
    }

    /// Sweeps until nothing more happens.
    fn sweep(&self) -> MigrationStatus {
        self.db().models().sweep(Some("shop"), &mut |_| true).unwrap()
    }

    /// Sweeps until this state is reached.
    fn sweep_until(&self, state: MigrationState) {
        let mut watch = |status: &MigrationStatus| status.state != state;
        let status = self.db().models().sweep(Some("shop"), &mut watch).unwrap();
        assert_eq!(status.state, state, "{status}");
    }

    /// Every row with the key under which it is stored.
    fn lying(&self) -> Vec<(Vec<u8>, Item)> {
        let snapshot = self.store.snapshot();
        let rows = snapshot.range(
            Space::Items,
            Bound::Unbounded,
            Bound::Unbounded,
            Direction::Forward,
        );
        let decoded = rows.map(|row| {
            let (place, bytes) = row.unwrap();
            (place.to_vec(), codec::decode(&bytes).unwrap())
        });
        decoded.collect()
    }

    /// How many rows are in the former layout.
    fn former(&self) -> usize {
        let lying = self.lying();
        let former = lying
            .iter()
            .filter(|(_, row)| text(row, "pk").starts_with("customer#"));
        former.count()
    }

    fn order(&self, number: i64) -> Option<Item> {
        self.models
            .get("shop", json!({"customer": "ann", "number": number}))
    }
}

fn order(number: i64) -> Value {
    json!({"customer": "ann", "number": number, "placed": "2026-11-15T10:00:00.000Z"})
}

fn former_key(number: i64) -> Value {
    json!({"pk": "customer#ann", "sk": format!("order#{number:08}")})
}

fn own_key(number: i64) -> Value {
    json!({"pk": "shop/ann", "sk": format!("o/{number:08}")})
}

/// The whole order in the new layout.
fn own_row(number: i64) -> Item {
    let mut row = order(number);
    for (name, value) in own_key(number).as_object().unwrap() {
        row[name] = value.clone();
    }
    row["kind"] = json!("order");
    row["status"] = json!("open");
    row["status_key"] = json!("open#ann");
    plain(row)
}
