//! Functions that are called with changes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::models::klayers::*;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use trestle::api::{DeleteItem, PutItem};
use trestle::events::{
    BackfillState, Backoff, ChangeEvent, Changed, Concurrency, Events, Route, Selection, StartingPosition,
};
use trestle::migrate::{Rate, StartOptions};
use trestle::models::{ApplyOptions, Unwatched};
use trestle::{Embedded, Item, MemoryStore, Options, Timestamp, VirtualClock};

type Seen = (ChangeEvent, Option<String>, Option<String>);

fn embedded() -> (Arc<VirtualClock>, Embedded) {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let embedded = Embedded::on(Arc::new(MemoryStore::new()), clock.clone(), Options::default()).unwrap();
    (clock, embedded)
}

fn layer() -> Layer {
    NewLayer {
        rgn: "eu-west-1".into(),
        pckg: "numpy".into(),
        py_vrsn: "p3.12".into(),
        lyr_vrsn: 1,
        arn: "arn:1".into(),
        pckg_vrsn: "2.0".into(),
    }
    .into()
}

fn config(list: Option<Vec<trestle::AttributeValue>>) -> Config {
    let new = NewConfig {
        kind: ConfigKind::Rgns,
        scope: "all".into(),
    };
    Config {
        cnfg: list,
        ..new.into()
    }
}

fn seen(change: &Changed<Layer>) -> Seen {
    let arn = |layer: &Option<Layer>| layer.as_ref().map(|layer| layer.arn.clone());
    (change.event, arn(&change.old), arn(&change.new))
}

fn tell<T>(to: &UnboundedSender<T>, what: T) -> std::future::Ready<Result<(), String>> {
    std::future::ready(to.send(what).map_err(|_| "nobody listens".to_owned()))
}

async fn next<T>(of: &mut UnboundedReceiver<T>) -> T {
    let soon = tokio::time::timeout(Duration::from_secs(30), of.recv());
    soon.await.unwrap().unwrap()
}

/// The next change, while time passes.
async fn later<T>(clock: &VirtualClock, of: &mut UnboundedReceiver<T>) -> T {
    for _ in 0..100_000 {
        if let Ok(told) = of.try_recv() {
            return told;
        }
        clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    panic!("nothing came")
}

#[tokio::test]
async fn a_handler_gets_rows_before_and_after_of_its_entity_only() {
    let (_, embedded) = embedded();
    let db = Klayers::apply_to(&embedded).unwrap();
    let (to, mut of) = unbounded_channel();
    let router = Events::of(&embedded)
        .on(
            "layers",
            |all| all,
            move |change: Changed<Layer>| tell(&to, seen(&change)),
        )
        .start()
        .await
        .unwrap();
    db.put(&config(None)).await.unwrap();
    db.put(&layer()).await.unwrap();
    db.update_layer(layer().key()).set_arn("arn:2").await.unwrap();
    db.delete(layer().key()).await.unwrap();
    let (first, second) = (Some("arn:1".to_owned()), Some("arn:2".to_owned()));
    assert_eq!(next(&mut of).await, (ChangeEvent::Insert, None, first.clone()));
    assert_eq!(next(&mut of).await, (ChangeEvent::Modify, first, second.clone()));
    assert_eq!(next(&mut of).await, (ChangeEvent::Remove, second, None));
    router.stop().await;
    assert!(
        of.try_recv().is_err(),
        "neither the configuration nor the head is a layer"
    );
}

#[tokio::test]
async fn what_follows_a_failure_on_the_same_item_waits_and_is_replayed_in_order() {
    let (clock, embedded) = embedded();
    let db = Klayers::apply_to(&embedded).unwrap();
    let (to, mut of) = unbounded_channel();
    let is_broken = Arc::new(Mutex::new(true));
    let broken = Arc::clone(&is_broken);
    let handler = move |change: Changed<Config>| {
        let fails = change.event == ChangeEvent::Insert && *broken.lock().unwrap();
        let told = tell(&to, (change.event, change.attempt, fails));
        async move {
            told.await?;
            if fails { Err("broken".to_owned()) } else { Ok(()) }
        }
    };
    let patient = |all| Route {
        maximum_retry_attempts: 1,
        backoff: Backoff {
            first: Duration::from_secs(10),
            longest: Duration::from_secs(10),
        },
        ..all
    };
    let router = Events::of(&embedded)
        .on("lists", patient, handler)
        .start()
        .await
        .unwrap();
    db.transaction().put(&config(None)).commit().await.unwrap();
    db.put(&config(Some(Vec::new()))).await.unwrap();
    assert_eq!(next(&mut of).await, (ChangeEvent::Insert, 1, true));
    let second = later(&clock, &mut of).await;
    assert_eq!(second, (ChangeEvent::Insert, 2, true), "the later change waits");
    assert_eq!(
        next(&mut of).await.0,
        ChangeEvent::Modify,
        "once the first is given up"
    );

    let dead = router.dead_letters(None, None, 10).await.unwrap().letters;
    assert_eq!(
        (dead.len(), dead[0].error.as_str(), dead[0].attempts),
        (1, "broken", 2)
    );
    *is_broken.lock().unwrap() = false;
    assert_eq!(router.replay(Selection::All).await.unwrap().delivered, 1);
    assert_eq!(next(&mut of).await, (ChangeEvent::Insert, 3, false));
    assert!(
        router
            .dead_letters(None, None, 10)
            .await
            .unwrap()
            .letters
            .is_empty()
    );
}

#[tokio::test]
async fn a_handler_that_panics_has_failed_and_is_called_again() {
    let (clock, embedded) = embedded();
    let db = Klayers::apply_to(&embedded).unwrap();
    let (to, mut of) = unbounded_channel();
    let handler = move |change: Changed<Layer>| {
        let told = tell(&to, change.attempt);
        assert!(change.attempt > 1, "the first attempt panics");
        told
    };
    let router = Events::of(&embedded)
        .on("layers", |all| all, handler)
        .start()
        .await
        .unwrap();
    db.put(&layer()).await.unwrap();
    assert_eq!(next(&mut of).await, 1);
    assert_eq!(later(&clock, &mut of).await, 2);
    let error = router.status()[0].last_error.clone().unwrap();
    assert!(error.message.contains("the first attempt panics"), "{error:?}");
}

#[tokio::test]
async fn a_handler_that_does_not_end_in_time_is_ended_and_its_change_or_its_destination_is_tried_again() {
    for (concurrency, second) in [(None, 2), (Some(Concurrency { most: 5, per: None }), 1)] {
        let (clock, embedded) = embedded();
        let db = Klayers::apply_to(&embedded).unwrap();
        let (to, mut of) = unbounded_channel();
        let is_first = Mutex::new(true);
        let handler = move |change: Changed<Layer>| {
            let hangs = std::mem::take(&mut *is_first.lock().unwrap());
            let told = tell(&to, change.attempt);
            async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                told.await
            }
        };
        let brief = |all: Route| Route {
            target: all.target.with_timeout(Duration::from_millis(20)),
            concurrency: concurrency.clone(),
            ..all
        };
        let router = Events::of(&embedded)
            .on("layers", brief, handler)
            .start()
            .await
            .unwrap();
        db.put(&layer()).await.unwrap();
        assert_eq!(next(&mut of).await, 1);
        assert_eq!(
            later(&clock, &mut of).await,
            second,
            "a destination that hangs costs no attempt"
        );
        let error = router.status()[0].last_error.clone().unwrap();
        assert_eq!(error.message, "the handler did not end within 20ms");
    }
}

#[tokio::test]
async fn a_route_that_cannot_work_is_refused_with_its_name() {
    let (_, embedded) = embedded();
    Klayers::apply_to(&embedded).unwrap();
    let nobody = |_: Changed<Build>| std::future::ready(Ok::<(), String>(()));
    let too_many = |all| Route { batch_size: 0, ..all };
    let error = Events::of(&embedded)
        .on("builds", too_many, nobody)
        .start()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("route `builds`: `batch_size`"),
        "{error}"
    );
}

#[tokio::test]
async fn what_was_written_in_an_earlier_layout_is_handed_over_as_the_newest_has_it() {
    let (_, embedded) = embedded();
    let newest = include_str!("../../../../models/klayers.toml");
    let earlier = newest.replace(r#"pk = "lyr#{rgn}:{pckg}:"#, r#"pk = "l/{pckg}:{rgn}:"#);
    assert_ne!(earlier, newest);
    let applied = embedded
        .models()
        .apply(&earlier, ApplyOptions::default(), &mut Unwatched);
    assert!(!applied.unwrap().is_refused());
    // Without rows the newest version can take effect; the changes of the rows are still in the stream.
    let identity = [("rgn", "eu-west-1"), ("pckg", "numpy"), ("pyVrsn", "p3.12")];
    let mut key = Item::from(identity);
    key.insert("lyrVrsn", 1_i64);
    let mut item = key.clone();
    item.insert("arn", "arn:1");
    item.insert("pckgVrsn", "2.0");
    let table_name = "kl.db-ver2".to_owned();
    let put = PutItem {
        table_name: table_name.clone(),
        item,
        ..PutItem::default()
    };
    embedded.run(put).unwrap();
    let delete = DeleteItem {
        table_name,
        key,
        ..DeleteItem::default()
    };
    embedded.run(delete).unwrap();
    Klayers::apply_to(&embedded).unwrap();

    let (to, mut of) = unbounded_channel();
    let from_the_first = |all| Route {
        starting_position: StartingPosition::TrimHorizon,
        maximum_retry_attempts: 0,
        ..all
    };
    let handler = move |change: Changed<Layer>| tell(&to, (change.maintenance, seen(&change)));
    let router = Events::of(&embedded)
        .on("layers", from_the_first, handler)
        .start()
        .await
        .unwrap();
    let arn = Some("arn:1".to_owned());
    assert_eq!(
        next(&mut of).await,
        (None, (ChangeEvent::Insert, None, arn.clone()))
    );
    assert_eq!(next(&mut of).await, (None, (ChangeEvent::Remove, arn, None)));
    router.stop().await;
}

/// Rows move to other keys, which changes their order, during a backfill: a row that moves from a place not
/// yet read to one already read is delivered nevertheless.
#[tokio::test]
async fn a_backfill_misses_no_row_when_a_migration_begins_meanwhile() {
    let (clock, embedded) = embedded();
    let newest = include_str!("../../../../models/klayers.toml");
    let earlier = newest.replace(r#"pk = "lyr#{rgn}:{pckg}:"#, r#"pk = "l/{pckg}:{rgn}:"#);
    let applied = embedded
        .models()
        .apply(&earlier, ApplyOptions::default(), &mut Unwatched);
    assert!(!applied.unwrap().is_refused());
    let count = 60;
    for number in 0..count {
        let name = format!("package-{number}");
        let mut item = Item::from([("rgn", "eu-west-1"), ("pckg", &name), ("pyVrsn", "p3.12")]);
        item.insert("lyrVrsn", 1_i64);
        item.insert("arn", name.as_str());
        item.insert("pckgVrsn", "2.0");
        let put = PutItem {
            table_name: "kl.db-ver2".to_owned(),
            item,
            ..PutItem::default()
        };
        embedded.run(put).unwrap();
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let handler = move |change: Changed<Layer>| {
        told.lock().unwrap().push((change.event, change.new.unwrap().arn));
        std::future::ready(Ok::<(), String>(()))
    };
    let router = Events::of(&embedded)
        .on("layers", |all| all, handler)
        .start()
        .await
        .unwrap();
    router.backfill("layers", Some(10)).await.unwrap();
    let backfill = || router.status().remove(0).backfill.unwrap();
    let pass = async |until: &dyn Fn() -> bool| {
        for _ in 0..30_000 {
            if until() {
                return;
            }
            clock.advance(Duration::from_millis(20));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("{:?}", backfill());
    };
    pass(&|| seen.lock().unwrap().len() >= 20).await;
    let options = StartOptions {
        rate: Rate::UNLIMITED,
        ..StartOptions::default()
    };
    let plan = embedded.models().start_migration(newest, options, &mut Unwatched);
    assert!(!plan.unwrap().is_refused());
    pass(&|| backfill().state == BackfillState::Done).await;
    router.stop().await;
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|(event, _)| *event == ChangeEvent::Backfill));
    let names: std::collections::BTreeSet<&String> = seen.iter().map(|(_, arn)| arn).collect();
    assert_eq!(names.len(), count, "{} rows came", seen.len());
    assert!(seen.len() > count, "it has begun again");
}
