//! Random trees of shards that grow, end and are trimmed while they are read.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::*;

/// A table's streams and what a reader has seen of them.
struct Table {
    streams: Streams,
    /// How many records each shard has.
    sizes: HashMap<Arc<ShardName>, u64>,
    made: u64,
}

/// The shards that a reader with checkpoints has finished: later than it has read them, like deliveries.
#[derive(Default)]
struct Checkpoints {
    finished: RefCell<HashSet<Arc<ShardName>>>,
}

impl ShardProgress for Checkpoints {
    fn is_finished(&self, shard: &ShardName, _: Option<&ShardPosition>) -> bool {
        self.finished.borrow().iter().any(|finished| **finished == *shard)
    }

    fn begin(&self, shard: &Arc<ShardName>) -> ShardPosition {
        match self.is_finished(shard, None) {
            true => ShardPosition::End,
            false => ShardPosition::TrimHorizon,
        }
    }
}

impl Table {
    fn new() -> Self {
        let mut table = Self {
            streams: Streams::of(Vec::new()),
            sizes: HashMap::new(),
            made: 0,
        };
        table.open_stream();
        table
    }

    fn shard(&mut self, stream: &Arc<str>, parent: Option<Arc<ShardName>>) -> Shard {
        self.made += 1;
        let name = Arc::new(ShardName {
            stream: Arc::clone(stream),
            // Names do not show the order, as with DynamoDB.
            shard: format!("shard-{:04}", self.made * 7919 % 10_000).into(),
        });
        self.sizes.insert(Arc::clone(&name), fastrand::u64(0..6));
        Shard {
            name,
            parent,
            is_closed: false,
        }
    }

    fn open_stream(&mut self) {
        self.made += 1;
        let label: Arc<str> = format!("{:06}", self.made).into();
        let shards = (0..fastrand::usize(1..4)).map(|_| self.shard(&label, None));
        let shards = shards.collect::<Vec<_>>();
        self.streams.known_mut().push(Stream::of(label, shards));
    }

    /// Closes a random open shard and gives it one to three children.
    fn split(&mut self) {
        let Some(mut newest) = self.streams.known_mut().pop() else {
            return;
        };
        let open: Vec<_> = (0..newest.shards.len())
            .filter(|at| !newest.shards[*at].is_closed)
            .collect();
        if let Some(at) = fastrand::choice(open).filter(|_| !newest.is_closed) {
            newest.shards[at].is_closed = true;
            let parent = Arc::clone(&newest.shards[at].name);
            for _ in 0..fastrand::usize(1..4) {
                let child = self.shard(&newest.label, Some(Arc::clone(&parent)));
                newest.shards.push(child);
            }
        }
        self.streams.known_mut().push(newest);
    }

    /// Ends the newest stream, and sometimes begins another.
    fn close(&mut self) {
        if let Some(newest) = self.streams.known_mut().last_mut() {
            newest.is_closed = true;
            for shard in &mut newest.shards {
                shard.is_closed = true;
            }
        }
        self.open_stream();
    }

    fn find(&self, name: &ShardName) -> &Shard {
        let stream = self.streams.get(&name.stream).expect("the stream is known");
        let shard = stream.shards.iter().find(|shard| *shard.name == *name);
        shard.expect("the shard is known")
    }

    /// The next position in a shard, a record at a time; `None` at the end of an open shard.
    fn next(&self, (shard, position): &ReadPoint) -> Option<ShardPosition> {
        let read: u64 = match position {
            ShardPosition::TrimHorizon => 0,
            ShardPosition::After(sequence) => sequence.as_str().parse().unwrap(),
            ShardPosition::Latest => self.sizes[shard],
            ShardPosition::End => panic!("an ended shard is not open"),
        };
        if read < self.sizes[shard] {
            let next = (read + 1).to_string();
            return Some(ShardPosition::After(SequenceNumber::new(&next)));
        }
        self.find(shard).is_closed.then_some(ShardPosition::End)
    }
}

/// The order in which a walk reached shards and their ends.
#[derive(Default)]
struct Seen {
    begun: HashSet<Arc<ShardName>>,
    records: HashMap<Arc<ShardName>, u64>,
    ended: HashSet<Arc<ShardName>>,
}

impl Seen {
    /// Notes the open shards, and checks that their parents and all earlier streams have ended.
    fn look(&mut self, table: &Table, walk: &ShardWalk, is_finished: impl Fn(&ShardName) -> bool) {
        for (shard, _) in walk.open() {
            if self.begun.insert(Arc::clone(&shard)) {
                let parent = table.find(&shard).parent.as_ref();
                assert!(parent.is_none_or(|parent| is_finished(parent)), "a parent first");
                let earlier = table.sizes.keys().filter(|other| other.stream < shard.stream);
                for other in earlier {
                    assert!(
                        is_finished(other),
                        "{other:?} is of an earlier stream than {shard:?}"
                    );
                }
            }
        }
    }

    fn moved(&mut self, shard: &Arc<ShardName>, next: &ShardPosition) {
        match next {
            ShardPosition::End => assert!(self.ended.insert(Arc::clone(shard)), "a shard ends once"),
            _ => *self.records.entry(Arc::clone(shard)).or_default() += 1,
        }
    }

    /// Every record was read once.
    fn assert_complete(&self, table: &Table) {
        for (shard, size) in &table.sizes {
            let read = self.records.get(shard).copied().unwrap_or_default();
            assert_eq!(read, *size, "{shard:?}");
        }
    }
}

fn change(table: &mut Table) {
    match fastrand::u8(0..20) {
        0 => table.close(),
        1..4 => table.split(),
        _ => {}
    }
}

#[test]
fn a_reader_without_checkpoints_reads_every_record_once_and_parents_first() {
    for seed in 0..300 {
        fastrand::seed(seed);
        let mut table = Table::new();
        let (mut walk, mut seen) = (ShardWalk::default(), Seen::default());
        for round in 0.. {
            if round < 80 {
                change(&mut table);
            }
            assert!(walk.advance(&table.streams));
            let ended = seen.ended.clone();
            seen.look(&table, &walk, |shard| ended.iter().any(|other| **other == *shard));
            let mut is_idle = true;
            for point in walk.open() {
                if let Some(next) = table.next(&point) {
                    is_idle = false;
                    seen.moved(&point.0, &next);
                    walk.move_to(&point.0, next);
                }
            }
            if is_idle && round >= 80 {
                break;
            }
        }
        seen.assert_complete(&table);
    }
}

#[test]
fn a_reader_with_checkpoints_waits_until_what_comes_before_is_finished() {
    for seed in 0..300 {
        fastrand::seed(seed);
        let mut table = Table::new();
        let checkpoints = Checkpoints::default();
        let (mut walk, mut seen) = (ShardWalk::default(), Seen::default());
        for round in 0.. {
            if round < 80 {
                change(&mut table);
            }
            while let WalkStep::Finished(stream) = walk.step(&table.streams, &checkpoints) {
                for shard in &stream.shards {
                    assert!(
                        checkpoints.is_finished(&shard.name, None),
                        "nothing is left in it"
                    );
                }
                walk.leave(stream);
            }
            seen.look(&table, &walk, |shard| checkpoints.is_finished(shard, None));
            let mut is_idle = true;
            for point in walk.open() {
                if let Some(next) = table.next(&point) {
                    is_idle = false;
                    seen.moved(&point.0, &next);
                    walk.move_to(&point.0, next);
                }
            }
            // Deliveries finish some time after they were read.
            for shard in &seen.ended {
                if fastrand::u8(0..4) == 0 {
                    is_idle &= !checkpoints.finished.borrow_mut().insert(Arc::clone(shard));
                }
            }
            let all_finished = checkpoints.finished.borrow().len() == seen.ended.len();
            if is_idle && all_finished && round >= 80 {
                break;
            }
        }
        seen.assert_complete(&table);
    }
}

#[test]
fn a_reader_of_what_comes_skips_what_is_there_and_misses_nothing_after_it() {
    for seed in 0..300 {
        fastrand::seed(seed);
        let mut table = Table::new();
        for _ in 0..fastrand::usize(0..40) {
            change(&mut table);
        }
        let mut walk = ShardWalk::default();
        walk.begin_latest(&LatestStart::of(&table.streams).unwrap());
        assert!(walk.advance(&table.streams));
        let skipped: HashSet<_> = table.sizes.keys().cloned().collect();
        for (shard, position) in walk.open() {
            assert_eq!(position, ShardPosition::Latest);
            assert!(!table.find(&shard).is_closed);
        }
        let mut seen = Seen::default();
        for round in 0..400 {
            if round < 40 {
                change(&mut table);
            }
            walk.advance(&table.streams);
            for point in walk.open() {
                if let Some(next) = table.next(&point) {
                    seen.moved(&point.0, &next);
                    walk.move_to(&point.0, next);
                }
            }
        }
        for (shard, size) in &table.sizes {
            let expected = if skipped.contains(shard) { 0 } else { *size };
            let read = seen.records.get(shard).copied().unwrap_or_default();
            assert_eq!(read, expected, "{shard:?}");
        }
    }
}

#[test]
fn a_stream_that_is_gone_is_passed_and_a_table_without_streams_has_nothing_to_read() {
    let mut table = Table::new();
    let mut walk = ShardWalk::default();
    assert!(walk.advance(&table.streams));
    let first = walk.stream().cloned();
    table.close();
    table.streams.known_mut().remove(0);
    assert!(walk.advance(&table.streams));
    assert_ne!(walk.stream().cloned(), first);
    assert!(
        walk.open()
            .iter()
            .all(|(shard, _)| Some(&shard.stream) != first.as_ref())
    );
    table.streams.known_mut().clear();
    assert!(!walk.advance(&table.streams));
    assert!(walk.open().is_empty() && walk.stream().is_none());
}
