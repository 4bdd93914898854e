//! The true state, what is missing, and how it is repaired.

use reindexer::Parameters as Mode;
use reindexer::Source;

use crate::demo;
use crate::support::{World, reindex, sierra};

#[tokio::test]
async fn point_10_status_counts_each_stage_and_names_what_is_missing() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.objects.lose(&sierra(2));
    world.load(Source::Sierra, 8).await;
    world.load(Source::Tei, 2).await;
    world.settle().await;
    let (status, gaps) = world.app().status("one").await.unwrap();
    let stages = &status.sources[&Source::Sierra];
    assert_eq!(
        (stages.rows, stages.transformed, stages.indexed, stages.gaps),
        (8, 7, 7, 1)
    );
    assert_eq!(stages.percent, 87.5);
    let tei = &status.sources[&Source::Tei];
    assert_eq!((tei.rows, tei.indexed, tei.percent), (2, 2, 100.0));
    let [gap] = &gaps[..] else {
        panic!("{gaps:?}");
    };
    assert_eq!(
        (&gap.id, gap.version, gap.indexed, gap.missing_at),
        (&sierra(2), 1, None, "transformer")
    );
    let filled = status.queues.iter().filter(|queue| queue.1.total() > 0);
    let filled: Vec<_> = filled
        .map(|(queue, counts)| (queue.as_str(), counts.visible))
        .collect();
    assert_eq!(filled, [("one-transformer-dead", 1)]);
    let letters = world.dead_letters("one-transformer").await;
    assert!(letters[0].body.contains(&sierra(2)), "{letters:?}");
    assert!(
        letters[0]
            .dead_letter_reason
            .as_ref()
            .unwrap()
            .contains("the shelf is empty"),
        "{letters:?}"
    );
    let text = demo::table(&status, &gaps);
    assert!(
        text.contains("1 dead letters") && text.contains(&sierra(2)),
        "{text}"
    );

    world.objects.find();
    world.app().redrive("one-transformer").await.unwrap();
    world.until_full("one").await;
    assert_eq!(world.dead_letters("one-transformer").await.len(), 0);
}

#[tokio::test]
async fn point_10_gaps_are_resent_to_the_pipeline_that_has_them() {
    let world = World::new().await;
    world.add_pipeline("full").await;
    let ids = world.load(Source::Sierra, 120).await;
    world.settle().await;
    world.add_pipeline("empty").await;
    let mut gaps = world.gaps("empty").await;
    gaps.sort();
    assert_eq!(gaps, ids);
    assert_eq!(world.app().resend("full").await.unwrap(), 0);
    assert_eq!(world.app().resend("empty").await.unwrap(), 120);
    world.settle().await;
    assert_eq!(world.gaps("empty").await, Vec::<String>::new());
    assert_eq!(world.app().resend("empty").await.unwrap(), 0);
}

#[tokio::test]
async fn point_10_a_record_that_changed_is_a_gap_until_its_new_version_is_indexed() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 2).await;
    world.settle().await;
    world.objects.lose(&sierra(1));
    world.app().withdraw(Source::Sierra, &sierra(1)).await.unwrap();
    world.settle().await;
    let (_, gaps) = world.app().status("one").await.unwrap();
    assert_eq!((gaps[0].version, gaps[0].indexed), (2, Some(1)));
    world.objects.find();
    world.app().resend("one").await.unwrap();
    world.settle().await;
    assert_eq!(world.gaps("one").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_says_that_nothing_is_missing_and_fails_if_something_is() {
    let world = World::new().await;
    let mut said = Vec::new();
    demo::run(world.app(), 4, &mut said).await.unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("Nothing is missing."), "{said}");
    assert!(said.contains(": 0 rows have a new version,"), "{said}");

    let world = World::new().await;
    world.objects.lose(&sierra(1));
    let mut said = Vec::new();
    let failed = demo::run(world.app(), 4, &mut said).await.unwrap_err();
    assert!(failed.to_string().contains("missing"), "{failed}");
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains(&format!("missing: sierra {}", sierra(1))), "{said}");
    let started = world
        .app()
        .start_reindex(&reindex("sierra", Mode::Complete))
        .await
        .unwrap();
    assert_eq!(started.runs.len(), 1);
}
