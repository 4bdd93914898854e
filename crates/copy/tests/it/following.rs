//! Rows that are written and deleted during the copy, and a copy that is stopped and continued.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use trestle_api::{DeleteItem, DescribeTable, StreamViewType};
use trestle_copy::{CopyEnd, CopyOrder, CopyPhase, SideKind, StateFile};
use trestle_embedded::Embedded;

use crate::support::{Pair, key, put, row, rows, runtime, table, with_stream};

const ROWS: u64 = 400;

/// Writes and deletes rows, including those that are being copied, until told to stop.
fn write(db: &Embedded, seed: u64, is_over: &AtomicBool) {
    let mut random = seed;
    for version in 1.. {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = (random >> 33) % (ROWS + 50);
        match (random >> 20) % 3 {
            0 => {
                let delete = DeleteItem {
                    table_name: "t".to_owned(),
                    key: key(number),
                    ..DeleteItem::default()
                };
                db.run(delete).unwrap();
            }
            _ => put(db, row(number, version)),
        }
    }
}

#[test]
fn what_is_written_and_deleted_meanwhile_is_the_same_on_both_sides() {
    for view in [
        None,
        Some(StreamViewType::KeysOnly),
        Some(StreamViewType::OldImage),
    ] {
        let pair = Pair::new(SideKind::Endpoint);
        pair.from
            .run(match view {
                None => table("t"),
                Some(view) => with_stream(table("t"), view),
            })
            .unwrap();
        for number in 0..ROWS {
            put(&pair.from, row(number, 0));
        }
        let (is_over, state) = (AtomicBool::new(false), pair.state());
        let (orders, told) = watch::channel(CopyOrder::default());
        let job = pair.job();
        let report = std::thread::scope(|scope| {
            for seed in 0..2 {
                let (db, is_over) = (&pair.from, &is_over);
                scope.spawn(move || write(db, seed, is_over));
            }
            runtime().block_on(async {
                let running = job.run(state, told);
                let steering = async {
                    while job.progress.status().phase != "following" {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    is_over.store(true, Ordering::SeqCst);
                    orders.send_modify(|order| order.cut_over = true);
                    // Commands can be sent until the copy has ended.
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    report = running => report.unwrap(),
                    () = steering => panic!("it does not end"),
                }
            })
        });
        assert_eq!(report.end, CopyEnd::Done);
        assert!(report.changes > 0);
        assert_eq!(rows(&pair.to, "t"), rows(&pair.from, "t"));
        let request = DescribeTable {
            table_name: "t".to_owned(),
        };
        let stream = |db: &Embedded| db.run(request.clone()).unwrap().table.stream_specification;
        let wanted = view.map(|view| (true, Some(view)));
        for db in [&pair.from, &pair.to] {
            let there = stream(db).filter(|stream| stream.stream_enabled);
            assert_eq!(
                there.map(|stream| (stream.stream_enabled, stream.stream_view_type)),
                wanted
            );
        }
    }
}

#[test]
fn a_copy_that_is_stopped_goes_on_and_knows_what_was_deleted_meanwhile() {
    let pair = Pair::new(SideKind::Endpoint);
    pair.from.run(table("t")).unwrap();
    for number in 0..ROWS {
        put(&pair.from, row(number, 0));
    }
    let (orders, told) = watch::channel(CopyOrder::default());
    let job = pair.job();
    let stopped = runtime().block_on(async {
        let stop = async {
            while job.progress.status().rows < ROWS / 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            orders.send_modify(|order| order.stop = true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            report = job.run(pair.state(), told) => report.unwrap(),
            () = stop => panic!("it does not end"),
        }
    });
    assert_eq!(stopped.end, CopyEnd::Stopped);
    for number in 0..ROWS {
        match number % 3 {
            0 => {
                let delete = DeleteItem {
                    table_name: "t".to_owned(),
                    key: key(number),
                    ..DeleteItem::default()
                };
                pair.from.run(delete).unwrap();
            }
            1 => put(&pair.from, row(number, 7)),
            _ => {}
        }
    }
    let report = pair.copy().unwrap();
    assert_eq!(report.end, CopyEnd::Done);
    assert_eq!(rows(&pair.to, "t"), rows(&pair.from, "t"));
    // Another run reports that it is done.
    assert_eq!(pair.copy().unwrap().end, CopyEnd::Done);
}

#[test]
fn a_state_belongs_to_one_copy_and_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let open = |from: &str| StateFile::open(&path, from, "b", 1);
    let state = open("a").unwrap();
    assert!(StateFile::is_in_use(&path).unwrap());
    assert!(open("a").err().unwrap().to_string().contains("another process"));
    drop(state);
    assert!(!StateFile::is_in_use(&path).unwrap());
    // Nothing has been stored yet.
    assert!(StateFile::read(&path).unwrap().is_none());
    std::fs::write(&path, b"{").unwrap();
    assert!(open("a").err().unwrap().to_string().contains("state.json"));
    let pair = Pair::new(SideKind::Directory);
    pair.from.run(table("t")).unwrap();
    pair.copy().unwrap();
    assert_eq!(pair.stored().phase, CopyPhase::Done);
    assert!(
        pair.open_as("other")
            .err()
            .unwrap()
            .to_string()
            .contains("from from to to")
    );
}
