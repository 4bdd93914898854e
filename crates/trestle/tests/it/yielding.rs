//! A reindex beside clients that write: it slows down while they do, the more the longer a write takes, and speeds up once they are gone.

use std::ops::{Bound, Range};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trestle::api::{
    AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, Operation as _, PutItem,
};
use trestle::reindex::{ReindexBudget, ReindexState, StartReindex};
use trestle::{Embedded, Item, MemoryStore, Options, ScalarType, Store, SystemClock};
use trestle_store::{Batch, Bytes, ReadCounts, ReadPurpose, Result, Snapshot, Space, Stats};

const TABLE: &str = "works";
/// The rows that are reindexed. Those of the client have other keys.
const PREFIX: &str = "reindexed-";
/// They fit into a single segment, which one worker reads.
const ROWS: usize = 850;

/// The rows of a step beside clients. A step of up to 32 rows is one commit, and a larger one can be several.
const SMALL: usize = 16;

/// A commit in which the reindex touched rows.
#[derive(Clone, Copy, Debug)]
struct Touched {
    rows: usize,
    at: Instant,
    /// If a client wrote meanwhile: how long the commit took.
    beside: Option<Duration>,
}

/// While so many rows have been touched, the client writes, and a commit takes so long.
type Busy = (Range<usize>, Duration);

/// A store in memory in which a client writes during some commits of a reindex. It notes all of those.
#[derive(Debug, Default)]
struct Watched {
    store: MemoryStore,
    commits: Mutex<Vec<Touched>>,
    client: Mutex<Option<Client>>,
}

#[derive(Debug)]
struct Client {
    asked: Sender<()>,
    has_written: Receiver<()>,
    busy: Vec<Busy>,
}

impl Watched {
    /// Notes a commit. If the client is busy, a write of the client has arrived when this returns.
    fn note(&self, rows: usize) {
        let client = self.client.lock().unwrap();
        let Some(client) = &*client else { return };
        let beside = {
            let mut commits = self.commits.lock().unwrap();
            let before = commits.iter().map(|commit| commit.rows).sum();
            let busy = client.busy.iter().find(|(touched, _)| touched.contains(&before));
            let beside = busy.map(|(_, takes)| *takes);
            let at = Instant::now();
            commits.push(Touched { rows, at, beside });
            beside
        };
        if let Some(takes) = beside {
            client.asked.send(()).unwrap();
            client.has_written.recv().unwrap();
            std::thread::sleep(takes);
        }
    }
}

/// How many of the rows that are reindexed a commit writes.
fn touched(batch: &Batch) -> usize {
    let is_ours = |key: &Bytes| key.windows(PREFIX.len()).any(|part| part == PREFIX.as_bytes());
    let changes = batch.range(Space::Items, Bound::Unbounded, Bound::Unbounded);
    changes.filter(|(key, _)| is_ours(key)).count()
}

impl Store for Watched {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.store.get(space, key)
    }

    fn snapshot(&self) -> Box<dyn Snapshot> {
        self.store.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        let rows = touched(&batch);
        if rows > 0 {
            self.note(rows);
        }
        self.store.commit(batch)
    }

    fn sync(&self) -> Result<()> {
        self.store.sync()
    }

    fn stats(&self) -> Stats {
        self.store.stats()
    }

    fn reads(&self, purpose: ReadPurpose) -> ReadCounts {
        self.store.reads(purpose)
    }
}

fn put(pk: String) -> PutItem {
    PutItem {
        table_name: TABLE.to_owned(),
        item: Item::from([("pk", pk)]),
        ..PutItem::default()
    }
}

fn filled(store: Arc<Watched>) -> Embedded {
    let database = Embedded::on(store, Arc::new(SystemClock::new()), Options::default()).unwrap();
    let create = CreateTable {
        table_name: TABLE.to_owned(),
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".to_owned(),
            key_type: KeyType::Hash,
        }],
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: "pk".to_owned(),
            attribute_type: ScalarType::S,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    };
    database.run(create).unwrap();
    for number in 0..ROWS {
        database.run(put(format!("{PREFIX}{number:05}"))).unwrap();
    }
    database
}

/// A client that writes a row whenever it is asked to, and says when the database has its request. It waits for its answers at the end:
/// the next commit of the reindex, which asks for the next row, may be the one in which a row of the client is written.
fn client(database: Embedded, asked: Receiver<()>, has_written: Sender<()>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut writes = Vec::new();
        for ((), number) in asked.into_iter().zip(0..) {
            writes.push(database.start(put(format!("client-{number}")).into_request()));
            has_written.send(()).unwrap();
        }
        for write in writes {
            write.wait().unwrap();
        }
    })
}

/// The commits in which all rows are reindexed while the client is busy at these times.
async fn commits(yields: bool, busy: Vec<Busy>) -> Vec<Touched> {
    let store = Arc::new(Watched::default());
    let database = filled(Arc::clone(&store));
    let (asked, to_write) = channel();
    let (written, has_written) = channel();
    let client = client(database.clone(), to_write, written);
    *store.client.lock().unwrap() = Some(Client {
        asked,
        has_written,
        busy,
    });
    let reindexer = database.reindexer();
    let start = StartReindex {
        name: Some("one".to_owned()),
        page_rows: 2_000,
        workers: 1,
        force: true,
        budget: ReindexBudget {
            yields,
            ..ReindexBudget::default()
        },
        ..StartReindex::touch(TABLE)
    };
    reindexer.start(start).await.unwrap();
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    drop(store.client.lock().unwrap().take());
    client.join().unwrap();
    let commits = store.commits.lock().unwrap().clone();
    assert_eq!(commits.iter().map(|commit| commit.rows).sum::<usize>(), ROWS);
    commits
}

fn rows(commits: &[Touched]) -> Vec<usize> {
    commits.iter().map(|commit| commit.rows).collect()
}

#[tokio::test]
async fn while_clients_write_a_reindex_slows_down_and_it_speeds_up_when_they_are_gone() {
    let (quick, slow) = (Duration::from_millis(3), Duration::from_millis(15));
    let commits = commits(true, vec![(300..450, quick), (450..600, slow)]).await;
    let first = commits.iter().position(|commit| commit.beside.is_some()).unwrap();
    let last = commits
        .iter()
        .rposition(|commit| commit.beside.is_some())
        .unwrap();
    // Alone, it takes larger and larger steps: small ones would be 18 commits and more.
    assert_eq!(rows(&commits[..2]), [SMALL, 2 * SMALL]);
    assert!(first <= 12, "{:?}", rows(&commits));
    // Beside the client, steps are small when the one is over that was under way, in four commits at most.
    let small = commits[first..].iter().position(|commit| commit.rows == SMALL);
    let small = first + small.unwrap();
    assert!(small - first <= 4, "{:?}", rows(&commits));
    assert!(last - small >= 5, "{:?}", rows(&commits));
    for number in small..=last {
        assert_eq!(commits[number].rows, SMALL, "{:?}", rows(&commits));
        // The rest behind a step is twice as long as the step.
        let pause = commits[number + 1].at - commits[number].at;
        let takes = commits[number].beside.unwrap();
        assert!(pause >= takes * 3, "{pause:?} after a step of {takes:?}");
    }
    // Alone again, steps grow at once.
    assert_eq!(rows(&commits[last + 1..last + 3]), [SMALL, 2 * SMALL]);
    assert!(commits[last + 3..].len() <= 9, "{:?}", rows(&commits));
}

#[tokio::test]
async fn a_reindex_that_is_told_not_to_yield_takes_large_steps_beside_clients() {
    let commits = commits(false, vec![(0..ROWS, Duration::ZERO)]).await;
    assert!(commits.iter().all(|commit| commit.beside.is_some()));
    let (last, full) = commits.split_last().unwrap();
    assert!(
        full.iter().all(|commit| commit.rows > SMALL),
        "{:?}, and {last:?}",
        rows(full)
    );
}
