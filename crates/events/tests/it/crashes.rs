//! Exactly-once delivery through a door that shares the router's transaction, with failures at any point.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::{Database, Error, Put, Request, ResponseFuture, Scan, TransactWriteItem};
use trestle_engine::Engine;
use trestle_events::{
    BackfillState, Backoff, Batch, Door, Enlist, Enlistment, Outcome, Route, StartingPosition,
};
use trestle_item::{AttributeValue, Item, Number};

use crate::support::{World, pk, route, version};

/// Messages as rows of a table, each with its own number: a message that is delivered twice is there twice.
struct Mailbox {
    refuses: Mutex<fastrand::Rng>,
}

impl Enlist for Mailbox {
    fn enlist<'a>(
        &'a self,
        batch: &'a Batch,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Enlistment, Outcome>> + Send + 'a>> {
        let message = |delivery: &trestle_events::Delivery| {
            let id = format!(
                "{:020}-{}",
                trestle_env::ids::random_u64(),
                delivery.change.sequence
            );
            TransactWriteItem {
                put: Some(Box::new(Put {
                    table_name: "mail".into(),
                    item: Item::from([
                        ("pk", AttributeValue::from(id)),
                        ("item", pk(&delivery.change).into()),
                        ("sequence", delivery.change.sequence.as_str().into()),
                        ("id", delivery.id.as_str().into()),
                        ("n", version(&delivery.change).into()),
                    ]),
                    ..Put::default()
                })),
                ..TransactWriteItem::default()
            }
        };
        let enlisted = if self.refuses.lock().u8(..8) == 0 {
            Err(Outcome::Refused("too large".into()))
        } else {
            Ok(Enlistment {
                writes: batch.deliveries.iter().map(message).collect(),
                committed: Box::new(|| {}),
            })
        };
        Box::pin(std::future::ready(enlisted))
    }
}

/// Fails before or after the requested write, at random, so that the caller cannot know whether it was done.
pub(crate) struct Shaky {
    engine: Engine,
    random: Mutex<fastrand::Rng>,
    one_in: u8,
}

impl Shaky {
    /// Fails in one of this many writes.
    pub(crate) fn new(engine: Engine, seed: u64, one_in: u8) -> Self {
        Self {
            engine,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            one_in,
        }
    }
}

impl Database for Shaky {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let is_write = matches!(
            request,
            Request::TransactWriteItems(_) | Request::BatchWriteItem(_)
        );
        let mut random = self.random.lock();
        let fails = is_write && random.u8(..self.one_in) == 0;
        let first = random.bool();
        drop(random);
        Box::pin(async move {
            if fails && first {
                return Err(Error::internal("the power is gone"));
            }
            let answer = self.engine.execute(request).await;
            if fails {
                Err(Error::internal("the line is cut"))
            } else {
                answer
            }
        })
    }
}

fn text(row: &Item, name: &str) -> String {
    row.get(name).unwrap().as_s().unwrap().to_owned()
}

/// Every message in the mailbox.
fn messages(world: &World) -> Vec<Item> {
    let mut rows = Vec::new();
    let mut scan = Scan {
        table_name: "mail".into(),
        ..Scan::default()
    };
    loop {
        let page = world.engine.run(scan.clone()).unwrap();
        rows.extend(page.items.unwrap());
        scan.exclusive_start_key = page.last_evaluated_key;
        if scan.exclusive_start_key.is_none() {
            return rows;
        }
    }
}

/// The versions of each item in the mailbox, in the order of the stream.
fn mail(world: &World) -> HashMap<String, Vec<i64>> {
    let mut rows = messages(world);
    rows.sort_by_key(|row| text(row, "sequence"));
    let mut mail: HashMap<String, Vec<i64>> = HashMap::new();
    for row in rows {
        let n = row
            .get("n")
            .and_then(AttributeValue::as_n)
            .and_then(Number::to_i64)
            .unwrap();
        mail.entry(text(&row, "item")).or_default().push(n);
    }
    mail
}

#[test]
fn a_door_in_the_routers_transaction_gets_each_change_exactly_once() {
    for seed in 1..=8 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        world.table("mail");
        let start = |seed: u64| {
            let database = Shaky::new(world.engine.clone(), seed, 5);
            let mailbox = Mailbox {
                refuses: Mutex::new(fastrand::Rng::with_seed(seed)),
            };
            let doors = [("r".to_owned(), Door::Enlist(Arc::new(mailbox) as Arc<dyn Enlist>))];
            let life = world.life_with(Arc::new(database), doors.into());
            let patient = Route {
                maximum_retry_attempts: 10_000,
                batch_size: 5,
                backoff: Backoff {
                    first: Duration::from_millis(100),
                    longest: Duration::from_secs(1),
                },
                ..route("r")
            };
            while life.block_on(life.router.apply(vec![patient.clone()])).is_err() {}
            life
        };
        let mut life = start(seed);
        let (items, rounds) = (6, 20);
        for round in 1..=rounds {
            for item in 0..items {
                world.put(&format!("item-{item}"), round);
            }
            world.clock.advance(Duration::from_millis(random.u64(..300)));
            if random.u8(..4) == 0 {
                life.kill();
                life = start(seed * 1000 + round as u64);
            }
        }
        life.until_after("everything", Duration::from_millis(100), || {
            let status = life.status("r");
            let arrived: usize = mail(&world).values().map(Vec::len).sum();
            status.parked == 0 && status.waiting == 0 && arrived >= items * rounds as usize
        });
        for (item, versions) in mail(&world) {
            assert_eq!(
                versions,
                (1..=rounds).collect::<Vec<i64>>(),
                "seed {seed}, {item}"
            );
        }
    }
}

#[test]
fn a_door_in_the_routers_transaction_gets_each_row_of_a_backfill_exactly_once() {
    for seed in 1..=4 {
        let world = World::new();
        world.table("mail");
        let count = 300;
        for item in 0..count {
            world.put(&format!("item-{item}"), 1);
        }
        let start = |seed: u64| {
            let mailbox = Mailbox {
                refuses: Mutex::new(fastrand::Rng::with_seed(seed)),
            };
            let doors = [("r".to_owned(), Door::Enlist(Arc::new(mailbox) as Arc<dyn Enlist>))];
            let database = Shaky::new(world.engine.clone(), seed, 5);
            let life = world.life_with(Arc::new(database), doors.into());
            let patient = Route {
                maximum_retry_attempts: 10_000,
                batch_size: 7,
                starting_position: StartingPosition::AllRows,
                backoff: Backoff {
                    first: Duration::from_millis(100),
                    longest: Duration::from_secs(1),
                },
                ..route("r")
            };
            while life.block_on(life.router.apply(vec![patient.clone()])).is_err() {}
            life
        };
        let mut life = start(seed);
        for crash in 1..=4 {
            let enough = messages(&world).len() + 40;
            world.put(&format!("item-{crash}"), 2);
            life.until_after("some rows", Duration::from_millis(100), || {
                messages(&world).len() >= enough || messages(&world).len() >= count
            });
            life.kill();
            life = start(seed * 1000 + crash);
        }
        life.until_after("everything", Duration::from_millis(100), || {
            let status = life.status("r");
            let backfill = status.backfill.as_ref().unwrap();
            backfill.state == BackfillState::Done && status.parked == 0 && status.waiting == 0
        });
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut rows: HashMap<String, u32> = HashMap::new();
        for message in messages(&world) {
            let id = text(&message, "id");
            if id.contains("backfill") {
                *rows.entry(text(&message, "item")).or_default() += 1;
            }
            *seen.entry(id).or_default() += 1;
        }
        assert!(seen.values().all(|times| *times == 1), "seed {seed}: {seen:?}");
        assert_eq!(rows.len(), count, "seed {seed}");
    }
}
