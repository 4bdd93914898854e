//! The cost of a kill: only the page on which each worker worked is sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::Database;
use trestle_env::{Timestamp, VirtualClock};
use trestle_events::{
    Batch, Deliver, Destination, Door, Outcome, Route, RowSender, Target, Typer, read_routes,
};
use trestle_item::Item;
use trestle_model::Model;
use trestle_reindex::{ReindexHost, ReindexSetup, ReindexState, Reindexer, StartReindex, TouchByUpdate};

use crate::leases::Dying;
use crate::support::{TABLE, World};

const ROWS: usize = 400;
const WORKERS: usize = 4;
const PAGE_ROWS: usize = 10;
/// The maximum number of rows that are done and not stored as done when a process is killed.
const PAGES_LOST_MAX: usize = WORKERS * PAGE_ROWS;

/// A destination that counts how often it got each row.
#[derive(Default)]
struct Counting(Mutex<BTreeMap<String, usize>>);

impl Counting {
    fn rows(&self) -> BTreeSet<String> {
        self.0.lock().keys().cloned().collect()
    }

    /// The number of deliveries after the first one, over all rows.
    fn repeats(&self) -> usize {
        self.0.lock().values().map(|times| times - 1).sum()
    }
}

impl Target for Counting {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        let mut got = self.0.lock();
        for delivery in &batch.deliveries {
            let pk = delivery.change.keys.get("pk").unwrap().as_s().unwrap();
            *got.entry(pk.to_owned()).or_default() += 1;
        }
        Box::pin(std::future::ready(Outcome::Done))
    }
}

struct ToCounting {
    target: Arc<Counting>,
    own: Arc<dyn Database>,
}

struct Untyped;

impl Typer for Untyped {
    fn entity(&self, _table: &str, _item: &Item) -> Option<Arc<str>> {
        None
    }
}

impl ReindexHost for ToCounting {
    fn touches_unheard(&self, _table: &str) -> Option<String> {
        None
    }

    fn sender(&self, _route: &str) -> Result<RowSender, String> {
        let text = format!("[route.index]\ntable = \"{TABLE}\"\ntarget = {{ handler = \"index\" }}\n");
        let routes = read_routes(&text, &[], &|_: &Destination| Vec::new()).routes;
        let target = Arc::clone(&self.target);
        let open = move |_: &Route| Ok(Door::Target(target.clone() as _));
        RowSender::open(&routes[0], &open, Arc::new(Untyped), Arc::clone(&self.own))
    }

    fn model(&self, _table: &str) -> Option<(Arc<Model>, String)> {
        None
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        None
    }
}

/// A process that sends rows. The rows and its state are in this database.
fn process(world: &World, database: Arc<dyn Database>, target: &Arc<Counting>) -> Reindexer {
    let host = ToCounting {
        target: Arc::clone(target),
        own: Arc::new(world.engine.clone()),
    };
    let touch = Arc::new(TouchByUpdate::new(Arc::clone(&database)));
    let setup = world.setup(Arc::clone(&database), touch, Arc::new(host));
    Reindexer::new(ReindexSetup {
        state: database,
        ..setup
    })
}

#[tokio::test]
async fn a_kill_costs_at_most_the_page_that_each_worker_was_at() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let world = World::with_clock(clock.clone());
    world.fill(ROWS);
    let target = Arc::new(Counting::default());
    let alive = process(&world, Arc::new(world.engine.clone()), &target);
    let start = StartReindex {
        name: Some("one".to_owned()),
        page_rows: PAGE_ROWS as u32,
        workers: WORKERS as u32,
        ..StartReindex::send(TABLE, "index")
    };
    alive.start(start).await.unwrap();
    let (mut kills, mut lost) = (0, 0);
    // Killed after different numbers of requests, so that each kind of step is the last one of some run.
    for answers in (40..).step_by(5) {
        let (before, repeats) = (target.rows(), target.repeats());
        let stored = alive.status("one").await.unwrap().counts.done as usize;
        assert!(
            before.len() - stored <= PAGES_LOST_MAX,
            "{} of {stored}",
            before.len()
        );
        let dying = Arc::new(Dying::new(world.engine.clone(), answers));
        let killed = process(&world, dying.clone(), &target);
        let ended = dying.until_dead(killed.work("one")).await;
        // Only rows that were sent and not stored as sent are sent again.
        assert!(
            target.repeats() - repeats <= before.len() - stored,
            "kill {kills}: {} rows were sent again, of {} that were not stored",
            target.repeats() - repeats,
            before.len() - stored
        );
        if let Some(ended) = ended {
            assert_eq!(ended.unwrap().state, ReindexState::Done);
            break;
        }
        kills += 1;
        lost += PAGES_LOST_MAX;
        clock.advance(Duration::from_secs(31));
    }
    assert!(kills >= 4, "{kills} kills");
    assert_eq!(target.rows().len(), ROWS);
    let repeats = target.repeats();
    assert!(
        repeats > 0 && repeats <= lost,
        "{repeats} rows after {kills} kills"
    );
    let status = alive.status("one").await.unwrap();
    assert_eq!(
        (status.counts.read, status.counts.done),
        (ROWS as u64, ROWS as u64)
    );
}
