//! A partition that is much larger than others is divided, and several workers read it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Barrier;
use trestle_api::{Database, Request, Response, ResponseFuture};
use trestle_engine::Engine;
use trestle_env::{Timestamp, VirtualClock};
use trestle_item::{AttributeValue, Item};
use trestle_reindex::{ReindexScope, ReindexState, StartReindex};

use crate::leases::Dying;
use crate::support::{TABLE, World, to_version};

const LARGE: usize = 400;
const SMALL: usize = 60;

/// Most rows are in one partition.
fn fill(world: &World) {
    for number in 0..LARGE {
        let title = [("title", AttributeValue::from("t"))];
        world.put("large", &format!("{number:05}"), &title);
    }
    world.fill(SMALL);
}

/// Counts how often each row is read, and makes the first two pages of parts of a partition wait for each
/// other.
struct Meeting {
    engine: Engine,
    read: Mutex<BTreeMap<(String, String), usize>>,
    pages: AtomicUsize,
    meeting: Barrier,
}

impl Meeting {
    fn new(engine: Engine) -> Self {
        Self {
            engine,
            read: Mutex::default(),
            pages: AtomicUsize::new(0),
            meeting: Barrier::new(2),
        }
    }

    fn count(&self, rows: &[Item]) {
        let mut read = self.read.lock();
        for row in rows {
            let text = |name: &str| row.get(name).unwrap().as_s().unwrap().to_owned();
            *read.entry((text("pk"), text("sk"))).or_default() += 1;
        }
    }
}

impl Database for Meeting {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            let is_page = match &request {
                // Reading the last row is not a page.
                Request::Query(query) => query.table_name == TABLE && query.limit != Some(1),
                Request::Scan(scan) => scan.table_name == TABLE,
                _ => false,
            };
            if is_page
                && matches!(request, Request::Query(_))
                && self.pages.fetch_add(1, Ordering::SeqCst) < 2
            {
                self.meeting.wait().await;
            }
            let response = self.engine.execute(request).await?;
            if is_page {
                match &response {
                    Response::Query(page) => self.count(&page.items.clone().unwrap_or_default().to_vec()),
                    Response::Scan(page) => self.count(&page.items.clone().unwrap_or_default().to_vec()),
                    other => panic!("{other:?}"),
                }
            }
            Ok(response)
        })
    }
}

#[tokio::test]
async fn two_workers_read_a_large_partition_at_the_same_time_and_each_row_is_read_once() {
    let world = World::new();
    fill(&world);
    let meeting = Arc::new(Meeting::new(world.engine.clone()));
    let reindexer = world.reindexer_over(meeting.clone());
    let asked = StartReindex {
        workers: 2,
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    let before = reindexer.status("one").await.unwrap().work_items;
    // If one worker read it alone, it would wait for the other forever.
    let worked = tokio::time::timeout(Duration::from_secs(60), reindexer.work("one")).await;
    assert_eq!(worked.unwrap().unwrap().state, ReindexState::Done);
    let read = meeting.read.lock().clone();
    assert_eq!(read.len(), LARGE + SMALL);
    let twice: Vec<_> = read.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let status = reindexer.status("one").await.unwrap();
    let rows = LARGE + SMALL;
    assert_eq!((world.at_version(7), status.counts.done), (rows, rows as u64));
    assert!(status.work_items > before + 1, "{status:?}");
    assert!(world.records().values().all(|count| *count == 1));
}

#[tokio::test]
async fn the_rows_of_one_partition_are_cut_as_well_and_gaps_name_each_of_them_once() {
    let world = World::new();
    fill(&world);
    let reindexer = world.reindexer();
    let asked = StartReindex {
        scope: ReindexScope::Ids(vec!["large".to_owned()]),
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
    let status = reindexer.status("one").await.unwrap();
    assert_eq!((world.at_version(7), status.counts.read), (LARGE, LARGE as u64));
    assert!(status.work_items > 1, "{status:?}");
    let mut named = Vec::new();
    let none = trestle_reindex::Against::Ids {
        count: 0,
        read: &|| Ok(Box::new(std::iter::empty())),
    };
    let mut name = |id: &str| {
        named.push(id.to_owned());
        Ok(())
    };
    reindexer.gaps("one", &none, &mut name).await.unwrap();
    named.sort();
    let count = named.len();
    named.dedup();
    assert_eq!((named.len(), count), (LARGE, LARGE));
}

#[tokio::test]
async fn whenever_a_process_is_killed_each_row_is_in_exactly_one_part() {
    for answers in (0..260).step_by(13) {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
        let world = World::with_clock(clock.clone());
        fill(&world);
        let asked = StartReindex {
            workers: 1,
            ..to_version("one", 7)
        };
        world.reindexer().start(asked).await.unwrap();
        let dying = Arc::new(Dying::new(world.engine.clone(), answers));
        let killed = world.reindexer_at(dying);
        let ended = tokio::time::timeout(Duration::from_millis(100), killed.work("one")).await;
        let reindexer = world.reindexer();
        if let Ok(ended) = ended {
            assert_eq!(ended.unwrap().state, ReindexState::Done);
        } else {
            clock.advance(Duration::from_secs(31));
            assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
        }
        assert_eq!(world.at_version(7), LARGE + SMALL, "after {answers} answers");
        assert!(world.records().values().all(|count| *count == 1));
        let counts = reindexer.status("one").await.unwrap().counts;
        assert_eq!(counts.read, (LARGE + SMALL) as u64, "after {answers} answers");
    }
}
