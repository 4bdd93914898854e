//! The effects of a deprecated layer's expiry.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use klayers::model::{Layer, LayerHeadKey, LayerKey, NewLayer};
use klayers::{LayerArn, LayerStore as _, watch};
use serde_json::json;
use trestle::events::{ChangeEvent, Changed, Events, Route, Selection, StartingPosition};
use trestle::{DatabaseExt as _, api};

use crate::support::{PYTHON, REGION, World, files, until};

const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
const NO_TIME: Duration = Duration::ZERO;

fn key(version: i64) -> LayerKey {
    LayerKey {
        rgn: REGION.into(),
        pckg: "requests".into(),
        py_vrsn: PYTHON.into(),
        lyr_vrsn: version,
    }
}

/// Two versions, the first of which expires.
async fn expire(world: &World) {
    world.deploy_versions("requests", REGION, &["1.0", "2.0"]).await;
    world.clock.advance(YEAR);
}

async fn tombstone(world: &World) -> Option<Layer> {
    let row = world.app.db.get(key(1)).await.unwrap();
    row.filter(|layer| layer.dltd_dt.is_some())
}

#[tokio::test]
async fn point_07_an_expired_layer_becomes_a_tombstone_and_its_file_goes_once_however_often_that_is_said() {
    let world = World::new();
    let router = watch(&world.app, &world.stored).await.unwrap();
    expire(&world).await;
    until(
        "the tombstone",
        &world.clock,
        Duration::from_secs(1),
        async || tombstone(&world).await.is_some(),
    )
    .await;
    let buried = tombstone(&world).await.unwrap();
    assert_eq!(
        (buried.dply_sts, buried.ex_dt, buried.pckg_vrsn.as_str()),
        (None, None, "1.0")
    );
    assert_eq!(world.check("requests", REGION).await.as_deref(), Some("2.0"));
    assert_eq!(world.layers.list().await.unwrap().len(), 1);
    router.stop().await;

    // A process that died before it stored its position gets every change again.
    forget_places(&world).await;
    let router = watch(&world.app, &world.stored).await.unwrap();
    until("the second delivery", &world.clock, NO_TIME, async || {
        router.status()[0].delivered == 1
    })
    .await;
    assert_eq!(tombstone(&world).await, Some(buried), "as it was");
    let deleted = world.layers.deleted.lock().unwrap().clone();
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    router.stop().await;
}

#[tokio::test]
async fn point_07_a_layer_that_expired_two_days_before_the_next_start_is_removed_then() {
    let world = World::new();
    watch(&world.app, &world.stored).await.unwrap().stop().await;
    expire(&world).await;
    until("the row to expire", &world.clock, NO_TIME, async || {
        world.app.db.get(key(1)).await.unwrap().is_none()
    })
    .await;
    world.clock.advance(Duration::from_secs(2 * 24 * 3600));
    until(
        "the record to be older than the stream shows",
        &world.clock,
        NO_TIME,
        async || world.stored.embedded().unwrap().held_changes().bytes() > 0,
    )
    .await;
    let router = watch(&world.app, &world.stored).await.unwrap();
    until("the tombstone", &world.clock, NO_TIME, async || {
        tombstone(&world).await.is_some()
    })
    .await;
    assert_eq!(world.layers.list().await.unwrap().len(), 1);
    router.stop().await;
}

#[tokio::test]
async fn point_07_a_fault_between_the_file_and_the_tombstone_is_made_good() {
    let world = World::new();
    let router = watch(&world.app, &world.stored).await.unwrap();
    world.deploy_versions("requests", REGION, &["1.0", "2.0"]).await;
    // The handler checks for the tombstone; then nothing can be written.
    world.database.fail_after(1, false);
    world.clock.advance(YEAR);
    until("the failure", &world.clock, NO_TIME, async || {
        router.status()[0].parked == 1
    })
    .await;
    assert_eq!(world.layers.list().await.unwrap().len(), 1, "the file is gone");
    world.database.repair();
    until(
        "the tombstone",
        &world.clock,
        Duration::from_secs(1),
        async || tombstone(&world).await.is_some(),
    )
    .await;
    assert_eq!(world.check("requests", REGION).await.as_deref(), Some("2.0"));
    router.stop().await;
}

/// A route with another name has no position; applied once, it makes the router forget the first one's.
async fn forget_places(world: &World) {
    let nobody = |_: Changed<Layer>| std::future::ready(Ok::<(), String>(()));
    let other = Events::of(&world.stored)
        .on("other", |all| all, nobody)
        .start()
        .await
        .unwrap();
    other.stop().await;
}

#[tokio::test]
async fn point_07_the_stream_says_that_time_to_live_removed_the_row_and_shows_it_as_it_was() {
    let world = World::new();
    expire(&world).await;
    let table = "kl.db-ver2".to_owned();
    let mut removed = None;
    until("the expiry", &world.clock, Duration::from_secs(1), async || {
        removed = removal(&world, &table).await;
        removed.is_some()
    })
    .await;
    let record = removed.unwrap();
    let identity = record.user_identity.unwrap();
    assert_eq!(identity.principal_id.as_deref(), Some("dynamodb.amazonaws.com"));
    let old = record.dynamodb.old_image.unwrap();
    let layer: Layer = trestle::typed::read_from(&table, old).unwrap().unwrap();
    assert_eq!(layer.key(), key(1));
}

async fn removal(world: &World, table: &str) -> Option<api::Record> {
    let stored = &world.stored;
    let described = stored
        .describe_table(api::DescribeTable {
            table_name: table.to_owned(),
        })
        .await
        .unwrap();
    let stream_arn = described.table.latest_stream_arn.unwrap();
    let described = stored
        .describe_stream(api::DescribeStream {
            stream_arn: stream_arn.clone(),
            ..api::DescribeStream::default()
        })
        .await
        .unwrap();
    for shard in described.stream_description.shards {
        let iterator = stored
            .get_shard_iterator(api::GetShardIterator {
                stream_arn: stream_arn.clone(),
                shard_id: shard.shard_id,
                shard_iterator_type: api::ShardIteratorType::TrimHorizon,
                sequence_number: None,
                timestamp: None,
            })
            .await
            .unwrap();
        let got = stored
            .get_records(api::GetRecords {
                shard_iterator: iterator.shard_iterator.unwrap(),
                ..api::GetRecords::default()
            })
            .await
            .unwrap();
        let found = got
            .records
            .into_iter()
            .find(|record| record.event_name == api::OperationType::Remove);
        if found.is_some() {
            return found;
        }
    }
    None
}

#[tokio::test]
async fn point_08_only_what_the_pattern_matches_is_delivered() {
    let world = World::new();
    let seen: Arc<Mutex<Vec<(ChangeEvent, i64)>>> = Arc::default();
    let note = seen.clone();
    let only_one = |all| Route {
        starting_position: StartingPosition::TrimHorizon,
        pattern: Some(json!({
            "table": ["kl.db-ver2"],
            "entity": ["layer"],
            "event": ["remove", "expire"],
            "keys": {"pk": [{"prefix": "lyr#"}]},
            "old": {"dplySts": [{"exists": true}], "rgn": [{"anything-but": "us-east-1"}]},
        })),
        ..all
    };
    let handler = move |change: Changed<Layer>| {
        let version = change.old.as_ref().map_or(0, |layer| layer.lyr_vrsn);
        note.lock().unwrap().push((change.event, version));
        std::future::ready(Ok::<(), String>(()))
    };
    let router = Events::of(&world.stored)
        .on("all", only_one, handler)
        .start()
        .await
        .unwrap();
    deployed_expired_and_removed(&world, async || seen.lock().unwrap().len()).await;
    router.stop().await;
    assert_eq!(
        *seen.lock().unwrap(),
        [(ChangeEvent::Expire, 1), (ChangeEvent::Remove, 2)]
    );
}

#[tokio::test]
async fn point_08_the_applications_route_takes_layers_that_are_gone_and_nothing_else() {
    let world = World::new();
    let router = watch(&world.app, &world.stored).await.unwrap();
    let delivered = || usize::try_from(router.status()[0].delivered).unwrap();
    // A layer of the other region expires, too.
    deployed_expired_and_removed(&world, async || delivered().saturating_sub(1)).await;
    // A removed tombstone causes nothing new.
    world.app.db.delete(key(1)).await.unwrap();
    world.deploy_versions("requests", REGION, &["3.0", "4.0"]).await;
    world.app.db.delete(key(3)).await.unwrap();
    until("the last tombstone", &world.clock, NO_TIME, async || {
        world.app.db.get(key(3)).await.unwrap().is_some()
    })
    .await;
    assert_eq!(tombstone(&world).await, None, "nobody put it back");
    until("the last delivery", &world.clock, NO_TIME, async || {
        delivered() > 3
    })
    .await;
    assert_eq!(delivered(), 4);
    router.stop().await;
}

/// Lists, builds, heads and layers of two regions; then one layer of each expires, and another is removed.
async fn deployed_expired_and_removed(world: &World, seen: impl AsyncFn() -> usize) {
    world.app.load_config(&files()).await.unwrap();
    world
        .deploy_versions("requests", "us-east-1", &["0.1", "0.2"])
        .await;
    expire(world).await;
    let second = Duration::from_secs(1);
    until("the expiry", &world.clock, second, async || seen().await >= 1).await;
    world.app.db.delete(key(2)).await.unwrap();
    until("the removal", &world.clock, NO_TIME, async || seen().await >= 2).await;
}

#[tokio::test]
async fn point_09_a_layer_that_cannot_be_removed_is_tried_again_then_a_dead_letter_and_replayed() {
    let world = World::new();
    let router = watch(&world.app, &world.stored).await.unwrap();
    world.deploy_versions("requests", REGION, &["1.0", "2.0"]).await;
    world.layers.fail_after(0, false);
    world.clock.advance(YEAR);
    until(
        "the dead letter",
        &world.clock,
        Duration::from_secs(10),
        async || router.status()[0].dead == 1,
    )
    .await;
    let letters = router
        .dead_letters(Some("layer-expired"), None, 10)
        .await
        .unwrap()
        .letters;
    assert_eq!((letters.len(), letters[0].attempts), (1, 11));
    assert!(
        letters[0].error.contains("an injected fault"),
        "{}",
        letters[0].error
    );
    assert!(tombstone(&world).await.is_none());

    world.layers.repair();
    assert_eq!(router.replay(Selection::All).await.unwrap().delivered, 1);
    assert!(tombstone(&world).await.is_some());
    assert_eq!(world.layers.list().await.unwrap().len(), 1);
    router.stop().await;
}

#[tokio::test]
async fn point_07_a_tombstone_is_never_the_latest_again() {
    let world = World::new();
    let router = watch(&world.app, &world.stored).await.unwrap();
    expire(&world).await;
    let second = Duration::from_secs(1);
    until("the tombstone", &world.clock, second, async || {
        tombstone(&world).await.is_some()
    })
    .await;
    // The latest one, deleted by a client, is handled in the same way.
    world.app.db.delete(key(2)).await.unwrap();
    until("its tombstone", &world.clock, NO_TIME, async || {
        world.app.db.get(key(2)).await.unwrap().is_some()
    })
    .await;
    assert_eq!(world.check("requests", REGION).await, None);
    assert_eq!(world.layers.list().await.unwrap(), []);

    world.deploy_versions("requests", REGION, &["3.0", "4.0"]).await;
    let head = LayerHeadKey {
        rgn: REGION.into(),
        pckg: "requests".into(),
        py_vrsn: PYTHON.into(),
    };
    world.app.db.point_layer_head(head, 3).await.unwrap();
    world.clock.advance(YEAR);
    until("the second tombstone", &world.clock, second, async || {
        let row = world.app.db.get(key(4)).await.unwrap();
        row.is_some_and(|layer| layer.dltd_dt.is_some())
    })
    .await;
    assert_eq!(world.check("requests", REGION).await.as_deref(), Some("3.0"));
    router.stop().await;
}

/// In an imported table, a row's number can differ from the number in its ARN.
#[tokio::test]
async fn the_layer_that_a_rows_arn_names_is_removed_and_no_other() {
    let world = World::new();
    let router = watch(&world.app, &world.stored).await.unwrap();
    let publish = async || {
        let published = world
            .layers
            .publish(REGION, "Klayers-p312-requests", 0, Bytes::new());
        published.await.unwrap()
    };
    let stored = [publish().await, publish().await, publish().await];
    let foreign = LayerArn {
        account: "770693421928".into(),
        ..stored[0].clone()
    };
    let rows = [
        (1, stored[2].to_string()),
        (2, foreign.to_string()),
        (3, "...".into()),
    ];
    for (version, arn) in rows {
        let row = NewLayer {
            rgn: REGION.into(),
            pckg: "requests".into(),
            py_vrsn: PYTHON.into(),
            lyr_vrsn: version,
            arn,
            pckg_vrsn: "1.0".into(),
        };
        world.app.db.put(&row).await.unwrap();
    }
    for version in 1..=3 {
        world.app.db.delete(key(version)).await.unwrap();
    }
    until("the tombstones", &world.clock, NO_TIME, async || {
        let rows = world.app.db.get_many((1..=3).map(key)).await.unwrap();
        rows.iter().all(Option::is_some)
    })
    .await;
    assert_eq!(world.layers.list().await.unwrap(), stored[..2]);
    router.stop().await;
}
