//! Many rows move at an endpoint through two gateways that are killed again and again, with a second table
//! that has the new keys from the beginning: afterwards both have the same rows, and meanwhile every
//! unwritten row is found exactly once, in its order.
//!
//! `./test endpoints` runs it with 100,000 rows and five kills on DynamoDB Local: `GATEWAY_MIGRATION_ROWS`, `GATEWAY_MIGRATION_KILLS` and
//! `TRESTLE_TEST_ENDPOINT`, which has no tables, say so.

use super::layout::{Layout, TABLE, n};
use super::steering;
use super::through_gateways::{gateway, trestle};
use crate::rounds;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trestle_torture::http::Client;
use trestle_torture::server::Server;
use trestle_torture::workload::succeed;

const CUSTOMERS: u64 = 40;
const LOADERS: u64 = 4;
const WRITERS: u64 = 2;
const READERS: u64 = 2;
/// One row of so many is written while rows move.
const WRITTEN: u64 = 10;
/// Longer than everything takes.
const PATIENCE: Duration = Duration::from_secs(3600);

fn customer(number: u64) -> String {
    format!("c{}", number % CUSTOMERS)
}

fn row(number: u64, value: u64) -> Value {
    let state = if number.is_multiple_of(2) { "open" } else { "sent" };
    json!({"kind": {"S": "parcel"}, "depot": {"S": "d"}, "customer": {"S": customer(number)}, "number": n(number),
        "state": {"S": state}, "n": n(value)})
}

fn identity(number: u64) -> Value {
    json!({"kind": {"S": "parcel"}, "depot": {"S": "d"}, "customer": {"S": customer(number)}, "number": n(number)})
}

/// Sends a request to one of the gateways, and to another if that one is killed meanwhile: so it may be sent
/// twice.
struct Asking<'a> {
    addresses: &'a Mutex<Vec<String>>,
    client: Option<Client>,
    random: fastrand::Rng,
}

impl Asking<'_> {
    fn ask(&mut self, operation: &str, body: &Value) -> Value {
        let began = Instant::now();
        loop {
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "{operation} of {body} is not answered"
            );
            // Another gateway from time to time.
            if self.client.is_none() || self.random.u8(..20) == 0 {
                let addresses = self.addresses.lock().unwrap();
                let address = addresses[self.random.usize(..addresses.len())].clone();
                drop(addresses);
                self.client = Client::connect(&address).ok();
            }
            match self.client.as_mut().map(|client| client.call(operation, body)) {
                Some(Ok(answer)) if answer.status == 200 => return answer.body,
                Some(Ok(answer)) => {
                    let passes = answer.status == 500 || answer.error().contains("Conflict");
                    assert!(passes, "{operation} of {body}: {}", answer.body);
                }
                _ => self.client = None,
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn load(client: &mut Client, rows: impl Iterator<Item = u64>) {
    let rows: Vec<u64> = rows.collect();
    for some in rows.chunks(25) {
        let puts = some
            .iter()
            .map(|number| json!({"PutRequest": {"Item": row(*number, 0)}}));
        let puts: Vec<Value> = puts.collect();
        let mut left = json!({ TABLE: puts });
        while left != json!({}) {
            left =
                succeed(client, "BatchWriteItem", &json!({"RequestItems": left}))["UnprocessedItems"].take();
        }
    }
}

/// All rows of a table, by their keys.
fn table(client: &mut Client) -> BTreeMap<String, Value> {
    let (mut rows, mut start) = (BTreeMap::new(), Value::Null);
    loop {
        let mut scan = json!({"TableName": TABLE, "ConsistentRead": true});
        if !start.is_null() {
            scan["ExclusiveStartKey"] = start;
        }
        let mut page = succeed(client, "Scan", &scan);
        for row in page["Items"].as_array().unwrap() {
            let before = rows.insert(format!("{} {}", row["pk"]["S"], row["sk"]["S"]), row.clone());
            assert!(before.is_none(), "{row} is there twice");
        }
        start = page["LastEvaluatedKey"].take();
        if start.is_null() {
            return rows;
        }
    }
}

fn assert_same(found: &BTreeMap<String, Value>, expected: &BTreeMap<String, Value>) {
    let keys = found.keys().chain(expected.keys());
    let mut differing = keys.filter(|key| found.get(*key) != expected.get(*key));
    if let Some(key) = differing.next() {
        panic!(
            "{key}: {:?} instead of {:?}, and {} more",
            found.get(key),
            expected.get(key),
            differing.count()
        );
    }
}

/// Writes its own rows, here and in the second table, and remembers none: both must agree in the end.
fn write(asking: &mut Asking<'_>, twin: &mut Client, own: &[u64], stop: &AtomicBool) -> u64 {
    let mut written = 0;
    while !stop.load(Ordering::Acquire) {
        let number = own[asking.random.usize(..own.len())];
        let (operation, body) = match asking.random.u8(..5) {
            0 => ("DeleteItem", json!({"TableName": TABLE, "Key": identity(number)})),
            _ => (
                "PutItem",
                json!({"TableName": TABLE, "Item": row(number, asking.random.u64(1..1_000_000))}),
            ),
        };
        asking.ask(operation, &body);
        succeed(twin, operation, &body);
        written += 1;
    }
    written
}

/// Reads rows that are not written: each is found by its key, and lists have each of them once, in the order of the new keys.
fn read(asking: &mut Asking<'_>, rows: u64, lists: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let number = asking.random.u64(..rows) / WRITTEN * WRITTEN + 1;
        if number < rows {
            let found = asking.ask("GetItem", &json!({"TableName": TABLE, "Key": identity(number)}));
            let sk = format!("{number:06}");
            assert_eq!(found["Item"]["n"]["N"], "0", "row {number}");
            assert_eq!(found["Item"]["sk"]["S"], sk.as_str(), "row {number}");
        }
        let of = asking.random.u64(..CUSTOMERS.min(rows));
        let limit = asking.random.u64(1..200) + rows / 500;
        let is_backward = asking.random.bool();
        let mut expected: Vec<u64> = (0..rows)
            .filter(|number| number % CUSTOMERS == of && number % WRITTEN != 0)
            .collect();
        if is_backward {
            expected.reverse();
        }
        let (mut seen, mut start) = (Vec::new(), Value::Null);
        loop {
            let mut query = json!({"TableName": TABLE, "Limit": limit, "KeyConditionExpression": "pk = :p",
                "ScanIndexForward": !is_backward,
                "ExpressionAttributeValues": {":p": {"S": format!("p/d/{}", customer(of))}}});
            if !start.is_null() {
                query["ExclusiveStartKey"] = start;
            }
            let mut page = asking.ask("Query", &query);
            let items = page["Items"].as_array().unwrap().iter();
            let numbers = items.map(|row| row["number"]["N"].as_str().unwrap().parse::<u64>().unwrap());
            seen.extend(numbers.filter(|number| number % WRITTEN != 0));
            start = page["LastEvaluatedKey"].take();
            if start.is_null() {
                break;
            }
        }
        assert_eq!(seen, expected, "the list of customer {of}");
        lists.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until the status of the migration is so, or it is verified.
fn until(gateway: &Server, is_so: impl Fn(&Value) -> bool) {
    let began = Instant::now();
    loop {
        let status = steering::status(&mut gateway.connect()).unwrap();
        if is_so(&status) || status["state"] == "verified" {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{status}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn many_rows_move_beside_a_twin_while_gateways_are_killed() {
    let rows = rounds("GATEWAY_MIGRATION_ROWS", 600);
    let kills = rounds("GATEWAY_MIGRATION_KILLS", 1);
    let own = std::env::var("TRESTLE_TEST_ENDPOINT").is_err();
    let server = own.then(|| Server::start(&mut trestle(&["--in-memory", "--behind-gateways"])));
    let url = match &server {
        Some(server) => format!("http://{}", server.address),
        None => std::env::var("TRESTLE_TEST_ENDPOINT").unwrap(),
    };
    let twin = Server::start(&mut trestle(&["--in-memory"]));
    steering::apply(&twin.address, Layout::ByCustomer);
    let mut gateways = vec![gateway(&url)];
    steering::apply(&gateways[0].address, Layout::ByDepot);
    gateways.push(gateway(&url));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for loader in 0..LOADERS {
            let (gateway, twin) = (&gateways[(loader % 2) as usize], &twin);
            scope.spawn(move || {
                load(&mut gateway.connect(), (loader..rows).step_by(LOADERS as usize));
                load(&mut twin.connect(), (loader..rows).step_by(LOADERS as usize));
            });
        }
    });
    println!("{rows} rows in {:?}", began.elapsed());
    let addresses = Mutex::new(
        gateways
            .iter()
            .map(|gateway| gateway.address.clone())
            .collect::<Vec<_>>(),
    );
    let (stop, lists) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut random = fastrand::Rng::with_seed(crate::seed());
    let asking = |random: &mut fastrand::Rng| Asking {
        addresses: &addresses,
        client: None,
        random: random.fork(),
    };
    steering::start(
        &gateways[0].address,
        Layout::ByCustomer,
        if rows > 10_000 { "unlimited" } else { "100" },
    );
    let began = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let own: Vec<u64> = (0..rows)
                    .filter(|number| number % WRITTEN == 0 && number / WRITTEN % WRITERS == writer)
                    .collect();
                let (mut asking, mut twin, stop) = (asking(&mut random), twin.connect(), &stop);
                scope.spawn(move || write(&mut asking, &mut twin, &own, stop))
            })
            .collect();
        for _ in 0..READERS {
            let (mut asking, stop, lists) = (asking(&mut random), &stop, &lists);
            scope.spawn(move || read(&mut asking, rows, lists, stop));
        }
        for kill in 0..kills {
            // Spread over the sweep: each time, the remaining gateway has continued it.
            let moved = rows * (kill + 1) / (kills + 2);
            until(&gateways[(kill % 2) as usize], |status| {
                status["rows_moved"].as_u64() >= Some(moved)
            });
            std::thread::sleep(Duration::from_millis(random.u64(..1_000)));
            let at = (kill % 2) as usize;
            let killed = std::mem::replace(&mut gateways[at], gateway(&url));
            addresses.lock().unwrap()[at] = gateways[at].address.clone();
            let status = steering::status(&mut gateways[at].connect()).unwrap();
            println!(
                "kill {kill} after {:?}: {}, {} rows moved",
                began.elapsed(),
                status["state"],
                status["rows_moved"]
            );
            killed.kill();
        }
        until(&gateways[0], |status| status["state"] == "verified");
        stop.store(true, Ordering::Release);
        let written: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        println!(
            "verified after {:?}: {written} writes, {} lists",
            began.elapsed(),
            lists.load(Ordering::Relaxed)
        );
        assert!(written > 0 && lists.load(Ordering::Relaxed) > 0);
    });
    // A gateway reads one place now: these are the stored rows.
    assert_same(&table(&mut gateways[1].connect()), &table(&mut twin.connect()));
    let double_reads =
        |gateway: &Server| steering::status(&mut gateway.connect()).unwrap()["double_reads"].clone();
    let before = double_reads(&gateways[0]);
    let number = rows - 1;
    let get = json!({"TableName": TABLE, "Key": identity(number)});
    assert_eq!(
        succeed(&mut gateways[0].connect(), "GetItem", &get)["Item"]["number"],
        n(number)
    );
    assert_eq!(double_reads(&gateways[0]), before, "reads look at one place");
    for gateway in gateways {
        gateway.terminate();
    }
}
