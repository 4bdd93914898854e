//! The process is killed while rows move.

use std::fs;
use std::path::Path;

use trestle::binding::MigrationState;
use trestle::{Engine, Options};

use super::answers::{self, assert_same};
use super::{First, Migrating, REGIONS, store_in};

/// What a process that is killed at this moment leaves: nobody told it to end.
fn as_it_is(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            as_it_is(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test]
async fn point_12_a_process_that_is_killed_at_any_page_goes_on_when_it_is_started_again() {
    let place = tempfile::tempdir().unwrap();
    let running = place.path().join("running");
    let first = First::in_directory(&running).await;
    let before = answers::first(&first.db).await;
    let moving = first.migrate();
    let mut killed = 0;
    let mut left = vec![moving.status().state];
    moving
        .sweep(async |status| {
            if killed % 4 == 0 {
                let copy = place.path().join(format!("killed-{killed}"));
                as_it_is(&running, &copy);
                let again = restarted(&copy, &moving);
                left.push(again.status().state);
                let moment = format!("killed at {} {:.2}", status.state, status.done);
                assert_same(&before, &answers::present(&again.app().db, 100).await, &moment);
                again.page();
                assert_same(&before, &answers::present(&again.app().db, 7).await, &moment);
                assert_eq!(again.sweep_all().state, MigrationState::Verified, "{moment}");
                assert_same(&before, &answers::present(&again.app().db, 100).await, &moment);
                again.finish();
                again
                    .app()
                    .db
                    .deployed_in_region(REGIONS[0])
                    .collect()
                    .await
                    .unwrap();
            }
            killed += 1;
        })
        .await;
    assert!(killed > 8, "{killed}");
    assert!(
        left.contains(&MigrationState::Sweeping) && left.contains(&MigrationState::Verifying),
        "{left:?}"
    );
}

/// The next process.
fn restarted(place: &Path, before: &Migrating) -> Migrating {
    let clock = before.world.clock.clone();
    let engine = Engine::on(store_in(place), clock.clone(), Options::default()).unwrap();
    Migrating::on(engine, clock, before.world.layers.clone())
}
