//! Rows that differ are found, reported and repaired.

use tokio::sync::watch;
use trestle_api::DeleteItem;
use trestle_copy::{CopyError, CopyOrder, SideKind};

use crate::support::{Pair, key, put, row, rows, runtime, table};

/// A copy that was stopped when everything was copied; then a row was written at the target.
fn meddled_with() -> Pair {
    let pair = Pair::new(SideKind::Endpoint);
    pair.from.run(table("t")).unwrap();
    for number in 0..200 {
        put(&pair.from, row(number, 0));
    }
    let (orders, told) = watch::channel(CopyOrder::default());
    let job = pair.job();
    runtime().block_on(async {
        let stop = async {
            while job.progress.status().phase != "following" {
                tokio::task::yield_now().await;
            }
            orders.send_modify(|order| order.stop = true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            report = job.run(pair.state(), told) => drop(report.unwrap()),
            () = stop => {}
        }
    });
    put(&pair.to, row(5, 9));
    put(&pair.to, row(900, 9));
    let delete = DeleteItem {
        table_name: "t".to_owned(),
        key: key(7),
        ..DeleteItem::default()
    };
    pair.to.run(delete).unwrap();
    pair
}

#[test]
fn rows_that_differ_are_named_and_nothing_is_cut_over() {
    let pair = meddled_with();
    let Err(CopyError::Differs(why)) = pair.copy() else {
        panic!("the difference was not found");
    };
    assert!(why.starts_with("3 rows differ; nothing was cut over"), "{why}");
    for words in [
        "different at the target: {\"pk\":{\"S\":\"row-00005\"}}",
        "extra",
        "row-00900",
        "missing",
        "row-00007",
    ] {
        assert!(why.contains(words), "{words}: {why}");
    }
}

#[test]
fn they_are_copied_again_if_asked_for() {
    let mut pair = meddled_with();
    pair.settings.repair = true;
    let report = pair.copy().unwrap();
    assert_eq!(report.verified[0].repaired, 3);
    assert_eq!(rows(&pair.to, "t"), rows(&pair.from, "t"));
}
