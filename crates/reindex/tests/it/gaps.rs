//! Rows that a destination lacks are reported.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::{Database, PutItem};
use trestle_events::{
    Batch, Deliver, Destination, Door, Outcome, Route, RowSender, Target, Typer, read_routes,
};
use trestle_item::Item;
use trestle_model::Model;
use trestle_reindex::{
    Against, KnownIds, ReindexHost, ReindexScope, ReindexState, Reindexer, StartReindex, TouchByUpdate,
};

use crate::support::{TABLE, World, to_version};

async fn gaps(reindexer: &Reindexer, against: &Against<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut tell = |id: &str| {
        found.push(id.to_owned());
        Ok(())
    };
    let count = reindexer.gaps("one", against, &mut tell).await.unwrap();
    assert_eq!(count, found.len() as u64);
    found.sort();
    for limit in [1, 3, 1000] {
        assert_eq!(
            by_pages(reindexer, against, limit).await,
            found,
            "{limit} on a page"
        );
    }
    found
}

/// The same gaps, a page at a time.
async fn by_pages(reindexer: &Reindexer, against: &Against<'_>, limit: usize) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = reindexer.gap_page("one", against, after.as_deref(), limit);
        let page = page.await.unwrap();
        assert!(page.ids.len() <= limit, "{page:?}");
        found.extend(page.ids);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn every_row_of_the_scope_is_named_for_a_comparison_elsewhere() {
    let world = World::new();
    world.fill(90);
    let reindexer = world.reindexer();
    let ids = ["w00001", "w00002", "nowhere"].map(str::to_owned);
    let some = StartReindex {
        scope: ReindexScope::Ids(ids.into()),
        ..to_version("one", 7)
    };
    reindexer.start(some).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(gaps(&reindexer, &Against::Nothing).await.len(), 2);
    reindexer.start(to_version("two", 7)).await.unwrap();
    let page = reindexer
        .gap_page("two", &Against::Nothing, None, 1000)
        .await
        .unwrap();
    assert_eq!((page.ids.len(), page.next), (90, None));
    let unclear = reindexer.gap_page("two", &Against::Nothing, Some("x"), 1).await;
    assert!(unclear.unwrap_err().to_string().contains("`next`"));
}

#[tokio::test]
async fn rows_below_the_version_are_named_and_done_when_they_are_sent_again() {
    let world = World::new();
    world.fill(40);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(gaps(&reindexer, &Against::Itself).await, Vec::<String>::new());
    world.put("w00003", "a", &[]);
    let missing = gaps(&reindexer, &Against::Itself).await;
    assert_eq!(missing, [r#"{"pk":"w00003","sk":"a"}"#]);
    reindexer.resend("one", &missing).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(gaps(&reindexer, &Against::Itself).await, Vec::<String>::new());
}

#[tokio::test]
async fn ids_that_a_list_or_a_table_does_not_have_are_named() {
    let world = World::new();
    world.fill(5);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    let id = |number: usize| format!(r#"{{"pk":"w{number:05}","sk":"a"}}"#);
    let read = || -> Result<KnownIds<'_>, String> { Ok(Box::new([0, 1, 3, 4].map(id).into_iter().map(Ok))) };
    let against = Against::Ids {
        count: 4,
        read: &read,
    };
    assert_eq!(gaps(&reindexer, &against).await, [id(2)]);

    world.table("index", false);
    for number in [0, 2, 4] {
        let put = PutItem {
            table_name: "index".to_owned(),
            item: Item::from([
                ("pk", number.to_string()),
                ("sk", "a".to_owned()),
                ("source", id(number)),
            ]),
            ..PutItem::default()
        };
        world.engine.run(put).unwrap();
    }
    let against = Against::Table {
        name: "index".to_owned(),
        attribute: Some("source".to_owned()),
    };
    assert_eq!(gaps(&reindexer, &against).await, [id(1), id(3)]);
}

/// A target that refuses one row and can be unavailable.
#[derive(Default)]
struct Picky {
    taken: Mutex<Vec<String>>,
    refuses: Mutex<Option<String>>,
    away: Mutex<u32>,
}

impl Target for Picky {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(async move {
            let mut away = self.away.lock();
            if *away > 0 {
                *away -= 1;
                return Outcome::Unavailable("nothing answers".to_owned());
            }
            let pk = |index: usize| {
                batch.deliveries[index]
                    .change
                    .keys
                    .get("pk")
                    .unwrap()
                    .as_s()
                    .unwrap()
            };
            let is_refused = |index: usize| self.refuses.lock().as_deref() == Some(pk(index));
            if (0..batch.deliveries.len()).any(is_refused) {
                return Outcome::Refused("one is bad".to_owned());
            }
            let keys = (0..batch.deliveries.len()).map(|index| pk(index).to_owned());
            self.taken.lock().extend(keys);
            Outcome::Done
        })
    }
}

struct OneRoute {
    target: Arc<Picky>,
    own: Arc<dyn Database>,
}

struct Untyped;

impl Typer for Untyped {
    fn entity(&self, _table: &str, _item: &Item) -> Option<Arc<str>> {
        None
    }
}

impl ReindexHost for OneRoute {
    fn touches_unheard(&self, _table: &str) -> Option<String> {
        None
    }

    fn sender(&self, name: &str) -> Result<RowSender, String> {
        let text = format!(
            "[route.index]\ntable = \"{TABLE}\"\nbatch_size = 8\ntarget = {{ handler = \"index\" }}\n"
        );
        let routes: Vec<Route> = read_routes(&text, &[], &|_: &Destination| Vec::new()).routes;
        let route = routes.into_iter().find(|route| route.name == name);
        let route = route.ok_or_else(|| format!("there is no route {name}"))?;
        let target = Arc::clone(&self.target);
        let open = move |_: &Route| Ok(Door::Target(target.clone() as _));
        RowSender::open(&route, &open, Arc::new(Untyped), Arc::clone(&self.own))
    }

    fn model(&self, _table: &str) -> Option<(Arc<Model>, String)> {
        None
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        None
    }
}

fn sending(world: &World) -> (Reindexer, Arc<Picky>) {
    let target = Arc::new(Picky::default());
    let own: Arc<dyn Database> = Arc::new(world.engine.clone());
    let host = OneRoute {
        target: Arc::clone(&target),
        own: Arc::clone(&own),
    };
    let touch = Arc::new(TouchByUpdate::new(Arc::clone(&own)));
    (world.reindexer_with(own, touch, Arc::new(host)), target)
}

fn send(name: &str) -> StartReindex {
    StartReindex {
        name: Some(name.to_owned()),
        page_rows: 20,
        ..StartReindex::send(TABLE, "index")
    }
}

#[tokio::test]
async fn rows_are_sent_without_a_write_and_the_one_that_is_refused_is_named() {
    let world = World::new();
    world.fill(100);
    let (reindexer, target) = sending(&world);
    *target.refuses.lock() = Some("w00042".to_owned());
    *target.away.lock() = 5;
    reindexer.start(send("one")).await.unwrap();
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    let mut taken = target.taken.lock().clone();
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 99);
    assert!(world.records().is_empty(), "nothing is written");
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (status.counts.done, status.dead_letters, status.version),
        (99, 1, None)
    );
    assert!(status.counts.throttled > 0, "{status:?}");
    let id = r#"{"pk":"w00042","sk":"a"}"#.to_owned();
    assert_eq!(gaps(&reindexer, &Against::Itself).await, [id]);

    *target.refuses.lock() = None;
    assert_eq!(reindexer.replay("one").await.unwrap(), 1);
    reindexer.work("one").await.unwrap();
    assert_eq!(gaps(&reindexer, &Against::Itself).await, Vec::<String>::new());
    assert_eq!(target.taken.lock().iter().filter(|pk| *pk == "w00042").count(), 1);
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (status.rows, status.waiting),
        (100, 0),
        "a row that is sent again is no further row"
    );
}

#[tokio::test]
async fn a_partition_without_rows_that_was_to_be_sent_is_named_until_it_has_rows() {
    let world = World::new();
    world.fill(3);
    let (reindexer, target) = sending(&world);
    let ids = ["w00001", "nowhere"].map(str::to_owned);
    let asked = StartReindex {
        scope: ReindexScope::Ids(ids.into()),
        ..send("one")
    };
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(*target.taken.lock(), ["w00001"]);
    assert_eq!(gaps(&reindexer, &Against::Itself).await, ["nowhere"]);

    world.put("nowhere", "a", &[]);
    assert_eq!(reindexer.replay("one").await.unwrap(), 1);
    reindexer.work("one").await.unwrap();
    assert_eq!(*target.taken.lock(), ["w00001", "nowhere"]);
    assert_eq!(gaps(&reindexer, &Against::Itself).await, Vec::<String>::new());
}

#[tokio::test]
async fn while_the_target_is_away_the_status_says_why_nothing_goes_on() {
    let world = World::new();
    world.fill(10);
    let (reindexer, target) = sending(&world);
    *target.away.lock() = u32::MAX;
    reindexer.start(send("one")).await.unwrap();
    let at_work = reindexer.clone();
    let working = tokio::spawn(async move { at_work.work("one").await });
    let status = loop {
        let status = reindexer.status("one").await.unwrap();
        if status.held_up.is_some() {
            break status;
        }
        assert!(!working.is_finished());
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(status.held_up.unwrap().contains("nothing answers"));
    assert!(status.counts.retries > 0 && status.counts.done == 0);
    *target.away.lock() = 0;
    working.await.unwrap().unwrap();
    assert_eq!(reindexer.status("one").await.unwrap().held_up, None);
}

#[tokio::test]
async fn rows_of_pages_that_were_not_sent_are_gaps_and_an_unknown_route_is_refused() {
    let world = World::new();
    world.fill(30);
    let (reindexer, _) = sending(&world);
    reindexer.start(send("one")).await.unwrap();
    assert_eq!(gaps(&reindexer, &Against::Itself).await.len(), 30);
    reindexer.cancel("one").await.unwrap();
    let unknown = StartReindex {
        scope: ReindexScope::First(1),
        ..StartReindex::send(TABLE, "nowhere")
    };
    let error = reindexer.start(unknown).await.unwrap_err().to_string();
    assert!(error.contains("there is no route nowhere"), "{error}");
}
