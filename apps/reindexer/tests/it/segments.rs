//! The design that replaced shards: parallel segments, no writes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reindexer::Parameters as Mode;
use reindexer::{RecordFacts, Source};
use trestle::reindex::{ReindexState, RowCounts, StartReindex};
use trestle::{Timestamp, VirtualClock};

use crate::support::{World, reindex, sierra};

const JOBS: &str = "reindex-worker-jobs";

impl World {
    /// Rows of 15 kB, of which a page has fewer than 70.
    async fn load_large(&self, numbers: std::ops::Range<usize>) -> Vec<String> {
        let long = BTreeMap::from([("note".to_owned(), "x".repeat(15_000))]);
        let facts = RecordFacts {
            overrides: Some(long),
            ..RecordFacts::default()
        };
        let mut ids = Vec::new();
        for number in numbers {
            let payload = br#"{"image_title": "A plate"}"#.to_vec();
            let id = format!("V{number:07}");
            let put = self.app().put_record(Source::Miro, &id, facts.clone(), payload);
            put.await.unwrap();
            ids.push(id);
        }
        ids
    }

    async fn start(&self, source: &str, mode: Mode) -> String {
        let started = self.app().start_reindex(&reindex(source, mode)).await.unwrap();
        started.runs.into_iter().next().unwrap()
    }
}

#[tokio::test]
async fn point_6_segments_are_the_table_and_disjoint_for_any_number_also_beyond_a_megabyte() {
    let mut world = World::new().await;
    // One segment has two megabytes, and more rows than a page.
    world.load_large(0..130).await;
    world.load(Source::Sierra, 10).await;
    world.settle().await;
    for segments in [1, 2, 3, 7, 40] {
        world = world.restarted_with(|setup| setup.segments = segments).await;
        let name = format!("by-{segments}");
        world.add_pipeline(&name).await;
        // All pipelines get the records; only this one lacks them.
        let run = world.start("miro", Mode::Complete).await;
        world.settle().await;
        let sending = world.app().run(&run).await.unwrap().sending.unwrap();
        assert_eq!(
            (sending.work_items, sending.work_items_done),
            (segments.into(), segments.into())
        );
        let expected = RowCounts {
            read: 140,
            done: 130,
            unchanged: 10,
            ..RowCounts::default()
        };
        assert_eq!(
            sending.counts, expected,
            "no row is in two segments of {segments}"
        );
        assert_eq!(
            world.indexed(&name, Source::Miro).await,
            130,
            "no row is in none of {segments}"
        );
        assert_eq!(world.indexed(&name, Source::Sierra).await, 0);
    }
}

#[tokio::test]
async fn point_7_complete_partial_and_specific_send_what_they_say() {
    let world = World::new().await;
    let ids = world.load(Source::Sierra, 250).await;
    world.load(Source::Tei, 5).await;
    world.settle().await;
    for (name, mode, sent, parts) in [
        ("complete", Mode::Complete, 250, 16),
        ("partial", Mode::Partial { max_records: 17 }, 17, 1),
        ("specific", Mode::Specific { ids: ids.clone() }, 250, 3),
    ] {
        world.add_pipeline(name).await;
        let run = world.start("sierra", mode).await;
        world.settle().await;
        let sending = world.app().run(&run).await.unwrap().sending.unwrap();
        assert_eq!(
            (sending.counts.done, sending.work_items, sending.work_items_done),
            (sent, parts, parts),
            "{name}"
        );
        assert_eq!(world.indexed(name, Source::Sierra).await, sent as usize, "{name}");
    }
}

#[tokio::test]
async fn point_7_an_unknown_id_is_named_and_the_others_are_sent() {
    let world = World::new().await;
    let mut ids = world.load(Source::Sierra, 3).await;
    world.load(Source::Miro, 1).await;
    world.settle().await;
    world.add_pipeline("one").await;
    ids.insert(1, "9999999".to_owned());
    let run = world.start("sierra", Mode::Specific { ids }).await;
    world.settle().await;
    assert_eq!(world.counts(&run).await.done, 3);
    let failed: Vec<_> = world.app().run(&run).await.unwrap().failed.into_iter().collect();
    let [(id, reason)] = &failed[..] else {
        panic!("{failed:?}");
    };
    assert_eq!(id, "9999999");
    assert!(reason.contains("has no row"), "{reason}");
    assert_eq!(world.indexed("one", Source::Sierra).await, 3);
}

#[tokio::test]
async fn point_7_a_message_with_an_unknown_job_is_a_dead_letter_with_the_reason() {
    let world = World::new().await;
    let message = r#"{"jobConfigId": "opac--catalogue", "parameters": {"type": "PartialReindexParameters", "maxRecords": 1}}"#;
    world.app().queues.send(JOBS, message).await.unwrap();
    world.settle().await;
    let dead = world.dead_letters(JOBS).await;
    let reason = dead[0].dead_letter_reason.as_ref().unwrap();
    assert!(
        reason.contains("opac--catalogue") && reason.contains("sierra--catalogue"),
        "{reason}"
    );
}

#[tokio::test]
async fn point_8_sending_changes_no_row_and_fires_no_stream() {
    let world = World::new().await;
    world.load(Source::Sierra, 30).await;
    world.settle().await;
    let (rows, records) = (world.rows().await, world.stream().await.len());
    world.touches.take();
    world.add_pipeline("one").await;
    world
        .app()
        .start_reindex(&reindex("sierra", Mode::Complete))
        .await
        .unwrap();
    world.settle().await;
    assert_eq!(world.indexed("one", Source::Sierra).await, 30);
    assert_eq!(world.rows().await, rows);
    assert_eq!(world.stream().await.len(), records);
    assert_eq!(world.touches.take(), BTreeMap::new());
    assert!(rows.iter().any(|row| row.id == sierra(0)));
}

#[tokio::test]
async fn point_14_a_row_that_is_inserted_before_its_page_is_read_is_included_once() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_700_000_000)));
    let world = World::on_clock(&clock, |setup| {
        setup.segments = 1;
        // A page of a megabyte uses 256 units: the next one has to wait until the clock is advanced.
        setup.budget.read_units = Some(1.0);
        // The clock is faster than this machine; no message is received again because of that.
        setup.workers.visibility = Duration::from_secs(12 * 3_600);
    })
    .await;
    world.add_pipeline("one").await;
    let before = world.load_large(0..130).await;
    world.settle().await;
    let run = world.start("miro", Mode::Complete).await;
    let read = async || match world.app().run(&run).await.unwrap().sending {
        Some(sending) => sending.counts.read as usize,
        None => 0,
    };
    world.until(async || read().await > 0, || {}).await;
    let first_page = read().await;
    assert!(first_page < 130, "the first page has {first_page} rows");
    let inserted = world.load_large(1_000..1_040).await;
    let is_over = async || world.waiting(JOBS).await == 0;
    let on = || {
        clock.advance(Duration::from_secs(5));
    };
    world.until(is_over, on).await;
    world.settle().await;
    // Rows are read in one order, so that those after the last row of the first page had not been read.
    let order: Vec<String> = world.rows().await.into_iter().map(|row| row.id).collect();
    let old = order.iter().filter(|id| before.contains(id));
    let last_read = old.clone().nth(first_page - 1).unwrap();
    let behind = order.iter().skip_while(|id| *id != last_read);
    let later = behind.filter(|id| inserted.contains(id)).count();
    assert!(
        (1..40).contains(&later),
        "{later} rows were inserted behind the first page"
    );
    let counts = world.counts(&run).await;
    assert_eq!(
        (counts.read as usize, counts.done as usize),
        (130 + later, 130 + later)
    );
    // The others were delivered as changes.
    assert_eq!(world.indexed("one", Source::Miro).await, 170);
    assert_eq!(world.gaps("one").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_whose_process_was_killed_is_finished_by_the_message_of_a_run_that_waits() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 30).await;
    world.settle().await;
    // The state after a kill: the run holds the table, and its message is hidden until its lease ends.
    let cut_off = StartReindex {
        name: Some("cut-off".to_owned()),
        ..StartReindex::send("source-data", "sierra--catalogue")
    };
    let reindexer = &world.app().reindexer;
    reindexer.start(cut_off).await.unwrap();
    let run = world.start("sierra", Mode::Complete).await;
    world.settle().await;
    let dead: Vec<_> = world.dead_letters(JOBS).await;
    assert_eq!(dead, []);
    for run in ["cut-off", &run] {
        let status = reindexer.status(run).await.unwrap();
        assert_eq!(
            (status.state, status.counts.done),
            (ReindexState::Done, 30),
            "{run}"
        );
    }
}
