//! Rows that fail, and a database that throttles: only these are retried.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Database, Error, ErrorKind, Request, ResponseFuture};
use trestle_engine::Engine;
use trestle_item::AttributeValue;
use trestle_reindex::{ReindexScope, Reindexer, RowLetter, StartReindex};

use crate::support::{TABLE, VERSION, World, to_version};

/// A database that answers some requests with errors.
struct Faulty {
    engine: Engine,
    /// The number of failures of updates, and their error, by the key of the row.
    bad: Mutex<HashMap<String, (u32, ErrorKind)>>,
    /// One in this many requests is throttled.
    throttled: Option<u64>,
    updates: Mutex<HashMap<String, u32>>,
    requests: std::sync::atomic::AtomicU64,
}

impl Faulty {
    fn new(world: &World) -> Self {
        Self {
            engine: world.engine.clone(),
            bad: Mutex::default(),
            throttled: None,
            updates: Mutex::default(),
            requests: 0.into(),
        }
    }

    fn fault(&self, request: &Request) -> Option<Error> {
        let number = self.requests.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if let Request::UpdateItem(update) = request
            && update.table_name == TABLE
        {
            let pk = update.key.get("pk").unwrap().as_s().unwrap().to_owned();
            *self.updates.lock().entry(pk.clone()).or_default() += 1;
            if let Some((left, kind)) = self.bad.lock().get_mut(&pk)
                && *left > 0
            {
                *left -= 1;
                return Some(Error::new(*kind, "the row is bad"));
            }
        }
        let is_throttled = self.throttled.is_some_and(|share| number % share == share - 1);
        is_throttled.then(|| Error::new(ErrorKind::ProvisionedThroughputExceeded, "slow down"))
    }
}

impl Database for Faulty {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match self.fault(&request) {
            Some(error) => Box::pin(std::future::ready(Err(error))),
            None => self.engine.execute(request),
        }
    }
}

#[tokio::test]
async fn a_bad_row_is_tried_alone_and_becomes_a_dead_letter_with_its_reason_and_the_whole_row() {
    let world = World::new();
    world.fill(100);
    for (version, kind) in [(7, ErrorKind::Validation), (8, ErrorKind::Throttling)] {
        let faulty = Arc::new(Faulty::new(&world));
        faulty.bad.lock().insert("w00042".to_owned(), (u32::MAX, kind));
        let reindexer = world.reindexer_over(faulty.clone());
        let name = kind.as_str();
        reindexer.start(to_version(name, version)).await.unwrap();
        reindexer.work(name).await.unwrap();
        assert_eq!(world.at_version(version), 99);
        let updates = faulty.updates.lock().clone();
        assert_eq!(updates["w00042"], 4, "{kind:?}");
        assert_eq!(
            updates.values().sum::<u32>(),
            99 + 4,
            "no other row is tried again"
        );
        let (letters, _) = reindexer.dead_letters(name, None).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert!(letters[0].reason.contains("the row is bad"), "{letters:?}");
        assert_eq!(letters[0].attempts, 4);
        let row = letters[0].row.as_ref().unwrap();
        assert_eq!(row.get("title"), Some(&AttributeValue::from("title 42")));
        let status = reindexer.status(name).await.unwrap();
        assert_eq!(
            (status.dead_letters, status.gaps, status.counts.failed),
            (1, 1, 1)
        );
        assert_eq!(status.counts.retries, 3);

        faulty.bad.lock().clear();
        assert_eq!(reindexer.replay(name).await.unwrap(), 1);
        reindexer.work(name).await.unwrap();
        assert_eq!(world.at_version(version), 100);
        assert_eq!(reindexer.status(name).await.unwrap().dead_letters, 0);
    }
}

#[tokio::test]
async fn failed_rows_in_a_status_are_those_that_no_replay_has_done() {
    let world = World::new();
    world.fill(20);
    let faulty = Arc::new(Faulty::new(&world));
    let forever = (u32::MAX, ErrorKind::Validation);
    for row in ["w00004", "w00005"] {
        faulty.bad.lock().insert(row.to_owned(), forever);
    }
    let reindexer = world.reindexer_over(faulty.clone());
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    for (good, left) in [(None, 2), (Some("w00004"), 1), (Some("w00005"), 0)] {
        if let Some(good) = good {
            faulty.bad.lock().remove(good);
        }
        reindexer.replay("one").await.unwrap();
        reindexer.work("one").await.unwrap();
        let status = reindexer.status("one").await.unwrap();
        assert_eq!((status.counts.failed, status.dead_letters), (left, left));
        assert_eq!((status.counts.read, status.counts.done), (20, 20 - left));
    }
}

#[tokio::test]
async fn a_dead_letter_whose_row_was_deleted_is_gone_after_a_replay_and_one_that_never_had_a_row_stays() {
    let world = World::new();
    world.fill(20);
    let faulty = Arc::new(Faulty::new(&world));
    let forever = (u32::MAX, ErrorKind::Validation);
    faulty.bad.lock().insert("w00004".to_owned(), forever);
    let reindexer = world.reindexer_over(faulty);
    let ids = ["w00003", "w00004", "nowhere"].map(|pk| format!(r#"{{"pk":"{pk}","sk":"a"}}"#));
    let some = StartReindex {
        scope: ReindexScope::Ids(ids.into()),
        ..to_version("one", 7)
    };
    reindexer.start(some).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(reindexer.status("one").await.unwrap().dead_letters, 2);
    world.delete("w00004", "a");
    reindexer.replay("one").await.unwrap();
    reindexer.work("one").await.unwrap();
    let (letters, _) = reindexer.dead_letters("one", None).await.unwrap();
    let ids: Vec<String> = letters.iter().map(RowLetter::id).collect();
    assert_eq!(ids, [r#"{"pk":"nowhere","sk":"a"}"#]);
    let counts = reindexer.status("one").await.unwrap().counts;
    assert_eq!((counts.done, counts.gone, counts.failed), (1, 1, 1));
}

#[tokio::test]
async fn rows_that_are_sent_again_wait_and_are_not_counted_twice_in_percent() {
    let world = World::new();
    world.fill(20);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    let ids: Vec<String> = (0..5)
        .map(|n| format!(r#"{{"pk":"w{n:05}","sk":"a"}}"#))
        .collect();
    world.fill(5);
    reindexer.resend("one", &ids).await.unwrap();
    let status = reindexer.status("one").await.unwrap();
    assert_eq!((status.rows, status.waiting, status.percent), (20, 5, 75.0));
    reindexer.work("one").await.unwrap();
    assert_eq!(reindexer.status("one").await.unwrap().percent, 100.0);
}

#[tokio::test]
async fn a_row_that_fails_for_a_moment_is_done_in_the_end() {
    let world = World::new();
    world.fill(50);
    let faulty = Arc::new(Faulty::new(&world));
    faulty
        .bad
        .lock()
        .insert("w00007".to_owned(), (2, ErrorKind::InternalServerError));
    let reindexer = world.reindexer_over(faulty);
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(world.at_version(7), 50);
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (
            status.counts.retries,
            status.counts.throttled,
            status.dead_letters
        ),
        (2, 2, 0)
    );
}

#[tokio::test]
async fn a_database_that_throttles_slows_the_work_and_loses_no_row() {
    let world = World::new();
    world.fill(300);
    let faulty = Faulty {
        throttled: Some(3),
        ..Faulty::new(&world)
    };
    let reindexer = world.reindexer_over(Arc::new(faulty));
    let mut asked = to_version("one", 7);
    // A third of all calls fail, so that some rows fail several times in succession.
    asked.attempts = 40;
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(world.at_version(7), 300);
    let status = reindexer.status("one").await.unwrap();
    assert!(status.counts.throttled > 50, "{status:?}");
    assert_eq!(status.dead_letters, 0);
    assert!(world.records().values().all(|count| *count == 1));
}

#[tokio::test]
async fn a_version_attribute_that_is_no_number_is_named_and_not_overwritten() {
    let world = World::new();
    world.put("a", "1", &[(VERSION, "seven".into())]);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    let (letters, _) = reindexer.dead_letters("one", None).await.unwrap();
    assert!(
        letters[0].reason.contains("of type S and not a number"),
        "{letters:?}"
    );
    assert_eq!(
        world.get("a", "1").unwrap().get(VERSION),
        Some(&AttributeValue::from("seven"))
    );
    assert_eq!(reindexer.drop_dead_letters("one").await.unwrap(), 1);
    assert_eq!(reindexer.status("one").await.unwrap().dead_letters, 0);
}

/// A database that stops answering once a dead letter is stored, as if its process had been killed then.
struct CutOff {
    faulty: Faulty,
    is_cut: std::sync::atomic::AtomicBool,
}

impl Database for CutOff {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        use std::sync::atomic::Ordering::SeqCst;
        if self.is_cut.load(SeqCst) {
            return Box::pin(std::future::pending());
        }
        if let Request::PutItem(put) = &request
            && let Some(AttributeValue::S(pk)) = put.item.get("pk")
            && pk.starts_with("dead#")
        {
            self.is_cut.store(true, SeqCst);
        }
        self.faulty.execute(request)
    }
}

/// Starts to process 20 rows, and is killed after making a dead letter of a row that is good afterwards.
/// Returns the next process.
async fn killed_at_a_dead_letter(world: &World, asked: StartReindex) -> Reindexer {
    world.fill(20);
    let faulty = Faulty::new(world);
    let forever = (u32::MAX, ErrorKind::Validation);
    faulty.bad.lock().insert("w00004".to_owned(), forever);
    let is_cut = false.into();
    let cut_off = Arc::new(CutOff { faulty, is_cut });
    let killed = world.reindexer_at(cut_off).of_opening("killed");
    killed.start(asked).await.unwrap();
    let work = tokio::time::timeout(std::time::Duration::from_secs(1), killed.work("one"));
    assert!(work.await.is_err(), "it was cut off");
    let next = world
        .reindexer_at(Arc::new(world.engine.clone()))
        .of_opening("next");
    assert_eq!(next.status("one").await.unwrap().dead_letters, 1);
    next
}

#[tokio::test]
async fn a_row_given_up_on_a_page_that_is_done_again_is_no_dead_letter_once_it_succeeds() {
    let world = World::new();
    let next = killed_at_a_dead_letter(&world, to_version("one", 7)).await;
    next.work("one").await.unwrap();
    assert_eq!(world.at_version(7), 20);
    let status = next.status("one").await.unwrap();
    assert_eq!(
        (status.dead_letters, status.gaps, status.counts.failed),
        (0, 0, 0)
    );
}

#[tokio::test]
async fn it_is_none_either_if_rows_that_were_inserted_move_it_to_a_later_page() {
    let world = World::new();
    let in_small_pages = StartReindex {
        page_rows: 5,
        workers: 1,
        ..to_version("one", 7)
    };
    let next = killed_at_a_dead_letter(&world, in_small_pages).await;
    for number in 100..400 {
        world.put(&format!("w{number:05}"), "a", &[]);
    }
    next.work("one").await.unwrap();
    let row = world.get("w00004", "a").unwrap();
    assert_eq!(row.get(VERSION), Some(&7_u64.into()));
    assert_eq!(next.status("one").await.unwrap().dead_letters, 0);
}
