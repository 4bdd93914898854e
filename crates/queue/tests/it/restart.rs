//! The state after the database was closed and opened again.

use std::path::Path;
use std::sync::Arc;

use trestle_queue::NewMessage;
use trestle_store::{FjallStore, Settings};

use crate::support::{Fixture, redrive};

/// Runs work on the database in a directory, in a separate runtime: tasks still running end with it, as when
/// a program stops.
fn run<T>(directory: &Path, work: impl AsyncFnOnce(Fixture) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = FjallStore::open(directory, Settings::default()).unwrap();
    runtime.block_on(work(Fixture::on(Arc::new(store))))
}

#[test]
fn nothing_is_lost_nothing_deleted_comes_back_and_flights_land() {
    let directory = tempfile::tempdir().unwrap();
    let handle = run(directory.path(), async |fixture| {
        fixture.create("dead", &[]).await;
        let policy = redrive("dead", 2);
        fixture.create("work", &[("RedrivePolicy", &policy)]).await;
        let batch = (0..9).map(|n| NewMessage::from(n.to_string())).collect();
        fixture.queues.send_batch("work", batch).await.unwrap();
        let got = fixture.receive("work", 6).await;
        for message in &got[..3] {
            fixture
                .queues
                .delete("work", &message.receipt_handle)
                .await
                .unwrap();
        }
        got[3].receipt_handle.clone()
    });
    run(directory.path(), async |fixture| {
        let counts = fixture.queues.counts("work").await.unwrap();
        assert_eq!((counts.visible, counts.in_flight), (3, 3));
        assert_eq!(fixture.bodies("work").await, ["6", "7", "8"]);
        // A handle from before the restart is still valid.
        fixture.queues.delete("work", &handle).await.unwrap();
        fixture.advance(30);
        let again = fixture.receive("work", 10).await;
        let seen: Vec<_> = again
            .iter()
            .map(|one| (one.body.as_str(), one.receives))
            .collect();
        assert_eq!(seen, [("4", 2), ("5", 2), ("6", 2), ("7", 2), ("8", 2)]);
    });
    run(directory.path(), async |fixture| {
        fixture.advance(60);
        assert!(fixture.bodies("work").await.is_empty());
        assert_eq!(fixture.bodies("dead").await, ["4", "5", "6", "7", "8"]);
    });
}

#[test]
fn rows_of_a_purged_queue_are_deleted_even_if_the_program_stopped_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let before = run(directory.path(), async |fixture| {
        fixture.create("work", &[]).await;
        let before = fixture.rows();
        for _ in 0..30 {
            let batch = (0..10).map(|n| NewMessage::from(n.to_string())).collect();
            fixture.queues.send_batch("work", batch).await.unwrap();
        }
        fixture.queues.purge("work").await.unwrap();
        before
    });
    run(directory.path(), async |fixture| {
        assert!(fixture.bodies("work").await.is_empty());
        while fixture.rows() > before {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    });
}
