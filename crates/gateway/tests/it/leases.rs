//! Gateways that end without leaving, or cannot reach the endpoint: the others continue after the lease, and
//! no write is executed under an outdated version.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, PutItem, Request, ResponseFuture, UpdateItem, Wait, pause_after,
};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::{AttributeValue, Item, Map};

use crate::requests::item;
use crate::several_gateways::put;
use crate::support::{apply_next_version, assert_exact, endpoint, gateway, rows};
use crate::without_transactions::what_killed_gateways_left_is_finished_or_let_go_by_the_others;

/// As in `fleet.rs`.
const LEASE: Duration = Duration::from_secs(15);
/// How much longer than the lease a change may take on a busy machine.
const MARGIN: Duration = Duration::from_secs(6);

/// The connection of one gateway to the endpoint. While it is cut, requests about gateways and models wait,
/// and requests for rows pass.
struct CutLine {
    database: Arc<dyn Database>,
    is_cut: AtomicBool,
}

/// Restores the connection when it is dropped, also after a failed check.
struct Restores<'a>(&'a CutLine);

impl Drop for Restores<'_> {
    fn drop(&mut self) {
        self.0.is_cut.store(false, Ordering::Release);
    }
}

impl Database for CutLine {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            let own = ["_trestle.gateways", "_trestle.documents"];
            if request.named_tables().iter().any(|table| own.contains(table)) {
                while self.is_cut.load(Ordering::Acquire) {
                    pause_after(6).await;
                }
            }
            self.database.execute(request).await
        })
    }
}

fn order(id: &str) -> serde_json::Value {
    json!({"kind": "order", "id": id, "shop": "s", "price": 2})
}

fn try_put(gateway: &Gateway, id: &str) -> Result<(), Error> {
    let put = PutItem {
        table_name: "rows".to_owned(),
        item: item(&order(id)),
        ..PutItem::default()
    };
    gateway.put_item(put).wait().map(drop)
}

/// Writes a row of a gateway's own table like a gateway that was killed afterwards.
fn leave_behind(remote: &dyn Database, table: &str, key: (&str, &str), attributes: &[(&str, &str)]) {
    let set: Vec<String> = (0..attributes.len()).map(|n| format!("#n{n} = :v{n}")).collect();
    let names = attributes.iter().enumerate();
    let names = names.map(|(n, (name, _))| (format!("#n{n}"), (*name).to_owned()));
    let values = attributes.iter().enumerate();
    let values = values.map(|(n, (_, value))| (format!(":v{n}"), AttributeValue::from(*value)));
    let update = UpdateItem {
        table_name: table.to_owned(),
        key: Item::from([key]),
        update_expression: Some(format!("SET {}", set.join(", "))),
        expression_attribute_names: Some(names.collect()),
        expression_attribute_values: Some(values.collect::<Map>()),
        ..UpdateItem::default()
    };
    remote.update_item(update).wait().unwrap();
}

/// Each of these waits for a lease most of the time: in parallel they take as long as one.
#[test]
fn gateways_that_end_or_are_away_hold_up_the_others_for_their_lease() {
    let claims: [fn(); 5] = [
        a_write_waits_for_a_gateway_that_is_late_to_renew_its_row,
        a_change_waits_for_a_killed_gateway_no_longer_than_its_lease_and_only_once,
        what_a_killed_gateway_announced_or_held_is_taken_back_after_its_lease,
        a_gateway_that_was_away_for_longer_than_its_lease_writes_nothing_under_the_version_before,
        what_killed_gateways_left_is_finished_or_let_go_by_the_others,
    ];
    thread::scope(|scope| {
        claims
            .map(|claim| scope.spawn(claim))
            .map(|claim| claim.join().unwrap())
    });
}

fn a_write_waits_for_a_gateway_that_is_late_to_renew_its_row() {
    let line = Arc::new(CutLine {
        database: endpoint(Arc::new(SystemClock::new())),
        is_cut: AtomicBool::new(false),
    });
    let late = gateway(
        Arc::clone(&line) as Arc<dyn Database>,
        Arc::new(SystemClock::new()),
    );
    put(&late, &json!({"kind": "shop", "shop": "s"}));
    let _restores = Restores(&line);
    line.is_cut.store(true, Ordering::Release);
    thread::scope(|scope| {
        // Longer than the maximum age of a check of the endpoint.
        thread::sleep(Duration::from_millis(4_500));
        let written = scope.spawn(|| try_put(&late, "1"));
        thread::sleep(Duration::from_millis(500));
        assert!(!written.is_finished());
        line.is_cut.store(false, Ordering::Release);
        written.join().unwrap().unwrap();
    });
}

fn a_change_waits_for_a_killed_gateway_no_longer_than_its_lease_and_only_once() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let database = || Arc::clone(&remote) as Arc<dyn Database>;
    let first = gateway(database(), Arc::new(SystemClock::new()));
    let second = Gateway::open(database()).unwrap();
    put(&first, &json!({"kind": "shop", "shop": "s"}));
    put(&first, &order("1"));
    leave_behind(
        &*remote,
        "_trestle.gateways",
        ("gateway", "killed"),
        &[("renewal", "last")],
    );
    let began = Instant::now();
    apply_next_version(&second);
    let took = began.elapsed();
    assert!(took >= LEASE && took < LEASE + MARGIN, "{took:?}");
    put(&first, &order("2"));
    assert_eq!(first.models().list()[0].version, 2);
    let began = Instant::now();
    assert_exact(&first, "afterwards");
    assert!(began.elapsed() < MARGIN, "{:?}", began.elapsed());
}

fn what_a_killed_gateway_announced_or_held_is_taken_back_after_its_lease() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let database = || Arc::clone(&remote) as Arc<dyn Database>;
    let first = gateway(database(), Arc::new(SystemClock::new()));
    put(&first, &json!({"kind": "shop", "shop": "s"}));
    let left = [
        ("changed_by", "killed"),
        ("moment", "of a repair"),
        ("moment_of", "killed"),
    ];
    leave_behind(&*remote, "_trestle.documents", ("name", "/generation"), &left);
    let began = Instant::now();
    thread::scope(|scope| {
        // A gateway that is opened meanwhile waits, too.
        let opened = scope.spawn(|| Gateway::open(database()).unwrap());
        // Writes wait until it is known that the announced change has ended.
        thread::sleep(Duration::from_secs(1));
        put(&first, &order("1"));
        assert!(began.elapsed() < LEASE + MARGIN, "{:?}", began.elapsed());
        let opened = opened.join().unwrap();
        apply_next_version(&opened);
        assert!(began.elapsed() < LEASE + MARGIN * 2, "{:?}", began.elapsed());
    });
    assert_exact(&first, "afterwards");
}

fn a_gateway_that_was_away_for_longer_than_its_lease_writes_nothing_under_the_version_before() {
    let remote = endpoint(Arc::new(SystemClock::new()));
    let database = || Arc::clone(&remote) as Arc<dyn Database>;
    let first = gateway(database(), Arc::new(SystemClock::new()));
    put(&first, &json!({"kind": "shop", "shop": "s"}));
    let line = Arc::new(CutLine {
        database: database(),
        is_cut: AtomicBool::new(false),
    });
    let away = Gateway::open(Arc::clone(&line) as Arc<dyn Database>).unwrap();
    put(&away, &order("before"));
    let _restores = Restores(&line);
    line.is_cut.store(true, Ordering::Release);
    thread::scope(|scope| {
        let applied = scope.spawn(|| {
            let began = Instant::now();
            apply_next_version(&first);
            began.elapsed()
        });
        let (mut written, mut refused) = (0, 0);
        while !applied.is_finished() {
            match try_put(&away, &format!("away-{}", written + refused)) {
                Ok(()) => written += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InternalServerError, "{error}");
                    assert!(
                        error.message().contains("writes no rows of models until it can"),
                        "{error}"
                    );
                    refused += 1;
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        assert!(written > 0 && refused > 0, "{written} written, {refused} refused");
        let took = applied.join().unwrap();
        assert!(took >= LEASE && took < LEASE + MARGIN, "{took:?}");
        // The version is outdated, and the gateway does not know it.
        try_put(&away, "late").unwrap_err();
        line.is_cut.store(false, Ordering::Release);
        let began = Instant::now();
        while try_put(&away, "again").is_err() {
            assert!(began.elapsed() < MARGIN);
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!(away.models().list()[0].version, 2);
    let orders = rows(&*remote, "rows");
    let is_late = |row: &Item| row.get("id").and_then(AttributeValue::as_s) == Some("late");
    assert!(!orders.iter().any(is_late));
    assert_exact(&first, "afterwards");
    assert_exact(&away, "afterwards");
}
