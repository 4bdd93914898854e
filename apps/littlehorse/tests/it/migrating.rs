//! Rows move from the legacy layout to the grouped one, compared with a second database whose rows do not
//! move.

use std::sync::Arc;

use serde_json::{Value, json};
use trestle::api::OperationName;
use trestle::migrate::{MigrationState, MigrationStatus, MigrationStep};
use trestle::{MemoryStore, OperationReads, Store as _};

use crate::history::{self, RUNS, SEARCHES, TENANTS, answers, assert_same, one_page};
use crate::kept::{places, tags};
use crate::support::World;

pub(crate) fn status(world: &World) -> MigrationStatus {
    world.migration().status()
}

/// One page of the sweep: a few rows.
pub(crate) fn sweep_page(world: &World) -> MigrationStatus {
    world.migration().sweep_page()
}

/// What is left of the sweep.
pub(crate) fn sweep_all(world: &World) -> MigrationStatus {
    world.migration().sweep_all()
}

/// Two databases with the same history.
async fn twins() -> (World, World) {
    let (one, two) = (World::old().await, World::old().await);
    history::begin(&one).await;
    history::begin(&two).await;
    (one, two)
}

/// Bookmarks of a list in the migrating database, and of the same positions in the other one.
struct Taken {
    path: String,
    limit: usize,
    theirs: String,
    ours: String,
}

/// The bookmark behind the first page of each list, for pages of these sizes.
async fn take_bookmarks(twin: &World, moving: &World, into: &mut Vec<Taken>) {
    for path in history::lists(&[RUNS[0], RUNS[2], FRESH]) {
        for limit in [1, 3] {
            let theirs = one_page(twin, &path, limit, None).await;
            let ours = one_page(moving, &path, limit, None).await;
            assert_eq!(ours.0, theirs.0, "{path}, the first page of {limit}");
            assert_eq!(ours.1.is_some(), theirs.1.is_some(), "{path}, pages of {limit}");
            let taken = |(theirs, ours)| Taken {
                path: path.clone(),
                limit,
                theirs,
                ours,
            };
            into.extend(theirs.1.zip(ours.1).map(taken));
        }
    }
}

/// The page after each bookmark is the same in both.
async fn check_bookmarks(twin: &World, moving: &World, taken: &[Taken], moment: &str) {
    for Taken {
        path,
        limit,
        theirs,
        ours,
    } in taken
    {
        let expected = one_page(twin, path, *limit, Some(theirs)).await;
        let found = one_page(moving, path, *limit, Some(ours)).await;
        assert_eq!(found.0, expected.0, "{moment}: {path}, pages of {limit}");
        assert_eq!(found.1.is_some(), expected.1.is_some(), "{moment}: {path}");
    }
}

#[tokio::test]
async fn point_02_every_answer_before_during_and_after_equals_that_of_a_twin_that_was_not_upgraded() {
    let (twin, moving) = twins().await;
    let before = answers(&twin, 100).await;
    assert_same(&before, &answers(&moving, 100).await, "before");
    let moving = moving.upgrade().await;
    assert_eq!(status(&moving).state, MigrationState::Dual);
    assert_same(&before, &answers(&moving, 100).await, "after the start");
    let mut sizes = [1, 2, 3, 4, 100].into_iter().cycle();
    let mut states = Vec::new();
    loop {
        let (now, page) = (sweep_page(&moving), sizes.next().unwrap());
        states.push(now.state);
        let moment = format!("{} {:.2}, pages of {page}", now.state, now.done);
        assert_same(
            &answers(&twin, page).await,
            &answers(&moving, page).await,
            &moment,
        );
        if now.state == MigrationState::Verified {
            break;
        }
    }
    let sweeping = states.iter().filter(|state| **state == MigrationState::Sweeping);
    assert!(
        sweeping.count() >= 5,
        "each size of a page, while some rows have moved: {states:?}"
    );
    moving.migration().step(MigrationStep::Finish);
    assert_same(&before, &answers(&moving, 100).await, "when it is over");
}

#[tokio::test]
async fn point_02_runs_go_on_while_their_rows_move_and_end_as_those_of_the_twin() {
    let (twin, moving) = twins().await;
    let moving = moving.upgrade().await;
    // The next command of each run, one after each page of the sweep.
    let further = TENANTS.iter().flat_map(|tenant| {
        let of = move |(at, run)| {
            (at..6)
                .filter(|which| *which != 3)
                .map(move |which| (*tenant, run, which))
        };
        RUNS.into_iter().enumerate().flat_map(of)
    });
    let mut states = Vec::new();
    for (at, (tenant, run, which)) in further.enumerate() {
        // The last run was stopped; its further commands are kept.
        history::step(&twin, tenant, run, which).await;
        history::step(&moving, tenant, run, which).await;
        if at % 3 == 0 {
            states.push(sweep_page(&moving).state);
            let moment = format!("{run} of {tenant}, step {which}");
            assert_same(&answers(&twin, 4).await, &answers(&moving, 4).await, &moment);
        }
    }
    assert!(states.contains(&MigrationState::Sweeping), "{states:?}");
    for world in [&twin, &moving] {
        for tenant in TENANTS {
            world.command(tenant, "z", json!("resume")).await;
        }
        world.advance(3601);
    }
    for tenant in TENANTS {
        for run in ["wf", "wf-2", "wf-2-2", "w", "z"] {
            twin.wait_for(tenant, run, "COMPLETED").await;
            moving.wait_for(tenant, run, "COMPLETED").await;
        }
    }
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    assert_same(
        &answers(&twin, 100).await,
        &answers(&moving, 100).await,
        "in the end",
    );
}

/// The reads of a request, by operation.
async fn reads(world: &World, operation: OperationName, path: &str) -> OperationReads {
    let before = world.embedded().storage_reads();
    world.ask("GET", path, None).await;
    world.embedded().storage_reads().since(&before).of(operation)
}

async fn lookups(world: &World, path: &str) -> u64 {
    reads(world, OperationName::GetItem, path).await.point_lookups
}

/// Whether a row is read in so many lookups. How many there are is known of an engine in this process only.
async fn is_read_in(world: &World, path: &str, expected: u64) -> bool {
    testing::is_at_endpoint() || lookups(world, path).await == expected
}

const RUN: &str = "/tenants/acme/wf-runs/wf";
const NODE: &str = "/tenants/acme/wf-runs/wf/node-runs/0/0";
const MISSING: &str = "/tenants/acme/wf-runs/none";

#[tokio::test]
async fn point_03_a_row_in_its_place_is_one_lookup_and_only_during_the_migration_a_miss_is_two() {
    let fresh = World::new().await;
    history::begin(&fresh).await;
    assert_eq!(
        (lookups(&fresh, RUN).await, lookups(&fresh, MISSING).await),
        (1, 1),
        "a fresh table"
    );
    let old = World::old().await;
    history::begin(&old).await;
    assert_eq!(
        (lookups(&old, RUN).await, lookups(&old, MISSING).await),
        (1, 1),
        "before"
    );
    let moving = old.upgrade().await;
    assert_eq!(
        (lookups(&moving, RUN).await, lookups(&moving, MISSING).await),
        (2, 2),
        "new, then legacy"
    );
    moving.command("acme", "wf", json!("stop")).await;
    assert_eq!(lookups(&moving, RUN).await, 1, "it moved, and is found at once");
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    assert_eq!(
        (lookups(&moving, RUN).await, lookups(&moving, MISSING).await),
        (1, 1),
        "after"
    );
}

#[tokio::test]
async fn point_04_the_step_that_processes_a_row_moves_it_in_its_own_commit_and_no_other() {
    let old = World::old().await;
    history::begin(&old).await;
    let moving = old.upgrade().await;
    let before = moving.get(RUN).await;
    moving.command("acme", "wf", json!("stop")).await;
    let after = moving.get(RUN).await;
    assert_eq!(after["status"], "HALTED");
    assert_eq!(
        after["revision"].as_i64(),
        before["revision"].as_i64().map(|revision| revision + 1)
    );
    assert_eq!(lookups(&moving, RUN).await, 1, "the run moved");
    assert_eq!(lookups(&moving, NODE).await, 2, "its first node was only read");
    let found = one_page(&moving, "/tenants/acme/search/wf-runs?status=HALTED", 100, None)
        .await
        .0;
    let runs = found.iter().filter(|row| row["wfRunId"] == "wf");
    assert_eq!(runs.count(), 1, "one visible copy, in searches too");
}

#[tokio::test]
async fn point_05_a_read_never_writes() {
    let store = Arc::new(MemoryStore::new());
    let old = World::old_on(store.clone()).await;
    history::begin(&old).await;
    // Timers stand still: what is committed is what requests commit.
    let (clock, embedded) = old.upgrade().await.stop().await;
    let moving = World::still(clock, embedded);
    let mut states = Vec::new();
    loop {
        states.push(status(&moving).state);
        let (commits, lie) = (store.stats().last_commit, places(&*store));
        answers(&moving, 3).await;
        moving.ask("GET", MISSING, None).await;
        moving.get("/migration").await;
        assert_eq!(
            store.stats().last_commit,
            commits,
            "{states:?}: a read committed something"
        );
        assert_eq!(places(&*store), lie, "{states:?}: a read moved a row");
        if states.last() == Some(&MigrationState::Verified) {
            break;
        }
        for _ in 0..4 {
            if sweep_page(&moving).state == MigrationState::Verified {
                break;
            }
        }
    }
    assert!(
        states.contains(&MigrationState::Dual) && states.contains(&MigrationState::Sweeping),
        "{states:?}"
    );
    moving.command("acme", "wf", json!("stop")).await;
    assert!(store.stats().last_commit > 0, "commits are counted");
}

/// A run that waits for its first task and has events that no node has waited for yet.
const FRESH: &str = "fresh";

async fn begin_fresh(world: &World) {
    for tenant in TENANTS {
        world
            .run(tenant, "order", FRESH, json!({ "orderId": "o-fresh" }))
            .await;
        for (name, guid) in [("note", "early"), ("payment", "early"), ("payment", "late")] {
            world.advance(1);
            let event = json!({ "eventName": name, "guid": guid, "content": "1" });
            world.command(tenant, FRESH, json!({ "putEvent": event })).await;
        }
    }
}

#[tokio::test]
async fn point_06_a_list_is_one_merge_without_duplicates_whatever_the_page_and_the_bookmark() {
    let (twin, moving) = twins().await;
    begin_fresh(&twin).await;
    begin_fresh(&moving).await;
    let mut before = Vec::new();
    take_bookmarks(&twin, &moving, &mut before).await;
    assert!(before.len() > 30, "{}", before.len());
    let moving = moving.upgrade().await;
    check_bookmarks(&twin, &moving, &before, "taken before, used after the start").await;
    // Its task completes node 1, assigns the second variable and lets the next node claim an event between
    // two others. Its user task completes node 3 and assigns the first variable. Rewritten rows move, and
    // their neighbours in the list do not: upstream's list then showed a row twice, or skipped it.
    for which in [0, 2] {
        let mut held = Vec::new();
        take_bookmarks(&twin, &moving, &mut held).await;
        for world in [&twin, &moving] {
            history::step(world, TENANTS[0], FRESH, which).await;
        }
        let moment = format!("dual, behind step {which}");
        check_bookmarks(&twin, &moving, &before, &moment).await;
        check_bookmarks(&twin, &moving, &held, &moment).await;
    }
    for (row, expected) in [
        ("node-runs/0/0", 2),
        ("node-runs/0/1", 1),
        ("variables/0/greeting", 1),
        ("variables/0/name", 2),
        ("external-events/note/early", 2),
        ("external-events/payment/early", 1),
        ("external-events/payment/late", 2),
    ] {
        let row = format!("/tenants/{}/wf-runs/{FRESH}/{row}", TENANTS[0]);
        assert!(is_read_in(&moving, &row, expected).await, "{row}");
    }
    let mut states = Vec::new();
    let further = [
        (1, FRESH, 0),
        (0, RUNS[0], 1),
        (1, FRESH, 2),
        (0, RUNS[2], 2),
        (1, RUNS[1], 1),
    ];
    let mut further = further.into_iter();
    loop {
        let mut held = Vec::new();
        take_bookmarks(&twin, &moving, &mut held).await;
        if let Some((tenant, run, which)) = further.next() {
            for world in [&twin, &moving] {
                history::step(world, TENANTS[tenant], run, which).await;
            }
        }
        let now = sweep_page(&moving);
        let moment = format!("{} {:.2}", now.state, now.done);
        check_bookmarks(&twin, &moving, &before, &moment).await;
        check_bookmarks(&twin, &moving, &held, &moment).await;
        states.push(now.state);
        if now.state == MigrationState::Verified {
            break;
        }
    }
    assert_eq!(further.next(), None, "the sweep ended before the steps did");
    assert!(
        states
            .iter()
            .filter(|state| **state == MigrationState::Sweeping)
            .count()
            > 2,
        "{states:?}"
    );
    // Bookmarks of the previous version are understood until here. Those of the present one stay valid.
    let mut held = Vec::new();
    take_bookmarks(&twin, &moving, &mut held).await;
    moving.migration().step(MigrationStep::Finish);
    check_bookmarks(&twin, &moving, &held, "when it is over").await;
}

#[tokio::test]
async fn point_08_both_ranges_are_read_only_while_the_migration_is_under_way() {
    const LIST: &str = "/tenants/acme/wf-runs/wf/node-runs";
    // Tags do not move: there is one place to look for them.
    const SEARCH: &str = "/tenants/acme/search/node-runs?status=COMPLETED&type=TASK";
    let ranges = async |world: &World| {
        let list = reads(world, OperationName::Query, LIST).await;
        let search = reads(world, OperationName::Query, SEARCH).await;
        [list, search].map(|reads| (reads.ranges, reads.double_reads))
    };
    let once = [(1, 0); 2];
    let fresh = World::new().await;
    history::begin(&fresh).await;
    assert_eq!(ranges(&fresh).await, once, "a fresh table");
    let old = World::old().await;
    history::begin(&old).await;
    assert_eq!(ranges(&old).await, once, "before");
    let moving = old.upgrade().await;
    assert_eq!(ranges(&moving).await, [(2, 1), (1, 0)], "during");
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    assert_eq!(ranges(&moving).await, once, "after");
    moving.migration().step(MigrationStep::Finish);
    assert_eq!(ranges(&moving).await, once, "when it is over");
}

/// The bytes of every page of every search, bookmarks included.
async fn searches(world: &World) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for (tenant, search) in TENANTS
        .iter()
        .flat_map(|tenant| SEARCHES.map(|search| (tenant, search)))
    {
        let mut path = format!("/tenants/{tenant}/search/{search}&limit=2");
        loop {
            let text = world.text(&path).await;
            let page: Value = serde_json::from_str(&text).unwrap();
            texts.push((path.clone(), text));
            match page["bookmark"].as_str() {
                Some(next) => path = format!("/tenants/{tenant}/search/{search}&limit=2&bookmark={next}"),
                None => break,
            }
        }
    }
    texts
}

#[tokio::test]
async fn point_10_searches_and_stored_tags_are_byte_for_byte_the_same_before_and_after() {
    let store = Arc::new(MemoryStore::new());
    let old = World::old_on(store.clone()).await;
    history::begin(&old).await;
    let (answered, stored) = (searches(&old).await, tags(&*store));
    let found = answered.iter().filter(|(_, text)| text.contains("wfRunId"));
    assert!(
        found.count() > SEARCHES.len() && answered.len() > 2 * SEARCHES.len() * 3 / 2,
        "{answered:?}"
    );
    assert!(stored.len() > 100, "{} tags", stored.len());
    let check = async |world: &World, moment: &str| {
        assert_eq!(searches(world).await, answered, "{moment}");
        assert_eq!(tags(&*store), stored, "{moment}: tags as they lie in storage");
    };
    let moving = old.upgrade().await;
    check(&moving, "after the start").await;
    for _ in 0..5 {
        sweep_page(&moving);
    }
    assert_eq!(status(&moving).state, MigrationState::Sweeping);
    check(&moving, "when some rows have moved").await;
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    check(&moving, "after").await;
    moving.migration().step(MigrationStep::Finish);
    check(&moving, "when it is over").await;
}

#[tokio::test]
async fn point_11_the_sweep_ends_nothing_is_left_and_the_old_keys_can_be_switched_off() {
    let old = World::old().await;
    history::begin(&old).await;
    let legacy = ("acme", "0/3/wf");
    assert!(crate::layouts::raw(&old, legacy).is_some());
    let moving = old.upgrade().await;
    let swept = sweep_all(&moving);
    assert_eq!((swept.state, swept.rows_remaining), (MigrationState::Verified, 0));
    assert!(swept.rows_moved > 50, "{swept}");
    assert_eq!(moving.get("/migration").await["state"], "verified");
    assert!(
        crate::layouts::raw(&moving, legacy).is_some(),
        "old keys are understood until the end"
    );
    moving.migration().step(MigrationStep::Finish);
    assert_eq!(moving.get("/migration").await["state"], "done");
    assert_eq!(crate::layouts::raw(&moving, legacy), None);
    assert_eq!(crate::layouts::legacy_rows(&moving), 0);
}

#[tokio::test]
async fn point_14_a_rollback_at_any_moment_brings_every_answer_back_and_a_second_try_succeeds() {
    let (twin, mut moving) = twins().await;
    for pages in [0, 2, usize::MAX] {
        moving = moving.upgrade().await;
        for tenant in TENANTS {
            history::step(&twin, tenant, "wf", 20 + pages % 7).await;
            history::step(&moving, tenant, "wf", 20 + pages % 7).await;
        }
        for _ in 0..pages {
            if sweep_page(&moving).state == MigrationState::Verified {
                break;
            }
        }
        moving.roll_back();
        moving = moving.downgrade().await;
        assert_same(
            &answers(&twin, 3).await,
            &answers(&moving, 3).await,
            "while rows move back",
        );
        assert_eq!(sweep_all(&moving).state, MigrationState::RolledBack);
        assert_same(&answers(&twin, 3).await, &answers(&moving, 3).await, "back");
    }
    let moving = moving.upgrade().await;
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    assert_same(
        &answers(&twin, 100).await,
        &answers(&moving, 100).await,
        "the last try",
    );
}
