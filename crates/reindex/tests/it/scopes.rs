//! Parts of a table.

use std::sync::Arc;
use std::time::Duration;

use trestle_env::{Timestamp, VirtualClock};
use trestle_item::{AttributeValue, Item};
use trestle_reindex::{
    Against, EndpointHost, ReindexBudget, ReindexScope, Reindexer, StartReindex, TouchByUpdate,
};

use crate::support::{VERSION, World, to_version};

const MODEL: &str = r#"
    model = "catalogue"
    [table.works]
    key = ["pk", "sk"]
    stream = "new-and-old-images"
    [entity.work]
    table = "works"
    key = { pk = "work#{id}", sk = "work" }
    attributes = { id = "string" }
    [entity.image]
    table = "works"
    key = { pk = "work#{work}", sk = "image#{id}" }
    attributes = { id = "string", work = "string" }
    [access.images_of_work]
    query = "works"
    returns = ["image"]
    where = { work = "{work}" }
    [access.images]
    query = "works"
    scan = true
    returns = ["image"]
    [access.named]
    query = "works"
    scan = true
    returns = ["image"]
    where = { id = "{id}" }
"#;

fn with_model(world: &World) -> Reindexer {
    with_text(world, MODEL)
}

fn with_text(world: &World, text: &str) -> Reindexer {
    let loaded = trestle_model::load(text);
    let model = loaded.model.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let host = EndpointHost {
        model: Some((Arc::new(model), text.to_owned())),
    };
    let engine: Arc<dyn trestle_api::Database> = Arc::new(world.engine.clone());
    world.reindexer_with(
        Arc::clone(&engine),
        Arc::new(TouchByUpdate::new(engine)),
        Arc::new(host),
    )
}

/// The keys of the rows at a version.
fn touched(world: &World) -> Vec<String> {
    let rows = world.rows();
    let at = rows.iter().filter(|row| row.contains_key(VERSION));
    let key = |row: &Item| {
        let part = |name: &str| row.get(name).unwrap().as_s().unwrap().to_owned();
        format!("{}/{}", part("pk"), part("sk"))
    };
    let mut keys: Vec<String> = at.map(key).collect();
    keys.sort();
    keys
}

/// The gaps in the reindex's own records; paging returns the same ones.
async fn gaps(reindexer: &Reindexer) -> Vec<String> {
    let mut found = Vec::new();
    let mut tell = |id: &str| {
        found.push(id.to_owned());
        Ok(())
    };
    reindexer.gaps("one", &Against::Itself, &mut tell).await.unwrap();
    let page = reindexer.gap_page("one", &Against::Itself, None, 1_000).await;
    assert_eq!(page.unwrap().ids, found);
    found
}

fn catalogue() -> World {
    let world = World::new();
    for work in ["b1", "b2", "b3"] {
        world.put(&format!("work#{work}"), "work", &[]);
        for image in ["i1", "i2"] {
            world.put(
                &format!("work#{work}"),
                &format!("image#{image}"),
                &[("id", image.into())],
            );
        }
    }
    world
}

async fn reindexed(reindexer: &Reindexer, scope: ReindexScope) {
    let asked = StartReindex {
        scope,
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
}

#[tokio::test]
async fn the_first_rows_are_as_many_as_were_asked_for() {
    let world = World::new();
    world.fill(100);
    let reindexer = world.reindexer();
    reindexed(&reindexer, ReindexScope::First(33)).await;
    assert_eq!(world.at_version(7), 33);
    let status = reindexer.status("one").await.unwrap();
    assert_eq!((status.rows, status.counts.read), (33, 33));
}

#[tokio::test]
async fn rows_by_their_ids_and_an_id_without_a_row_is_named() {
    let world = World::new();
    world.fill(350);
    let reindexer = world.reindexer();
    let id = |number: usize| format!(r#"{{"pk": "w{number:05}", "sk": "a"}}"#);
    let mut ids: Vec<String> = (0..250).map(id).collect();
    ids.push(r#"{"pk": "nowhere", "sk": "a"}"#.to_owned());
    reindexed(&reindexer, ReindexScope::Ids(ids)).await;
    assert_eq!(world.at_version(7), 250);
    let (letters, _) = reindexer.dead_letters("one", None).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].key, Item::from([("pk", "nowhere"), ("sk", "a")]));
    assert!(letters[0].reason.contains("no row with this key"), "{letters:?}");
}

#[tokio::test]
async fn an_id_that_is_a_partition_means_all_of_its_rows() {
    let world = catalogue();
    reindexed(&world.reindexer(), ReindexScope::Ids(vec!["work#b2".to_owned()])).await;
    assert_eq!(
        touched(&world),
        ["work#b2/image#i1", "work#b2/image#i2", "work#b2/work"]
    );
}

#[tokio::test]
async fn an_id_that_is_a_partition_without_rows_is_named_until_it_has_rows() {
    let world = catalogue();
    let reindexer = world.reindexer();
    let ids = ["work#b2", "work#nowhere"].map(str::to_owned);
    reindexed(&reindexer, ReindexScope::Ids(ids.into())).await;
    let (letters, _) = reindexer.dead_letters("one", None).await.unwrap();
    let named: Vec<String> = letters.iter().map(trestle_reindex::RowLetter::id).collect();
    assert_eq!(named, ["work#nowhere"]);
    assert!(
        letters[0].reason.contains("no row with this partition key"),
        "{letters:?}"
    );
    assert_eq!(gaps(&reindexer).await, ["work#nowhere"]);
    let status = reindexer.status("one").await.unwrap();
    assert_eq!((status.rows, status.counts.done, status.dead_letters), (4, 3, 1));

    assert_eq!(reindexer.replay("one").await.unwrap(), 1);
    reindexer.work("one").await.unwrap();
    assert_eq!(gaps(&reindexer).await, ["work#nowhere"], "it still has no rows");

    world.put("work#nowhere", "work", &[]);
    reindexer.replay("one").await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(gaps(&reindexer).await, Vec::<String>::new());
    assert_eq!(reindexer.status("one").await.unwrap().dead_letters, 0);
    assert!(touched(&world).contains(&"work#nowhere/work".to_owned()));
}

#[tokio::test]
async fn an_entity_is_told_from_others_by_its_keys() {
    let world = catalogue();
    let reindexer = with_model(&world);
    reindexed(&reindexer, ReindexScope::Entity("work".to_owned())).await;
    assert_eq!(touched(&world), ["work#b1/work", "work#b2/work", "work#b3/work"]);
    let counts = reindexer.status("one").await.unwrap().counts;
    assert_eq!((counts.read, counts.done, counts.left_out), (9, 3, 6));
}

#[tokio::test]
async fn an_access_pattern_finds_its_rows() {
    let world = catalogue();
    let reindexer = with_model(&world);
    let scope = ReindexScope::Access {
        name: "images_of_work".to_owned(),
        parameters: Item::from([("work", AttributeValue::from("b3"))]),
        first: None,
    };
    reindexed(&reindexer, scope).await;
    assert_eq!(touched(&world), ["work#b3/image#i1", "work#b3/image#i2"]);
}

#[tokio::test]
async fn percent_of_rows_that_only_reading_counts_is_of_the_work_items() {
    let of_work = Item::from([("work", AttributeValue::from("b1"))]);
    let images = ReindexScope::Access {
        name: "images_of_work".to_owned(),
        parameters: of_work,
        first: None,
    };
    for scope in [images, ReindexScope::Ids(vec!["work#b1".to_owned()])] {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
        let world = World::with_clock(clock.clone());
        for image in 0..250 {
            world.put("work#b1", &format!("image#i{image:03}"), &[]);
        }
        let reindexer = with_model(&world);
        let budget = ReindexBudget {
            write_units: Some(100.0),
            ..ReindexBudget::default()
        };
        let asked = StartReindex {
            scope,
            budget,
            workers: 1,
            ..to_version("one", 7)
        };
        reindexer.start(asked).await.unwrap();
        let at_work = reindexer.clone();
        let working = tokio::spawn(async move { at_work.work("one").await });
        let mut looks = 0;
        while !working.is_finished() {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let status = reindexer.status("one").await.unwrap();
            let done = status.counts.done;
            if (1..200).contains(&done) && status.work_items_done == 0 {
                assert_eq!((status.percent, status.seconds_left), (0.0, None), "{status:?}");
                looks += 1;
            }
            clock.advance(Duration::from_millis(100));
        }
        working.await.unwrap().unwrap();
        assert!(looks > 0);
        assert_eq!(reindexer.status("one").await.unwrap().percent, 100.0);
    }
}

#[tokio::test]
async fn gaps_of_an_access_pattern_are_only_its_rows_below_the_version() {
    let of_work = Item::from([("work", AttributeValue::from("b3"))]);
    for (name, parameters) in [("images_of_work", of_work), ("images", Item::new())] {
        let world = catalogue();
        let reindexer = with_model(&world);
        let scope = ReindexScope::Access {
            name: name.to_owned(),
            parameters,
            first: None,
        };
        reindexed(&reindexer, scope).await;
        assert_eq!(gaps(&reindexer).await, Vec::<String>::new(), "{name}");
        world.put("work#b3", "image#i1", &[("id", "i1".into())]);
        let below = r#"{"pk":"work#b3","sk":"image#i1"}"#.to_owned();
        assert_eq!(gaps(&reindexer).await, [below], "{name}");
    }
}

#[tokio::test]
async fn the_condition_of_a_scan_holds() {
    let world = catalogue();
    let reindexer = with_model(&world);
    let scope = ReindexScope::Access {
        name: "named".to_owned(),
        parameters: Item::from([("id", AttributeValue::from("i2"))]),
        first: None,
    };
    reindexed(&reindexer, scope).await;
    let second = ["b1", "b2", "b3"].map(|work| format!("work#{work}/image#i2"));
    assert_eq!(touched(&world), second);
}

#[tokio::test]
async fn the_first_rows_that_an_access_pattern_finds_are_counted_as_they_are_found() {
    let named = Item::from([("id", AttributeValue::from("i2"))]);
    let of_work = Item::from([("work", AttributeValue::from("b3"))]);
    for (name, parameters, first, expected) in [
        ("named", named.clone(), 2, 2),
        ("named", named.clone(), 3, 3),
        ("named", named, 100, 3),
        ("images_of_work", of_work, 1, 1),
        // Rows of works lie among them.
        ("images", Item::new(), 4, 4),
    ] {
        let world = catalogue();
        let reindexer = with_model(&world);
        let scope = ReindexScope::Access {
            name: name.to_owned(),
            parameters,
            first: Some(first),
        };
        reindexed(&reindexer, scope).await;
        let touched = touched(&world);
        assert_eq!(
            touched.len(),
            expected,
            "the first {first} of {name}: {touched:?}"
        );
        assert!(touched.iter().all(|row| row.contains("/image#")), "{touched:?}");
        let status = reindexer.status("one").await.unwrap();
        assert_eq!(
            (status.rows, status.counts.done),
            (expected as u64, expected as u64)
        );
    }
}

#[tokio::test]
async fn the_first_rows_of_an_access_pattern_may_be_many_pages() {
    let world = World::new();
    world.fill(450);
    let model = r#"
        model = "works"
        [table.works]
        key = ["pk", "sk"]
        [entity.work]
        table = "works"
        attributes = { pk = "string", sk = "string" }
        [access.all]
        query = "works"
        returns = "work"
        scan = true
    "#;
    let reindexer = with_text(&world, model);
    let scope = ReindexScope::Access {
        name: "all".to_owned(),
        parameters: Item::new(),
        first: Some(250),
    };
    reindexed(&reindexer, scope).await;
    assert_eq!(world.at_version(7), 250);
}

#[tokio::test]
async fn unknown_names_are_refused_with_those_there_are() {
    let world = catalogue();
    let reindexer = with_model(&world);
    for (scope, part) in [
        (ReindexScope::Entity("book".to_owned()), "there is work, image"),
        (
            ReindexScope::Access {
                name: "books".to_owned(),
                parameters: Item::new(),
                first: None,
            },
            "there is images_of_work, images, named",
        ),
        (ReindexScope::First(0), "no row was asked for"),
    ] {
        let asked = StartReindex {
            scope,
            ..to_version("one", 7)
        };
        let error = reindexer.start(asked).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn any_number_of_ids_can_be_asked_for() {
    let world = World::new();
    world.fill(10);
    let reindexer = world.reindexer();
    // More than a row of the state table can hold.
    let ids =
        (0..20_000).map(|number| format!(r#"{{"pk": "w{:05}", "sk": "{number}-no-such-row"}}"#, number % 10));
    let ids = ids.chain([r#"{"pk": "w00003", "sk": "a"}"#.to_owned()]);
    let asked = StartReindex {
        scope: ReindexScope::Ids(ids.collect()),
        ..to_version("one", 7)
    };
    let started = reindexer.start(asked).await.unwrap();
    assert_eq!(started.job.scope, ReindexScope::Ids(Vec::new()));
    assert_eq!(reindexer.status("one").await.unwrap().rows, 20_001);
    reindexer.work("one").await.unwrap();
    assert_eq!(world.at_version(7), 1);
}

#[tokio::test]
async fn an_id_that_is_named_twice_is_done_once() {
    let world = World::new();
    world.fill(3);
    let reindexer = world.reindexer();
    let ids = [
        r#"{"pk": "w00001", "sk": "a"}"#,
        r#"{"sk":"a","pk":"w00001"}"#,
        "w00002",
        "w00002",
    ];
    let asked = StartReindex {
        scope: ReindexScope::Ids(ids.map(str::to_owned).into()),
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
    let counts = reindexer.status("one").await.unwrap().counts;
    assert_eq!((counts.read, counts.done), (2, 2));
}
