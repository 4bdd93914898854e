//! The design that replaced shards: parallel segments, no writes.

use std::collections::BTreeMap;

use reindexer::{Mode, Parameters, RecordFacts, ReindexJob, Source};
use trestle::queue::NewMessage;

use crate::support::{World, reindex, sierra};

const JOBS: &str = "reindex-worker-jobs";

#[tokio::test]
async fn point_6_segments_are_the_table_and_disjoint_for_any_number_also_beyond_a_megabyte() {
    let world = World::new().await;
    // Rows of 15 kB: one segment has two megabytes, and more rows than a page.
    let long = BTreeMap::from([("note".to_owned(), "x".repeat(15_000))]);
    let facts = RecordFacts {
        overrides: Some(long),
        ..RecordFacts::default()
    };
    for number in 0..130 {
        let payload = br#"{"image_title": "A plate"}"#.to_vec();
        let id = format!("V{number:07}");
        world
            .app()
            .put_record(Source::Miro, &id, facts.clone(), payload)
            .await
            .unwrap();
    }
    world.load(Source::Sierra, 10).await;
    world.settle().await;
    for total_segments in [1, 2, 3, 7, 40] {
        let name = format!("by-{total_segments}");
        world.add_pipeline(&name).await;
        // All pipelines get the messages; only this one lacks the records.
        let run = format!("run-{total_segments}");
        for segment in 0..total_segments {
            let job = ReindexJob {
                job_config_id: "miro--catalogue".into(),
                parameters: Parameters::Complete {
                    segment,
                    total_segments,
                },
                part: Some((run.clone(), segment.into())),
            };
            world
                .app()
                .queues
                .send(JOBS, NewMessage::job(&job).unwrap())
                .await
                .unwrap();
        }
        world.settle().await;
        let parts = world.app().db.run_with_parts(&run).gather().await.unwrap().part;
        assert_eq!(parts.len(), total_segments as usize);
        let sent: i64 = parts.iter().map(|part| part.sent).sum();
        assert_eq!(sent, 130, "no row is in two segments of {total_segments}");
        assert_eq!(
            world.indexed(&name, Source::Miro).await,
            130,
            "no row is in none of {total_segments}"
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
        ("complete", Mode::Complete, 250, 1),
        ("partial", Mode::Partial { max_records: 17 }, 17, 1),
        ("specific", Mode::Specific { ids: ids.clone() }, 250, 3),
    ] {
        world.add_pipeline(name).await;
        let started = world.app().start_reindex(&reindex("sierra", mode)).await.unwrap();
        world.settle().await;
        let run = world.app().run(&started.runs[0]).await.unwrap();
        assert_eq!(
            (run.sent, run.run.parts, run.parts_done),
            (sent, parts, parts as usize),
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
    let started = world
        .app()
        .start_reindex(&reindex("sierra", Mode::Specific { ids }))
        .await
        .unwrap();
    world.settle().await;
    let run = world.app().run(&started.runs[0]).await.unwrap();
    assert_eq!((run.sent, run.unknown), (3, vec!["9999999".to_owned()]));
    assert_eq!(world.indexed("one", Source::Sierra).await, 3);
}

#[tokio::test]
async fn point_7_a_message_with_an_unknown_job_is_a_dead_letter_with_the_reason() {
    let world = World::new().await;
    let message = r#"{"jobConfigId": "opac--catalogue", "parameters": {"type": "PartialReindexParameters", "maxRecords": 1}}"#;
    world.app().queues.send(JOBS, message).await.unwrap();
    world.settle().await;
    let dead = world.app().dead_letters(JOBS).await.unwrap();
    let reason = dead[0].reason.as_ref().unwrap();
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
    world.tables.take_updates();
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
    assert_eq!(world.tables.take_updates(), BTreeMap::new());
    assert!(rows.iter().any(|row| row.id == sierra(0)));
}
