//! Random operations, each response compared with the oracle's: item writes with conditions, batches,
//! transactions, queries and scans over tables and indexes, index creation and deletion, time to live,
//! streams, dropping tables, and closing and opening the database in between.
//!
//! See `main.rs` for the environment variables that ask for more rounds or repeat a failed one.

mod compare;
mod draw;
mod requests;
mod shapes;

use std::time::Duration;

use trestle_api::{
    BatchGetItem, BatchWriteItem, DeleteGlobalSecondaryIndexAction, DeleteTable, Get,
    GlobalSecondaryIndexUpdate, KeysAndAttributes, StreamViewType, TimeToLiveSpecification, TransactGetItem,
    TransactGetItems, TransactWriteItems, UpdateTable, UpdateTimeToLive,
};
use trestle_engine::Options;
use trestle_item::Item;

use crate::oracle::{Index, Oracle, Refusal, Table, Write};
use crate::support::{self, Fixture, Keys, rounds};
use shapes::SHAPES;

/// Steps of one round.
const STEPS: usize = 250;

#[test]
fn random_work_in_memory_is_answered_as_the_oracle_answers() {
    rounds(6, |rng| Model::new(Fixture::with(options()), rng).run());
}

#[test]
fn random_work_on_disk_is_answered_as_the_oracle_answers() {
    rounds(2, |rng| Model::new(Fixture::on_disk(options()), rng).run());
}

/// Nothing is trimmed within a round, so that a stream has the whole history.
fn options() -> Options {
    Options {
        stream_retention: Duration::from_secs(100 * 365 * 86_400),
        ..Options::default()
    }
}

struct Model<'r> {
    /// `None` only while the database is closed.
    fixture: Option<Fixture>,
    oracle: Oracle,
    rng: &'r mut fastrand::Rng,
}

impl<'r> Model<'r> {
    fn new(fixture: Fixture, rng: &'r mut fastrand::Rng) -> Self {
        let mut model = Self {
            fixture: Some(fixture),
            oracle: Oracle::default(),
            rng,
        };
        for shape in 0..SHAPES.len() {
            model.create_table(shape);
        }
        model
    }

    fn run(mut self) {
        for step in 0..STEPS {
            self.step(step);
            if step % 10 == 0 {
                self.fixture().assert_sound();
            }
        }
        self.fixture().assert_sound();
        for shape in 0..SHAPES.len() {
            self.check_all(shape);
        }
    }

    fn step(&mut self, step: usize) {
        let shape = self.rng.usize(..SHAPES.len());
        match self.rng.u32(..100) {
            0..30 => self.write(shape),
            30..36 => self.batch_write(),
            36..40 => self.batch_get(),
            40..50 => self.transact_write(),
            50..54 => self.transact_get(),
            54..74 => self.query(shape),
            74..82 => self.scan(shape),
            82..86 => self.change_index(shape),
            86..90 => self.pass_time(),
            90..93 => self.change_time_to_live(shape),
            93..96 => self.check_counts(shape),
            96..97 => self.check_stream(shape),
            97..98 => self.recreate_table(shape),
            _ if step.is_multiple_of(3) => self.reopen(),
            _ => self.check_counts(shape),
        }
    }

    fn fixture(&self) -> &Fixture {
        self.fixture.as_ref().unwrap()
    }

    fn create_table(&mut self, shape: usize) {
        let shape = &SHAPES[shape];
        let create = support::table(shape.name, shape.keys, shape.local, shape.global);
        let create = support::with_stream(create, StreamViewType::NewAndOldImages);
        self.fixture().engine.run(create).unwrap();
        let table = Table::new(shape.keys, shape.local, shape.global);
        self.oracle.tables.insert(shape.name.to_owned(), table);
    }

    fn recreate_table(&mut self, shape: usize) {
        self.check_all(shape);
        let delete = DeleteTable {
            table_name: SHAPES[shape].name.to_owned(),
        };
        self.fixture().engine.run(delete).unwrap();
        // A new stream is named by its time.
        self.fixture().clock.advance(Duration::from_millis(1));
        self.create_table(shape);
    }

    fn reopen(&mut self) {
        self.fixture = self.fixture.take().map(Fixture::reopen);
    }

    fn write(&mut self, shape: usize) {
        let write = self.draw_write(shape);
        let answer = requests::run(&self.fixture().engine, &write).map_err(Refusal::from);
        let expected = self.oracle.write(&write);
        assert_eq!(answer, expected, "{write:?}");
    }

    /// Writes of distinct items in any table.
    fn distinct(&mut self, count: usize, mut draw: impl FnMut(&mut Self, usize) -> Write) -> Vec<Write> {
        let mut writes: Vec<Write> = Vec::new();
        for _ in 0..count {
            let shape = self.rng.usize(..SHAPES.len());
            let write = draw(self, shape);
            if !writes
                .iter()
                .any(|other| other.table == write.table && other.key == write.key)
            {
                writes.push(write);
            }
        }
        writes
    }

    fn batch_write(&mut self) {
        let count = self.rng.usize(1..=25);
        let writes = self.distinct(count, Self::draw_unconditional);
        let mut request = BatchWriteItem::default();
        for write in &writes {
            let requests = request.request_items.entry(write.table.clone()).or_default();
            requests.push(requests::in_batch(write));
        }
        let answer = self.fixture().engine.run(request).map_err(Refusal::from);
        let expected = self.oracle.batch(&writes);
        assert_eq!(
            answer.map(|output| output.unprocessed_items.len()),
            expected.map(|()| 0)
        );
    }

    fn batch_get(&mut self) {
        let count = self.rng.usize(1..=40);
        let keys = self.distinct(count, Self::draw_unconditional);
        let mut request = BatchGetItem::default();
        for write in &keys {
            let wanted = request
                .request_items
                .entry(write.table.clone())
                .or_insert_with(KeysAndAttributes::default);
            wanted.keys.push(write.key.clone());
        }
        let answer = self.fixture().engine.run(request.clone()).unwrap();
        assert!(answer.unprocessed_keys.is_empty());
        for (table, wanted) in request.request_items {
            let expected: Vec<Item> = wanted
                .keys
                .iter()
                .filter_map(|key| self.oracle.table(&table).get(key).cloned())
                .collect();
            let found = answer.responses.get(&table).cloned().unwrap_or_default();
            assert_eq!(support::sorted(found), support::sorted(expected));
        }
    }

    fn transact_write(&mut self) {
        let count = self.rng.usize(1..=8);
        let writes = self.distinct(count, Self::draw_in_transaction);
        let request = TransactWriteItems {
            transact_items: writes.iter().map(requests::in_transaction).collect(),
            ..TransactWriteItems::default()
        };
        let answer = self.fixture().engine.run(request).map_err(Refusal::from);
        let expected = self.oracle.transact(&writes);
        assert_eq!(answer.map(|_| ()), expected, "{writes:?}");
    }

    fn transact_get(&mut self) {
        let count = self.rng.usize(1..=20);
        let keys = self.distinct(count, Self::draw_unconditional);
        let get = |write: &Write| TransactGetItem {
            get: Get {
                table_name: write.table.clone(),
                key: write.key.clone(),
                ..Get::default()
            },
        };
        let request = TransactGetItems {
            transact_items: keys.iter().map(get).collect(),
            ..TransactGetItems::default()
        };
        let answer = self.fixture().engine.run(request).unwrap();
        let found: Vec<Option<Item>> = answer
            .responses
            .into_iter()
            .map(|response| response.item)
            .collect();
        let stored = |write: &Write| self.oracle.table(&write.table).get(&write.key).cloned();
        assert_eq!(found, keys.iter().map(stored).collect::<Vec<_>>());
    }

    /// Adds or removes one of the shape's optional indexes. Writes continue while the index fills.
    fn change_index(&mut self, shape: usize) {
        let shape_number = shape;
        let shape = &SHAPES[shape];
        let (name, keys, projection) = *self.rng.choice(shape.optional).unwrap();
        let table = self.oracle.table_mut(shape.name);
        if let Some(at) = table.indexes.iter().position(|index| index.name == name) {
            table.indexes.remove(at);
            let delete = GlobalSecondaryIndexUpdate {
                delete: Some(DeleteGlobalSecondaryIndexAction {
                    index_name: name.to_owned(),
                }),
                ..GlobalSecondaryIndexUpdate::default()
            };
            let request = UpdateTable {
                table_name: shape.name.to_owned(),
                global_secondary_index_updates: Some(vec![delete]),
                ..UpdateTable::default()
            };
            self.fixture().engine.run(request).unwrap();
            return;
        }
        table.indexes.push(Index {
            name: name.to_owned(),
            local: false,
            keys: Keys::parse(keys),
            projection: projection.to_owned(),
        });
        let request = support::add_index(shape.name, name, keys, projection);
        self.fixture().engine.run(request).unwrap();
        for _ in 0..self.rng.usize(..5) {
            self.write(shape_number);
        }
        self.fixture().until_active(shape.name);
        self.check_indexes(shape_number);
    }

    fn pass_time(&mut self) {
        let seconds = self.rng.u64(1..=40);
        self.fixture().clock.advance(Duration::from_secs(seconds));
        self.expire();
    }

    fn change_time_to_live(&mut self, shape: usize) {
        let table = self.oracle.table_mut(SHAPES[shape].name);
        let enabled = table.ttl.is_none();
        table.ttl = enabled.then(|| "ttl".to_owned());
        let request = UpdateTimeToLive {
            table_name: SHAPES[shape].name.to_owned(),
            time_to_live_specification: TimeToLiveSpecification {
                enabled,
                attribute_name: "ttl".to_owned(),
            },
        };
        self.fixture().engine.run(request).unwrap();
        self.expire();
    }

    /// Waits until everything that has expired is gone.
    fn expire(&mut self) {
        let fixture = self.fixture.as_ref().unwrap();
        let now = fixture.now().as_secs();
        for (name, table) in &mut self.oracle.tables {
            for key in table.expire(now) {
                fixture.until("an item to expire", || {
                    support::get(&fixture.engine, name, key.clone()).is_none()
                });
            }
        }
    }
}
