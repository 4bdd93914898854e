//! Derived rows are repaired after rows change without a gateway, by clients that write to the endpoint
//! directly or because they expire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trestle_api::{
    Database, DatabaseExt, DeleteItem, Error, PutItem, Request, ResponseFuture, UpdateItem, Wait,
};
use trestle_embedded::{RepairOptions, Unwatched};
use trestle_engine::{Engine, Upkeep};
use trestle_env::{Clock, VirtualClock};
use trestle_gateway::{Gateway, PastWrites, PastWritesOptions};
use trestle_item::{AttributeValue, Item, Map};

use crate::requests::{attribute, item, one, row};
use crate::support::{EVERYTHING, assert_exact, clock, endpoint, gateway_with, rows};

const TABLE: &str = "rows";

/// The model with a stream.
fn model() -> String {
    EVERYTHING.replace(
        "ttl = \"expires\"",
        "ttl = \"expires\"\nstream = \"new-and-old-images\"",
    )
}

struct Stage {
    clock: Arc<VirtualClock>,
    remote: Arc<Engine>,
    gateway: Gateway,
    watch: PastWrites,
}

fn stage(options: PastWritesOptions) -> Stage {
    let clock = clock();
    let remote = endpoint(Arc::clone(&clock) as Arc<dyn Clock>);
    remote.start_janitor(Upkeep::Everything).unwrap();
    let gateway = gateway_with(
        &model(),
        Arc::clone(&remote) as Arc<dyn Database>,
        Arc::clone(&clock) as _,
    );
    let follows = options.follow;
    let watch = gateway.watch_past_writes(options).unwrap();
    let stage = Stage {
        clock,
        remote,
        gateway,
        watch,
    };
    stage.eventually("the watch begins", || stage.watch.status().on_duty);
    // Its first read finds the end of the stream; a row shows that it has.
    if follows {
        stage.put(&json!({"kind": "seat", "seat": "0"}), None);
        stage.eventually("the stream is read", || {
            stage.touch();
            stage.watch.status().records > 0
        });
    }
    stage
}

impl Stage {
    fn touch(&self) {
        let update = UpdateItem {
            table_name: TABLE.to_owned(),
            key: Item::from([("pk", "seat"), ("sk", "0")]),
            update_expression: Some("SET note = :now".to_owned()),
            expression_attribute_values: Some(Map::from_iter([(
                ":now".to_owned(),
                AttributeValue::S(fastrand::u64(..).to_string()),
            )])),
            ..UpdateItem::default()
        };
        self.gateway.update_item(update).wait().unwrap();
    }

    fn eventually(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{what}: {:?}",
                self.watch.status()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Puts a row through the gateway, which may refuse it.
    fn put(&self, row: &Value, expires: Option<u64>) -> bool {
        let mut item = item(row);
        if let Some(expires) = expires {
            item.insert("expires", attribute(&json!(expires)));
        }
        let put = PutItem {
            table_name: TABLE.to_owned(),
            item,
            ..PutItem::default()
        };
        self.gateway.put_item(put).wait().is_ok()
    }

    fn is_exact(&self) -> bool {
        let options = RepairOptions {
            dry_run: true,
            ..RepairOptions::default()
        };
        let report = self.gateway.models().repair(&options, &mut Unwatched);
        report.is_ok_and(|report| report.is_clean())
    }

    /// Changes rows at the endpoint directly.
    fn write_past(&self, random: &mut fastrand::Rng, number: usize) {
        let all = rows(&*self.remote, TABLE);
        let row = &all[random.usize(..all.len())];
        let text = |name: &str| row.get(name).and_then(AttributeValue::as_s).unwrap_or_default();
        let key = Item::from([("pk", text("pk")), ("sk", text("sk"))]);
        // A count over such rows cannot be checked near a row: only a sweep finds the fault.
        let is_counted = ["order", "shop"].contains(&text("pk"));
        if is_counted {
            return;
        }
        match (text("kind"), random.u8(..3)) {
            (_, 0) => {
                let delete = DeleteItem {
                    table_name: TABLE.to_owned(),
                    key,
                    ..DeleteItem::default()
                };
                self.remote.delete_item(delete).wait().unwrap();
            }
            ("person", _) => self.change(key, "clubs", json!([one(random, &["c", "d", "e"])])),
            ("seat", _) => self.change(key, "person", json!(one(random, &["x", "y"]))),
            ("follows", _) => self.change(key, "since", json!(one(random, &["one", "two"]))),
            // A value that no other row has.
            ("doc", _) if text("sk") != "head" => self.change(key, "body", json!(format!("body {number}"))),
            _ => {}
        }
    }

    fn change(&self, key: Item, name: &str, value: Value) {
        let update = UpdateItem {
            table_name: TABLE.to_owned(),
            key,
            update_expression: Some("SET #n = :v".to_owned()),
            expression_attribute_names: Some([("#n".to_owned(), name.to_owned())].into()),
            expression_attribute_values: Some(Map::from_iter([(":v".to_owned(), attribute(&value))])),
            ..UpdateItem::default()
        };
        self.remote.update_item(update).wait().unwrap();
    }

    /// Writes rows through the gateway, half of which expire in an hour.
    fn fill(&self, random: &mut fastrand::Rng) {
        let in_an_hour = self.clock.now().as_secs() + 3600;
        for _ in 0..60 {
            let (row, _) = row(random);
            let expires = random.bool().then_some(in_an_hour);
            self.put(&row, expires);
        }
        assert_exact(&self.gateway, "before");
    }

    fn let_expire(&self) {
        let before = rows(&*self.remote, TABLE).len();
        self.clock.advance(Duration::from_secs(2 * 3600));
        let has_expired = |row: &Item| row.contains_key("expires") && row.get("who").is_none();
        self.eventually("rows expire", || {
            !rows(&*self.remote, TABLE).iter().any(has_expired)
        });
        assert!(rows(&*self.remote, TABLE).len() < before);
    }
}

const FOLLOWED: PastWritesOptions = PastWritesOptions {
    follow: true,
    recount: Duration::ZERO,
    sweep: None,
};

#[test]
fn rows_that_expire_at_the_endpoint_are_followed_by_what_follows_from_them() {
    for seed in 0..2 {
        let mut random = fastrand::Rng::with_seed(seed);
        let stage = stage(FOLLOWED);
        stage.fill(&mut random);
        stage.let_expire();
        stage.eventually("everything derived is exact", || stage.is_exact());
        // Rows can be correct before the last record was read.
        stage.eventually("expired rows are counted", || stage.watch.status().expired > 0);
    }
}

#[test]
fn rows_written_past_the_gateways_are_followed_by_what_follows_from_them() {
    for seed in 0..3 {
        let mut random = fastrand::Rng::with_seed(seed);
        let stage = stage(FOLLOWED);
        stage.fill(&mut random);
        for number in 0..40 {
            stage.write_past(&mut random, number);
        }
        stage.eventually("everything derived is exact", || stage.is_exact());
        let status = stage.watch.status();
        assert!(status.changed > 0, "{status:?}");
        assert_eq!(status.left_total, 0, "{status:?}");
    }
}

#[test]
fn without_a_watch_they_are_not_and_a_sweep_brings_them_in_line() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut stage = stage(PastWritesOptions {
        follow: false,
        ..FOLLOWED
    });
    stage.fill(&mut random);
    stage.let_expire();
    for number in 0..20 {
        stage.write_past(&mut random, number);
    }
    std::thread::sleep(Duration::from_secs(3));
    assert!(!stage.is_exact());
    let swept = PastWritesOptions {
        follow: false,
        sweep: Some(Duration::from_secs(60)),
        ..FOLLOWED
    };
    stage.watch = stage.gateway.watch_past_writes(swept).unwrap();
    stage.clock.advance(Duration::from_secs(120));
    stage.eventually("a sweep repairs all rows", || {
        stage.watch.status().repaired.is_some()
    });
    assert_exact(&stage.gateway, "after a sweep");
}

#[test]
fn a_watch_costs_no_writes_where_all_is_written_through_gateways() {
    let mut random = fastrand::Rng::with_seed(3);
    let stage = stage(FOLLOWED);
    for _ in 0..150 {
        let _ = stage
            .gateway
            .execute(crate::requests::request(&mut random))
            .wait();
    }
    stage.eventually("all records are read", || {
        let records = stage.watch.status().records;
        std::thread::sleep(Duration::from_millis(2500));
        records > 100 && stage.watch.status().records == records
    });
    let status = stage.watch.status();
    assert_eq!(
        (status.changed, status.mended.len(), status.is_due),
        (0, 0, false),
        "{status:?}"
    );
    assert_exact(&stage.gateway, "afterwards");
}

/// An endpoint that counts reads of rows by a gateway, and may refuse scans.
#[derive(Default)]
struct Counting {
    database: Option<Arc<dyn Database>>,
    reads: AtomicU64,
    scans: AtomicU64,
}

impl Database for Counting {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match &request {
            Request::GetItem(get) if get.table_name == TABLE => {
                self.reads.fetch_add(1, Ordering::Relaxed);
            }
            Request::Scan(scan) if scan.table_name == TABLE => {
                self.scans.fetch_add(1, Ordering::Relaxed);
                return Box::pin(async { Err(Error::internal("the endpoint is short of time")) });
            }
            _ => {}
        }
        self.database.as_ref().unwrap().execute(request)
    }
}

/// A gateway whose requests are counted, in addition to the one of a stage.
fn counted(stage: &Stage) -> (Arc<Counting>, Gateway) {
    let counting = Arc::new(Counting {
        database: Some(Arc::clone(&stage.remote) as Arc<dyn Database>),
        ..Counting::default()
    });
    let clock = Arc::clone(&stage.clock) as _;
    let gateway = Gateway::with_clock(Arc::clone(&counting) as Arc<dyn Database>, clock).unwrap();
    (counting, gateway)
}

#[test]
fn a_row_that_changes_often_is_looked_at_once_a_look() {
    let mut stage = stage(FOLLOWED);
    let (counting, watching) = counted(&stage);
    stage.watch = watching.watch_past_writes(FOLLOWED).unwrap();
    stage.eventually("the other gateway watches", || {
        stage.touch();
        stage.watch.status().records > 0
    });
    let (before, reads) = (
        stage.watch.status().records,
        counting.reads.load(Ordering::Relaxed),
    );
    for _ in 0..300 {
        stage.touch();
    }
    stage.eventually("all records are read", || {
        stage.watch.status().records >= before + 300
    });
    let reads = counting.reads.load(Ordering::Relaxed) - reads;
    assert!(reads < 100, "{reads} reads for 300 changes of a row");
}

#[test]
fn a_repair_of_all_rows_that_fails_is_not_begun_again_at_once() {
    let mut stage = stage(PastWritesOptions {
        follow: false,
        ..FOLLOWED
    });
    let (counting, watching) = counted(&stage);
    stage.put(&json!({"kind": "seat", "seat": "0"}), None);
    stage.watch = watching
        .watch_past_writes(PastWritesOptions {
            follow: false,
            recount: Duration::from_secs(600),
            sweep: Some(Duration::from_secs(60)),
        })
        .unwrap();
    stage.eventually("it is on duty", || stage.watch.status().on_duty);
    stage.clock.advance(Duration::from_secs(120));
    stage.eventually("a repair fails", || stage.watch.status().error.is_some());
    let scans = counting.scans.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_secs(4));
    assert!(scans > 0);
    assert_eq!(counting.scans.load(Ordering::Relaxed), scans);
    assert!(stage.watch.status().error.is_some(), "it is still said");
}
