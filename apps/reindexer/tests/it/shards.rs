//! The design of the document: shards, requests through queues, the version lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reindexer::Parameters as Mode;
use reindexer::model::RunDesign;
use reindexer::{RowRequest, Shards, Source};
use trestle::api::{PutItem, UpdateItem};
use trestle::queue::NewMessage;
use trestle::{AttributeValue, Clock as _, DatabaseExt as _, Item, Timestamp, VirtualClock};

use crate::demo::Samples;
use crate::support::{World, reindex, sierra};

impl World {
    async fn reindex_shards(&self, version: i64) -> String {
        let mut asked = reindex("sierra", Mode::Complete);
        asked.design = RunDesign::Shards;
        asked.desired_version = Some(version);
        let started = self.app().start_reindex(&asked).await.unwrap();
        self.settle().await;
        started.runs.into_iter().next().unwrap()
    }

    async fn versions(&self) -> BTreeMap<String, i64> {
        let rows = self.rows().await.into_iter();
        rows.map(|row| (row.id, row.reindex_version.unwrap())).collect()
    }

    /// For each record, the number of change records that raise it to this version.
    async fn raises(&self, version: i64) -> BTreeMap<String, usize> {
        let mut raises = BTreeMap::new();
        let number = AttributeValue::from(version);
        for record in self.stream().await {
            let (old, new) = (record.old_image.unwrap_or_default(), record.new_image.unwrap());
            let is_raised = |image: &trestle::Item| image.get("reindexVersion") == Some(&number);
            if is_raised(&new) && !is_raised(&old) {
                let id = new.get("id").and_then(AttributeValue::as_s).unwrap();
                *raises.entry(id.to_owned()).or_default() += 1;
            }
        }
        raises
    }
}

#[test]
fn point_1_the_shard_function_gives_the_golden_values() {
    let golden = [
        (Source::Sierra, "b0000001", 1500, "sierra/2441"),
        (Source::Sierra, "i0000001", 2000, "sierra/2349"),
        (Source::Miro, "V0000123", 1000, "miro/51"),
    ];
    for (source, id, size, shard) in golden {
        assert_eq!(Shards(size).of(source, id), shard);
    }
    assert_eq!(Shards(1500).count(Source::Sierra), 3334);
    assert_eq!(Shards(1500).count(Source::Miro), 167);
}

#[tokio::test]
async fn point_1_every_row_is_in_exactly_one_shard_also_after_the_size_changes() {
    let world = World::new().await;
    let ids = world.load(Source::Sierra, 40).await;
    in_one_shard(&world, 1_500, &ids).await;
    world.settle().await;
    let published = world.stream().await.len();
    let world = world.restarted_with(|setup| setup.shards = Shards(500_000)).await;
    assert!(world.app().reshard().await.unwrap() > 0);
    in_one_shard(&world, 500_000, &ids).await;
    assert_eq!(world.app().reshard().await.unwrap(), 0);
    // For pipelines, a row that moves to another shard has not changed.
    assert!(world.stream().await.len() > published);
    assert!(world.rows().await.iter().all(|row| row.version == 1));
}

async fn in_one_shard(world: &World, size: u64, ids: &[String]) {
    let db = &world.app().db;
    let mut found = BTreeMap::new();
    for shard in db.shards().collect().await.unwrap() {
        for row in db.records_of_shard(&shard.shard_id).collect().await.unwrap() {
            assert_eq!(Shards(size).of(Source::Sierra, &row.id), shard.shard_id);
            *found.entry(row.id).or_insert(0) += 1;
        }
    }
    assert_eq!(found, ids.iter().map(|id| (id.clone(), 1)).collect());
}

#[tokio::test]
async fn point_2_all_rows_reach_the_version_with_one_stream_record_each_and_a_rerun_writes_nothing() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    let ids = world.load(Source::Sierra, 50).await;
    world.settle().await;
    let run = world.reindex_shards(7).await;
    assert!(world.versions().await.values().all(|&version| version == 7));
    let once: BTreeMap<_, _> = ids.iter().map(|id| (id.clone(), 1)).collect();
    assert_eq!(world.raises(7).await, once);
    assert_eq!(world.app().run(&run).await.unwrap().at_version, Some((50, 50)));
    // The stream delivered the touched rows to the pipeline.
    assert_eq!(world.gaps("one").await, Vec::<String>::new());

    world.touches.take();
    let before = world.stream().await.len();
    world.reindex_shards(7).await;
    world.reindex_shards(6).await;
    assert_eq!(world.touches.take(), BTreeMap::new());
    assert_eq!(world.stream().await.len(), before);
    // A late request lowers nothing.
    let late = RowRequest {
        id: sierra(0),
        desired_version: 3,
    };
    let late = NewMessage::job(&late).unwrap();
    world.app().queues.send("reindex-requests", late).await.unwrap();
    world.settle().await;
    assert_eq!(world.versions().await[&sierra(0)], 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn point_3_updates_during_a_reindex_are_not_lost_and_a_conflict_is_tried_again_alone() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 40).await;
    world.settle().await;
    world.touches.take();
    let update = |number: usize, edition: i64| {
        let app = world.app().clone();
        async move {
            let (samples, edition) = (Samples::read().unwrap(), format!(" edition {edition}."));
            let written = samples.write(&app, Source::Sierra, number, &edition);
            written.await.unwrap();
        }
    };
    for version in 1..=5 {
        // For each of four rows, one update between the read and the touch, one at any moment, and one later.
        for number in 0..4 {
            world
                .touches
                .interrupt(&sierra(number), Box::pin(update(number, 3 * version - 3)));
        }
        let others = (0..4).map(|number| tokio::spawn(update(number, 3 * version - 2)));
        let others: Vec<_> = others.collect();
        world.reindex_shards(version).await;
        for other in others {
            other.await.unwrap();
        }
        for number in 0..4 {
            update(number, 3 * version - 1).await;
        }
    }
    world.settle().await;
    for row in world.rows().await {
        assert_eq!(row.reindex_version, Some(5), "{}", row.id);
        let is_updated = (0..4).any(|number| sierra(number) == row.id);
        // Inserted, and updated fifteen times or never. A touch is not a new version.
        assert_eq!(row.version, if is_updated { 16 } else { 1 }, "{}", row.id);
    }
    let index = &world.app().pipeline("one").await.unwrap().index;
    for number in 0..4 {
        let title = index.work(&sierra(number)).unwrap().unwrap().text.title;
        assert!(title.contains("edition 14."), "{title}");
    }
    let tried = world.touches.take();
    for number in 0..4 {
        let attempts = tried[&sierra(number)];
        assert!(
            attempts >= 10,
            "{attempts} attempts: a row that changed was touched all the same"
        );
    }
    for number in 4..40 {
        let attempts = tried[&sierra(number)];
        assert_eq!(attempts, 5, "the rest of the shard is not touched again");
    }
    assert_eq!(world.dead_letters("reindex-requests").await.len(), 0);
}

#[tokio::test]
async fn point_3_an_update_between_the_read_and_the_write_of_the_processor_is_kept() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 10).await;
    world.settle().await;
    let app = world.app().clone();
    let update = async move {
        let samples = Samples::read().unwrap();
        samples
            .write(&app, Source::Sierra, 3, " in between")
            .await
            .unwrap();
    };
    world.touches.interrupt(&sierra(3), Box::pin(update));
    world.reindex_shards(5).await;
    let tried = world.touches.take();
    let expected = (0..10).map(|number| (sierra(number), if number == 3 { 2 } else { 1 }));
    assert_eq!(
        tried,
        expected.collect(),
        "only the row in conflict is tried again"
    );
    let row = world.app().record(Source::Sierra, &sierra(3)).await.unwrap();
    // Inserted and updated. A touch is not a new version.
    assert_eq!((row.version, row.reindex_version), (2, Some(5)));
    let index = &world.app().pipeline("one").await.unwrap().index;
    let title = index.work(&sierra(3)).unwrap().unwrap().text.title;
    assert!(title.contains("in between"), "{title}");
}

#[tokio::test]
async fn point_4_only_a_throttled_row_is_tried_again_and_becomes_a_dead_letter_with_its_id() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 30).await;
    world.settle().await;
    world.touches.throttle(&sierra(4));
    world.reindex_shards(9).await;
    let tried = world.touches.take();
    let expected = (0..30).map(|number| (sierra(number), if number == 4 { 3 } else { 1 }));
    assert_eq!(tried, expected.collect());
    let dead = world.dead_letters("reindex-requests").await;
    let [dead] = &dead[..] else {
        panic!("{dead:?}");
    };
    let request: RowRequest = serde_json::from_str(&dead.body).unwrap();
    assert_eq!((request.id, request.desired_version), (sierra(4), 9));
    assert!(
        dead.dead_letter_reason.as_ref().unwrap().contains("too fast"),
        "{dead:?}"
    );
    let behind: Vec<_> = world
        .versions()
        .await
        .into_iter()
        .filter(|row| row.1 < 9)
        .collect();
    assert_eq!(behind, [(sierra(4), 0)]);
}

#[tokio::test]
async fn point_4_a_row_that_is_gone_is_an_error_and_a_dead_letter() {
    let world = World::new().await;
    let request = RowRequest {
        id: "7777777".into(),
        desired_version: 1,
    };
    let message = NewMessage::job(&request).unwrap();
    world
        .app()
        .queues
        .send("reindex-requests", message)
        .await
        .unwrap();
    world.settle().await;
    let dead = world.dead_letters("reindex-requests").await;
    assert!(
        dead[0]
            .dead_letter_reason
            .as_ref()
            .unwrap()
            .contains("record 7777777"),
        "{dead:?}"
    );
}

#[tokio::test]
async fn point_5_redriving_the_dead_letters_completes_the_reindex() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 20).await;
    world.settle().await;
    for number in [3, 8] {
        world.touches.throttle(&sierra(number));
    }
    let run = world.reindex_shards(2).await;
    assert_eq!(world.app().run(&run).await.unwrap().at_version, Some((20, 18)));
    world.touches.repair();
    world.app().redrive("reindex-requests").await.unwrap();
    let complete = async {
        while world.app().run(&run).await.unwrap().at_version != Some((20, 20)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let complete = tokio::time::timeout(Duration::from_secs(60), complete).await;
    complete.expect("dead letters were not tried again");
    assert_eq!(world.dead_letters("reindex-requests").await.len(), 0);
    world.settle().await;
    assert_eq!(world.gaps("one").await, Vec::<String>::new());
}

#[tokio::test]
async fn point_12_no_more_rows_are_written_than_the_budget_allows() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_700_000_000)));
    let world = World::on_clock(&clock, |setup| setup.budget.write_units = Some(10.0)).await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 30).await;
    world.settle().await;
    let begun = clock.now();
    let mut asked = reindex("sierra", Mode::Complete);
    asked.design = RunDesign::Shards;
    asked.desired_version = Some(4);
    world.app().start_reindex(&asked).await.unwrap();
    let is_over = async || world.app().workers.are_idle().await.unwrap();
    let on = || {
        clock.advance(Duration::from_millis(20));
    };
    world.until(is_over, on).await;
    let times = world.touches.times();
    assert_eq!(times.len(), 30);
    for (written, at) in times.into_iter().enumerate() {
        let allowed = begun.plus(Duration::from_millis(100 * written as u64));
        assert!(
            at >= allowed,
            "row {written} was written at {at:?}, and not from {allowed:?} on"
        );
    }
    assert!(world.versions().await.values().all(|&version| version == 4));
}

#[tokio::test]
async fn point_13_the_version_only_rises_and_only_a_reindex_writes_it() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 5).await;
    world.settle().await;
    for version in [3, 9, 4] {
        world.reindex_shards(version).await;
    }
    // Late requests.
    for desired_version in [2, 9] {
        let id = sierra(0);
        let late = NewMessage::job(&RowRequest { id, desired_version }).unwrap();
        world.app().queues.send("reindex-requests", late).await.unwrap();
    }
    let update = |expression: &str, values: Option<Item>| UpdateItem {
        table_name: "source-data".into(),
        key: Item::from([("id", sierra(1))]),
        update_expression: Some(expression.into()),
        expression_attribute_values: values,
        ..UpdateItem::default()
    };
    for version in [0_i64, 8, 10, 1_000] {
        let write = update("SET reindexVersion = :v", Some(Item::from([(":v", version)])));
        let refused = world.stored.update_item(write).await.unwrap_err();
        assert!(
            refused.to_string().contains("Only a reindex changes it"),
            "{refused}"
        );
    }
    // Removing it has no effect, and a new row cannot set one.
    let remove = update("REMOVE reindexVersion", None);
    world.stored.update_item(remove).await.unwrap();
    let new = Item::from([
        ("id", AttributeValue::from(sierra(77))),
        ("sourceName", "sierra".into()),
        ("version", 1_i64.into()),
        ("reindexVersion", 50_i64.into()),
    ]);
    let put = PutItem {
        table_name: "source-data".into(),
        item: new,
        ..PutItem::default()
    };
    let refused = world.stored.put_item(put).await.unwrap_err();
    assert!(
        refused.to_string().contains("Only a reindex changes it"),
        "{refused}"
    );
    let samples = Samples::read().unwrap();
    let updated = samples.write(world.app(), Source::Sierra, 2, " again");
    updated.await.unwrap();
    world.settle().await;

    assert!(world.versions().await.values().all(|&version| version == 9));
    let version = |image: &Item| {
        image
            .get("reindexVersion")
            .and_then(AttributeValue::as_n)
            .cloned()
    };
    for record in world.stream().await {
        let old = record.old_image.as_ref().and_then(version);
        let new = record.new_image.as_ref().and_then(version);
        assert!(new >= old, "from {old:?} to {new:?}");
    }
}

#[tokio::test]
async fn point_14_a_row_that_is_inserted_during_a_run_has_its_version_and_is_not_touched_again() {
    let world = World::new().await;
    world.add_pipeline("one").await;
    world.load(Source::Sierra, 10).await;
    world.settle().await;
    let app = world.app().clone();
    let insert = async move {
        let samples = Samples::read().unwrap();
        let inserted = samples.write(&app, Source::Sierra, 500, "");
        inserted.await.unwrap();
    };
    world.touches.interrupt(&sierra(3), Box::pin(insert));
    world.reindex_shards(7).await;
    world.reindex_shards(7).await;
    assert_eq!(world.versions().await[&sierra(500)], 7);
    assert_eq!(world.versions().await.len(), 11);
    assert!(!world.touches.take().contains_key(&sierra(500)));
    let is_of = |image: &Option<Item>| {
        let id = image.as_ref().and_then(|image| image.get("id")?.as_s());
        id == Some(sierra(500).as_str())
    };
    let records = world.stream().await;
    let records = records.iter().filter(|record| is_of(&record.new_image));
    assert_eq!(
        records.count(),
        1,
        "the stream has its insertion and nothing else"
    );
    assert_eq!(world.gaps("one").await, Vec::<String>::new());
}
