//! Gateways in front of one endpoint are killed and stopped, and the endpoint fails, while clients write. Derived
//! data is exact afterwards, and no acknowledged write is lost.
//!
//! `GATEWAY_KILLS=20 ALL_GATEWAYS_KILLS=10 cargo test --release -p trestle-torture gateways -- --nocapture --test-threads 1` is the
//! long run.

mod derived_rows;
mod second_looks;

use self::derived_rows::assert_derived;
use crate::{Sets, rounds, seed};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::http::{Client, RawResponse};
use trestle_torture::server::{Server, binary};
use trestle_torture::workload::succeed;

const WRITERS: usize = 16;
const GATEWAYS: usize = 3;
const TABLE: &str = "rows";
const SHOPS: u64 = 4;
/// The faults of the endpoint for requests of gateways.
const FAULTS: [&str; 6] = [
    "throttle,share=0.03",
    "internal,share=0.01",
    "unavailable,share=0.01",
    "cut-before,share=0.01",
    "cut-after,share=0.01",
    "delay,share=0.02,ms=40",
];

const MODEL: &str = r#"model = "fleet"

[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"

[table.rows.index.by_person]
key = ["personKey", "sk"]

[entity.shop]
table = "rows"
key = { pk = "shop", sk = "{shop}" }
attributes = { shop = "string", orders = { type = "integer", default = 0 }, turnover = { type = "number", default = 0 } }

[entity.order]
table = "rows"
key = { pk = "order#{id}", sk = "order" }
attributes = { id = "string", shop = "string", price = "number" }

[entity.order.counter.orders]
entity = "shop"
attribute = "orders"

[entity.order.counter.turnover]
entity = "shop"
attribute = "turnover"
by = "price"

[entity.account]
table = "rows"
key = { pk = "account#{account}", sk = "account" }
attributes = { account = "string", email = "string" }

[entity.account.unique.email]
key = { pk = "email#{email}", sk = "email" }

[entity.page]
table = "rows"
key = { pk = "page#{name}", sk = "v#{version:06}" }
attributes = { name = "string", version = "integer", state = { type = "string", optional = true } }

[entity.page.head]
key.sk = "head"
newest_by = "version"
omit = ["state"]
promote = { set = { state = "live" } }
demote = { set = { state = "old" } }

[entity.person]
table = "rows"
key = { pk = "person", sk = "{person}" }
attributes = { person = "string", name = "string", clubs = { type = "string-set", optional = true } }

[entity.person.inverse.members]
entity = "club"
of = "clubs"
set = "members"

[entity.person.entries.clubs]
of = "clubs"
member = "clubName"
key = { pk = "clubs#{clubName}", sk = "{person}" }
project = ["name"]

[entity.club]
table = "rows"
key = { pk = "club", sk = "{club}" }
attributes = { club = "string", members = { type = "string-set", optional = true } }

[entity.seat]
table = "rows"
key = { pk = "seat#{seat}", sk = "seat", personKey = "{person}" }
attributes = { seat = "string", person = { type = "string", optional = true }, personName = { type = "string", optional = true } }

[entity.seat.copy.name]
from = "person"
attributes = { name = "personName" }
in_step = "seats_of_person"

[access.seats_of_person]
query = "by_person"
where = { person = "{person}" }
returns = "seat"
"#;

const PAGES: u8 = 6;
const PEOPLE: u8 = 5;
const CLUBS: [&str; 3] = ["chess", "rowing", "song"];

/// A version with a sum that the first one lacks.
fn next_model() -> String {
    let text = MODEL.replace(
        "turnover = { type = \"number\", default = 0 } }",
        "turnover = { type = \"number\", default = 0 }, spent = { type = \"number\", default = 0 } }",
    );
    format!(
        "{text}\n[entity.order.counter.spent]\nentity = \"shop\"\nattribute = \"spent\"\nby = \"price\"\n"
    )
}

fn trestle(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(["serve", "--log-level", "error", "--port", "0"]);
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("TRESTLE__") || name.starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command
        .env("AWS_ACCESS_KEY_ID", "any")
        .env("AWS_SECRET_ACCESS_KEY", "any");
    command
}

/// An endpoint, and how gateways in front of it are started.
struct Fleet {
    endpoint: Server,
    model: PathBuf,
    _directory: TempDir,
}

impl Fleet {
    fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let model = directory.path().join("fleet.toml");
        std::fs::write(&model, MODEL).unwrap();
        let mut endpoint = trestle(&["--in-memory", "--behind-gateways", "--allow-fault-injection"]);
        let endpoint = Server::start(&mut endpoint);
        Fleet {
            endpoint,
            model,
            _directory: directory,
        }
    }

    fn command(&self, model: Option<&Path>) -> Command {
        let url = format!("http://{}", self.endpoint.address);
        let mut command = trestle(&["--backend", &url]);
        if let Some(model) = model {
            command.arg("--model").arg(model);
        }
        command
    }

    /// The gateway that applies the model.
    fn first_gateway(&self) -> Server {
        Server::start(&mut self.command(Some(&self.model)))
    }

    /// A gateway that finds the model already applied. The endpoint may fail meanwhile: then it is started
    /// again, as a supervisor would.
    fn gateway(&self) -> Server {
        let began = Instant::now();
        loop {
            match Server::try_start(&mut self.command(None)) {
                Ok(server) => return server,
                Err(log) => assert!(
                    began.elapsed() < Duration::from_secs(60),
                    "no gateway starts: {log}"
                ),
            }
        }
    }

    /// The number of unfinished intents.
    fn intents(&self) -> u64 {
        let scan = json!({"TableName": "_trestle.intents", "ConsistentRead": true});
        let left = self.endpoint.call("Scan", &scan);
        match left.error() {
            // No write has needed an intent yet.
            "ResourceNotFoundException" => 0,
            _ => left.body["Count"].as_u64().unwrap(),
        }
    }

    /// Waits until all writes that killed gateways had begun are finished or dropped.
    fn await_no_intents(&self) {
        let began = Instant::now();
        while self.intents() > 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", self.intents());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn set_faults(&self, rules: &[&str]) {
        let answer = self
            .endpoint
            .connect()
            .administer("set-faults", &json!({ "rules": rules }));
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

/// A writer's knowledge of its orders.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Written,
    Removed,
    /// A request about the order got no response, or was refused.
    Unknown,
}

/// Writes rows through the gateways in turn until the test stops it.
struct Writer<'w> {
    number: usize,
    addresses: &'w Mutex<Vec<String>>,
    client: Option<Client>,
    random: fastrand::Rng,
    orders: BTreeMap<String, Known>,
    acknowledged: u64,
}

impl<'w> Writer<'w> {
    fn new(number: usize, addresses: &'w Mutex<Vec<String>>, random: fastrand::Rng) -> Self {
        Writer {
            number,
            addresses,
            client: None,
            random,
            orders: BTreeMap::new(),
            acknowledged: 0,
        }
    }

    fn run(&mut self, stop: &AtomicBool) {
        let mut next = 0;
        while !stop.load(Ordering::Acquire) {
            next += 1;
            match self.random.u8(..14) {
                0..=5 => self.put_order(next),
                6 => self.remove_order(),
                7 | 8 => self.put_page(),
                9 => self.remove_newest_page(),
                10 => self.put_person(),
                11 => self.put_seat(),
                _ => self.put_account(),
            }
        }
    }

    fn put_account(&mut self) {
        let (account, email) = (self.random.u8(..40), self.random.u8(..20));
        self.send(
            "PutItem",
            &put(&json!({"kind": {"S": "account"},
                "account": {"S": account.to_string()}, "email": {"S": email.to_string()}})),
        );
    }

    fn put_page(&mut self) {
        let name = format!("page-{}", self.random.u8(..PAGES));
        let version = self.random.u32(..100_000).to_string();
        self.send(
            "PutItem",
            &put(&json!({"kind": {"S": "page"}, "name": {"S": name}, "version": {"N": version}})),
        );
    }

    /// A page and its newest version, if it has one.
    fn newest_page(&mut self) -> Option<(String, u32)> {
        let name = format!("page-{}", self.random.u8(..PAGES));
        let key = json!({"pk": {"S": format!("page#{name}")}, "sk": {"S": "head"}});
        let head = self.call("GetItem", &json!({"TableName": TABLE, "Key": key}))?;
        let version = head["Item"]["version"]["N"].as_str()?;
        Some((name, version.parse().unwrap()))
    }

    /// Removes the newest version, so that the head returns to the version before it.
    fn remove_newest_page(&mut self) {
        if let Some((name, version)) = self.newest_page() {
            let key = json!({"pk": {"S": format!("page#{name}")}, "sk": {"S": format!("v#{version:06}")}});
            self.send("DeleteItem", &json!({"TableName": TABLE, "Key": key}));
        }
    }

    /// Puts a version that becomes the newest if the present newest one is removed.
    fn put_second_newest_page(&mut self) {
        match self.newest_page() {
            Some((name, version)) if version > 10 => {
                let version = (version - self.random.u32(1..10)).to_string();
                self.send(
                    "PutItem",
                    &put(&json!({"kind": {"S": "page"}, "name": {"S": name}, "version": {"N": version}})),
                );
            }
            _ => self.put_page(),
        }
    }

    fn put_person(&mut self) {
        let mut person = json!({"kind": {"S": "person"}, "person": {"S": self.random.u8(..PEOPLE).to_string()},
            "name": {"S": self.random.u16(..).to_string()}});
        let clubs: Vec<&str> = CLUBS.into_iter().filter(|_| self.random.bool()).collect();
        if !clubs.is_empty() {
            person["clubs"] = json!({ "SS": clubs });
        }
        self.send("PutItem", &put(&person));
    }

    fn put_seat(&mut self) {
        let seat = self.random.u8(..60).to_string();
        let person = self.random.u8(..PEOPLE).to_string();
        self.send(
            "PutItem",
            &put(&json!({"kind": {"S": "seat"}, "seat": {"S": seat}, "person": {"S": person}})),
        );
    }

    fn put_order(&mut self, next: u64) {
        let id = format!("{}-{next}", self.number);
        let shop = self.random.u64(..SHOPS).to_string();
        let price = self.random.u8(1..100).to_string();
        self.orders.insert(id.clone(), Known::Unknown);
        let order =
            json!({"kind": {"S": "order"}, "id": {"S": id}, "shop": {"S": shop}, "price": {"N": price}});
        if self.send("PutItem", &put(&order)) {
            self.orders.insert(id, Known::Written);
        }
    }

    fn remove_order(&mut self) {
        let written = self.orders.iter().find(|(_, known)| **known == Known::Written);
        let Some(id) = written.map(|(id, _)| id.clone()) else {
            return;
        };
        self.orders.insert(id.clone(), Known::Unknown);
        if self.send("DeleteItem", &json!({"TableName": TABLE, "Key": order_key(&id)})) {
            self.orders.insert(id, Known::Removed);
        }
    }

    /// Whether it was acknowledged.
    fn send(&mut self, operation: &str, body: &Value) -> bool {
        self.call(operation, body).is_some()
    }

    /// The response, if the request was acknowledged. Panics if the gateway reports a valid request as invalid.
    fn call(&mut self, operation: &str, body: &Value) -> Option<Value> {
        if self.client.is_none() {
            let address = {
                let addresses = self.addresses.lock().unwrap();
                addresses[self.random.usize(..addresses.len())].clone()
            };
            self.client = Client::connect(&address).ok();
        }
        let Some(client) = &mut self.client else {
            std::thread::sleep(Duration::from_millis(20));
            return None;
        };
        match client.call(operation, body) {
            Ok(answer) if answer.status == 200 => {
                self.acknowledged += 1;
                Some(answer.body)
            }
            Ok(answer) => {
                assert_ne!(answer.error(), "ValidationException", "{}", answer.body);
                None
            }
            // The gateway was killed.
            Err(_) => {
                self.client = None;
                None
            }
        }
    }
}

fn put(item: &Value) -> Value {
    json!({"TableName": TABLE, "Item": item})
}

fn order_key(id: &str) -> Value {
    json!({"pk": {"S": format!("order#{id}")}, "sk": {"S": "order"}})
}

fn put_shops(gateway: &Server) {
    let mut client = gateway.connect();
    for shop in 0..SHOPS {
        let shop = json!({"kind": {"S": "shop"}, "shop": {"S": shop.to_string()}});
        succeed(&mut client, "PutItem", &put(&shop));
    }
}

/// All rows at the endpoint.
fn rows(endpoint: &Server) -> Vec<Value> {
    let (mut client, mut rows, mut start) = (endpoint.connect(), Vec::new(), Value::Null);
    loop {
        let mut scan = json!({"TableName": TABLE, "ConsistentRead": true});
        if !start.is_null() {
            scan["ExclusiveStartKey"] = start;
        }
        let mut page = succeed(&mut client, "Scan", &scan);
        rows.extend(page["Items"].as_array().unwrap().iter().cloned());
        start = page["LastEvaluatedKey"].take();
        if start.is_null() {
            return rows;
        }
    }
}

/// The full check: derived data agrees with its rows. It waits for the leases of killed gateways.
fn assert_exact(gateway: &Server) {
    let answer = repair(gateway, true);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let model = &answer.body["models"][0];
    assert_eq!(model["left_total"], 0, "{}", answer.body);
    assert!(model["rows"].as_u64() > Some(0), "{}", answer.body);
}

fn repair(gateway: &Server, dry_run: bool) -> RawResponse {
    let mut client = gateway.connect();
    client.wait_for(Duration::from_secs(120)).unwrap();
    client
        .administer("repair-models", &json!({ "dry_run": dry_run }))
        .unwrap()
}

/// Checks that the counts of the shops match their orders, that every order whose put was acknowledged exists, and that no order whose
/// removal was acknowledged does. Returns the number of orders.
fn assert_kept(endpoint: &Server, writers: &[BTreeMap<String, Known>]) -> usize {
    let rows = rows(endpoint);
    let text = |row: &Value, name: &str| row[name]["S"].as_str().unwrap_or_default().to_owned();
    let number = |row: &Value, name: &str| row[name]["N"].as_str().unwrap().parse::<u64>().unwrap();
    let mut there: BTreeMap<String, Value> = BTreeMap::new();
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| text(row, "kind") == "order") {
        let (orders, turnover) = sums.entry(text(row, "shop")).or_default();
        (*orders, *turnover) = (*orders + 1, *turnover + number(row, "price"));
        there.insert(text(row, "id"), row.clone());
    }
    for shop in rows.iter().filter(|row| text(row, "kind") == "shop") {
        let counted = (number(shop, "orders"), number(shop, "turnover"));
        let sum = sums.get(&text(shop, "shop")).copied().unwrap_or_default();
        assert_eq!(counted, sum, "shop {}", text(shop, "shop"));
    }
    for (id, known) in writers.iter().flatten() {
        match known {
            Known::Written => assert!(there.contains_key(id), "order {id} was acknowledged and is gone"),
            Known::Removed => assert!(!there.contains_key(id), "order {id} was removed and is there"),
            Known::Unknown => {}
        }
    }
    there.len()
}

#[test]
fn effects_are_exact_and_nothing_is_lost_when_gateways_are_killed_and_the_endpoint_fails() {
    kill_gateways(&[]);
}

#[test]
fn the_same_holds_at_an_endpoint_without_transactions() {
    kill_gateways(&["unknown,operation=TransactWriteItems,operation=TransactGetItems"]);
}

/// `lacks` are rules that are missing from the beginning.
fn kill_gateways(lacks: &[&str]) {
    let (kills, mut random) = (rounds("GATEWAY_KILLS", 3), fastrand::Rng::with_seed(seed()));
    let fleet = Fleet::start();
    fleet.set_faults(lacks);
    let first = fleet.first_gateway();
    put_shops(&first);
    let mut gateways = vec![first];
    gateways.extend((1..GATEWAYS).map(|_| fleet.gateway()));
    fleet.set_faults(&[lacks, &FAULTS].concat());
    let addresses = Mutex::new(gateways.iter().map(|server| server.address.clone()).collect());
    let stop = AtomicBool::new(false);
    let written: Vec<(BTreeMap<String, Known>, u64)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let mut writer = Writer::new(number, &addresses, random.fork());
                let stop = &stop;
                scope.spawn(move || {
                    writer.run(stop);
                    (writer.orders, writer.acknowledged)
                })
            })
            .collect();
        let stopping = Sets(&stop);
        for _ in 0..kills {
            std::thread::sleep(Duration::from_millis(random.u64(300..1500)));
            let slot = random.usize(..GATEWAYS);
            gateways.remove(slot).kill();
            let server = fleet.gateway();
            addresses.lock().unwrap()[slot].clone_from(&server.address);
            gateways.insert(slot, server);
        }
        std::thread::sleep(Duration::from_millis(500));
        drop(stopping);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    fleet.set_faults(lacks);
    fleet.await_no_intents();
    let acknowledged: u64 = written.iter().map(|(_, acknowledged)| acknowledged).sum();
    let orders: Vec<_> = written.into_iter().map(|(orders, _)| orders).collect();
    let there = assert_kept(&fleet.endpoint, &orders);
    assert_derived(&rows(&fleet.endpoint));
    assert_exact(&gateways[0]);
    println!("gateways: {kills} killed, {acknowledged} writes acknowledged, {there} orders");
    assert!(acknowledged > 0, "no write was acknowledged");
}

#[test]
fn a_gateway_that_is_killed_while_it_mends_sums_leaves_them_to_the_next() {
    let mut random = fastrand::Rng::with_seed(seed());
    let fleet = Fleet::start();
    let (first, second) = (fleet.first_gateway(), fleet.gateway());
    put_shops(&first);
    let mut client = first.connect();
    for order in 0..200_u64 {
        let order = json!({"kind": {"S": "order"}, "id": {"S": order.to_string()},
            "shop": {"S": (order % SHOPS).to_string()}, "price": {"N": "7"}});
        succeed(&mut client, "PutItem", &put(&order));
    }
    // Counts that are wrong because a client wrote without a gateway.
    let mut past = fleet.endpoint.connect();
    for shop in 0..SHOPS {
        let key = json!({"pk": {"S": "shop"}, "sk": {"S": shop.to_string()}});
        let update = json!({"TableName": TABLE, "Key": key, "UpdateExpression": "ADD orders :n, turnover :n",
            "ExpressionAttributeValues": {":n": {"N": "1000"}}});
        succeed(&mut past, "UpdateItem", &update);
    }
    let moment = Duration::from_millis(random.u64(100..1200));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = first.connect();
            // Killed in between, or finished before.
            let _ = client.administer("repair-models", &json!({}));
        });
        std::thread::sleep(moment);
        kill_process(pid(&first), Signal::KILL).unwrap();
    });
    let answer = repair(&second, false);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["models"][0]["left_total"], 0, "{}", answer.body);
    assert_exact(&second);
    assert_eq!(assert_kept(&fleet.endpoint, &[]), 200);
}

fn pid(server: &Server) -> Pid {
    Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap()
}

#[test]
fn a_gateway_that_is_stopped_for_longer_than_its_lease_writes_nothing_under_the_version_before() {
    let fleet = Fleet::start();
    let (first, stopped) = (fleet.first_gateway(), fleet.gateway());
    put_shops(&first);
    let put_order = |client: &mut Client, id: usize| {
        let order = json!({"kind": {"S": "order"}, "id": {"S": id.to_string()}, "shop": {"S": "0"},
            "price": {"N": "5"}});
        client.call("PutItem", &put(&order)).unwrap()
    };
    for number in 0..8 {
        assert_eq!(put_order(&mut stopped.connect(), number).status, 200);
    }
    kill_process(pid(&stopped), Signal::STOP).unwrap();
    let began = Instant::now();
    let mut applying = first.connect();
    applying.wait_for(Duration::from_secs(60)).unwrap();
    let answer = applying.administer("apply-model", &json!({"text": next_model(), "fill": true}));
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    let took = began.elapsed();
    assert!((15..25).contains(&took.as_secs()), "{took:?}");
    // These requests arrive while the gateway is stopped. When it continues, it cannot know how long it was stopped.
    let mut clients: Vec<Client> = (0..8).map(|_| stopped.connect()).collect();
    let written: usize = std::thread::scope(|scope| {
        let sent: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(number, client)| {
                scope.spawn(move || {
                    let mut written = 0;
                    for round in 1..40 {
                        let answer = put_order(client, 100 * round + number);
                        assert!(matches!(answer.status, 200 | 500), "{}", answer.body);
                        written += usize::from(answer.status == 200);
                    }
                    written
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(100));
        kill_process(pid(&stopped), Signal::CONT).unwrap();
        sent.into_iter().map(|sent| sent.join().unwrap()).sum()
    });
    println!("stopped for {took:?}, then {written} of 312 orders written");
    assert_eq!(assert_kept(&fleet.endpoint, &[]), written + 8);
    // A write under the previous version would not change the sum, because that version has none.
    assert_exact(&first);
    assert_exact(&stopped);
}
