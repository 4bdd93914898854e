//! Rows move to other keys at an endpoint, through gateways: they answer like a database that had the new
//! keys from the beginning.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trestle_api::{
    BatchGetItem, Database, DatabaseExt, DeleteItem, ErrorKind, Get, GetItem, KeysAndAttributes, PutItem,
    Query, Request, Response, ReturnValue, Scan, TransactGetItem, TransactGetItems, TransactWriteItem,
    TransactWriteItems, UpdateItem, Wait,
};
use trestle_binding::{BindError, MigrationState, MigrationStatus, Rate, Step};
use trestle_embedded::{ApplyOptions, Background, Embedded, Options, StartOptions, Unwatched, Watcher};
use trestle_engine::Engine;
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::{AttributeValue, Item, Map, Number};
use trestle_store::MemoryStore;

use crate::support::{assert_exact, endpoint, gateway_with, in_turn, rows};

pub(crate) const BY_DEPOT: &str = include_str!("../../../torture/tests/it/migrations/by_depot.toml");
pub(crate) const BY_CUSTOMER: &str = include_str!("../../../torture/tests/it/migrations/by_customer.toml");
pub(crate) const TABLE: &str = "depots";
const PATIENCE: Duration = Duration::from_secs(60);

/// A database with one layout from the beginning.
fn twin(model: &str) -> Embedded {
    let options = Options {
        background: Background::Tables,
        ..Options::default()
    };
    let twin = Embedded::on(
        Arc::new(MemoryStore::new()),
        Arc::new(SystemClock::new()),
        options,
    )
    .unwrap();
    twin.models()
        .apply(model, ApplyOptions::default(), &mut Unwatched)
        .unwrap();
    twin
}

/// Two gateways of an endpoint, under the layout by depot.
pub(crate) fn two_gateways(remote: &Arc<dyn Database>) -> Vec<Gateway> {
    two_gateways_with(BY_DEPOT, remote)
}

fn two_gateways_with(model: &str, remote: &Arc<dyn Database>) -> Vec<Gateway> {
    let first = gateway_with(model, Arc::clone(remote), Arc::new(SystemClock::new()));
    vec![first, Gateway::open(Arc::clone(remote)).unwrap()]
}

pub(crate) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(Number::from(number))
}

pub(crate) fn row(kind: &str, texts: &[(&str, &str)], numbers: &[(&str, u64)]) -> Item {
    let mut row = Item::from([("kind", kind)]);
    for (name, text) in texts {
        row.insert(*name, *text);
    }
    for (name, value) in numbers {
        row.insert(*name, number(*value));
    }
    row
}

/// The identifying attributes of a random row, and the others.
fn random_row(random: &mut fastrand::Rng) -> (Item, Item) {
    let n = [("n", random.u64(..1000))];
    let depot = random.choice(["d1", "d2"]).unwrap();
    match random.u8(..10) {
        0..5 => (
            row(
                "parcel",
                &[
                    ("depot", depot),
                    ("customer", random.choice(["a", "ab"]).unwrap()),
                ],
                &[("number", random.u64(..25))],
            ),
            row(
                "parcel",
                &[("state", random.choice(["open", "sent"]).unwrap())],
                &n,
            ),
        ),
        5..7 => (
            row(
                "release",
                &[("region", random.choice(["eu", "us"]).unwrap()), ("product", "p")],
                &[("version", random.u64(1..20))],
            ),
            row("release", &[("arn", "arn")], &[]),
        ),
        7 => {
            let email = format!("{}@Example.com", random.u8(..8));
            (
                row("member", &[("id", &random.u8(..6).to_string())], &[]),
                row("member", &[("email", &email)], &n),
            )
        }
        8 => (
            row("reading", &[("device", "x")], &[("seq", random.u64(..30))]),
            row("reading", &[], &n),
        ),
        _ => (
            row(
                "note",
                &[("depot", depot), ("id", &random.u8(..9).to_string())],
                &[],
            ),
            row("note", &[], &n),
        ),
    }
}

pub(crate) fn together(identity: &Item, rest: &Item) -> Item {
    identity
        .iter()
        .chain(rest.iter())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

pub(crate) fn values(values: &[(&str, &str)]) -> Option<Map> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), AttributeValue::S((*value).to_owned())));
    Some(values.collect())
}

/// A random write or read of single rows, named by their identifying attributes.
fn random_request(random: &mut fastrand::Rng) -> Request {
    let (identity, rest) = random_row(random);
    let table_name = TABLE.to_owned();
    match random.u8(..12) {
        0..4 => Request::PutItem(PutItem {
            table_name,
            item: together(&identity, &rest),
            return_values: random.bool().then_some(ReturnValue::AllOld),
            ..PutItem::default()
        }),
        4..6 => {
            let mut changed = Map::default();
            changed.insert(":n".to_owned(), number(random.u64(..1000)));
            Request::UpdateItem(UpdateItem {
                table_name,
                key: identity,
                update_expression: Some("SET #n = :n".to_owned()),
                condition_expression: Some("attribute_exists(#k)".to_owned()),
                expression_attribute_names: Some(
                    [("#n", "n"), ("#k", "kind")]
                        .map(|(a, b)| (a.to_owned(), b.to_owned()))
                        .into(),
                ),
                expression_attribute_values: Some(changed),
                return_values: Some(ReturnValue::AllNew),
                ..UpdateItem::default()
            })
        }
        6 => Request::DeleteItem(DeleteItem {
            table_name,
            key: identity,
            return_values: Some(ReturnValue::AllOld),
            ..DeleteItem::default()
        }),
        7 => {
            let (other, rest_of_other) = random_row(random);
            let put = |item: Item| TransactWriteItem {
                put: Some(Box::new(trestle_api::Put {
                    table_name: TABLE.to_owned(),
                    item,
                    ..trestle_api::Put::default()
                })),
                ..TransactWriteItem::default()
            };
            Request::TransactWriteItems(TransactWriteItems {
                transact_items: vec![
                    put(together(&identity, &rest)),
                    put(together(&other, &rest_of_other)),
                ],
                ..TransactWriteItems::default()
            })
        }
        8 => Request::TransactGetItems(TransactGetItems {
            transact_items: vec![TransactGetItem {
                get: Get {
                    table_name,
                    key: identity,
                    ..Get::default()
                },
            }],
            ..TransactGetItems::default()
        }),
        9 => {
            let mut keys = BTreeMap::new();
            for _ in 0..6 {
                let key = random_row(random).0;
                keys.insert(trestle_item::codec::encode(&key), key);
            }
            let asked = KeysAndAttributes {
                keys: keys.into_values().collect(),
                projection_expression: random.bool().then(|| "n, pk, sk".to_owned()),
                ..KeysAndAttributes::default()
            };
            Request::BatchGetItem(BatchGetItem {
                request_items: [(table_name, asked)].into(),
                ..BatchGetItem::default()
            })
        }
        _ => Request::GetItem(GetItem {
            table_name,
            key: identity,
            projection_expression: random.bool().then(|| "pk, sk, n".to_owned()),
            ..GetItem::default()
        }),
    }
}

/// A random query, in the layout by customer, without its pages.
fn random_query(random: &mut fastrand::Rng) -> Query {
    let depot = random.choice(["d1", "d2"]).unwrap();
    let customer = random.choice(["a", "ab"]).unwrap();
    let region = random.choice(["eu", "us"]).unwrap();
    let (index, condition, given) = match random.u8(..6) {
        0 | 1 => {
            let pk = format!("p/{depot}/{customer}");
            match random.bool() {
                true => (None, "pk = :a", values(&[(":a", &pk)])),
                false => (
                    None,
                    "pk = :a AND sk BETWEEN :b AND :c",
                    values(&[(":a", &pk), (":b", "000004"), (":c", "000017")]),
                ),
            }
        }
        2 => (
            None,
            "pk = :a AND begins_with(sk, :b)",
            values(&[(":a", "r/p"), (":b", &format!("{region}/v/"))]),
        ),
        3 => (
            None,
            "pk = :a AND sk > :b",
            values(&[(":a", "log#x"), (":b", "at#000003")]),
        ),
        4 => (
            Some("by_state"),
            "state_key = :a",
            values(&[(
                ":a",
                &format!("{depot}/{}", random.choice(["open", "sent"]).unwrap()),
            )]),
        ),
        _ => (
            Some("by_status"),
            "#r = :a AND #s = :b",
            values(&[
                (":a", region),
                (":b", random.choice(["latest", "deprecated"]).unwrap()),
            ]),
        ),
    };
    let names = condition.contains('#').then(|| {
        [("#r", "region"), ("#s", "status")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .into()
    });
    Query {
        table_name: TABLE.to_owned(),
        index_name: index.map(str::to_owned),
        key_condition_expression: Some(condition.to_owned()),
        expression_attribute_names: names,
        expression_attribute_values: given,
        scan_index_forward: random.bool().then_some(random.bool()),
        limit: random.bool().then(|| random.u32(1..9)),
        ..Query::default()
    }
}

/// All pages of a query: the first of the gateways answers the first page, the next one the second.
fn all_pages(databases: &[&dyn Database], query: &Query) -> Vec<Vec<Item>> {
    let mut pages = Vec::new();
    let mut start = None;
    loop {
        let asked = Query {
            exclusive_start_key: start,
            ..query.clone()
        };
        let database = databases[pages.len() % databases.len()];
        let page = database.query(asked).wait().unwrap();
        pages.push(page.items.map(|items| items.to_vec()).unwrap_or_default());
        start = page.last_evaluated_key;
        if start.is_none() {
            return pages;
        }
    }
}

fn all_rows(databases: &[&dyn Database], index: Option<&str>, segments: u32, limit: u32) -> Vec<Item> {
    let mut rows = Vec::new();
    for segment in 0..segments {
        let mut start = None;
        let mut pages = 0;
        loop {
            let asked = Scan {
                table_name: TABLE.to_owned(),
                index_name: index.map(str::to_owned),
                segment: (segments > 1).then_some(segment),
                total_segments: (segments > 1).then_some(segments),
                limit: Some(limit),
                exclusive_start_key: start,
                ..Scan::default()
            };
            let page = databases[pages % databases.len()].scan(asked).wait().unwrap();
            pages += 1;
            rows.extend(page.items.iter().flat_map(|rows| rows.iter()));
            start = page.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
    }
    rows.sort_by_key(trestle_item::codec::encode);
    rows
}

/// The response with parts that have no promised order sorted.
fn in_order(mut response: Response) -> Response {
    if let Response::BatchGetItem(answer) = &mut response {
        for rows in answer.responses.values_mut() {
            rows.sort_by_key(trestle_item::codec::encode);
        }
    }
    response
}

/// What makes a random request.
pub(crate) type MakeRequest = fn(&mut fastrand::Rng) -> Request;

/// The capabilities of an endpoint that matter for a migration.
pub(crate) struct Abilities {
    pub(crate) transactions: bool,
    pub(crate) streams: bool,
}

impl Abilities {
    pub(crate) const ALL: Abilities = Abilities {
        transactions: true,
        streams: true,
    };
    pub(crate) const WITHOUT_TRANSACTIONS: Abilities = Abilities {
        transactions: false,
        streams: true,
    };

    fn requests(&self) -> MakeRequest {
        match self.transactions {
            true => random_request,
            false => without_transaction,
        }
    }

    /// The model for such an endpoint.
    fn model(&self, text: &str) -> String {
        match self.streams {
            true => text.to_owned(),
            false => text.replace("stream = \"new-and-old-images\"\n", ""),
        }
    }
}

/// A request that endpoints without transactions support.
pub(crate) fn without_transaction(random: &mut fastrand::Rng) -> Request {
    loop {
        let request = random_request(random);
        if !matches!(
            request,
            Request::TransactWriteItems(_) | Request::TransactGetItems(_)
        ) {
            return request;
        }
    }
}

fn same_answers(
    gateways: &[Gateway],
    twin: &Embedded,
    random: &mut fastrand::Rng,
    requests: usize,
    make: MakeRequest,
) {
    for number in 0..requests {
        let request = make(random);
        let gateway = random.choice(gateways).unwrap();
        let expected = twin.execute(request.clone()).wait().map(in_order);
        let found = gateway.execute(request.clone()).wait().map(in_order);
        assert_eq!(found, expected, "request {number}: {request:?}");
        if number % 4 == 0 {
            same_lists(gateways, twin, random);
        }
    }
}

fn same_lists(gateways: &[Gateway], twin: &Embedded, random: &mut fastrand::Rng) {
    let databases: Vec<&dyn Database> = gateways.iter().map(|gateway| gateway as &dyn Database).collect();
    let query = random_query(random);
    let (found, expected) = (all_pages(&databases, &query), all_pages(&[twin], &query));
    match query.index_name {
        None => assert_eq!(found, expected, "{query:?}"),
        // In the order of the index; rows with equal keys have no promised order.
        Some(_) => {
            let sizes = |pages: &[Vec<Item>]| pages.iter().map(Vec::len).collect::<Vec<_>>();
            let all = |pages: Vec<Vec<Item>>| {
                let mut rows: Vec<Item> = pages.into_iter().flatten().collect();
                rows.sort_by_key(trestle_item::codec::encode);
                rows
            };
            assert_eq!(sizes(&found), sizes(&expected), "{query:?}");
            assert_eq!(all(found), all(expected), "{query:?}");
        }
    }
    if random.u8(..6) == 0 {
        let (segments, limit) = (random.u32(1..4), random.u32(1..60));
        let index = (random.u8(..3) == 0).then_some("by_state");
        let found = all_rows(&databases, index, segments, limit);
        assert_same(&found, &all_rows(&[twin], index, segments, 1000));
    }
}

/// On a difference, shows the rows that only one side has.
fn assert_same(found: &[Item], expected: &[Item]) {
    let missing: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
    let beyond: Vec<_> = found.iter().filter(|row| !expected.contains(row)).collect();
    assert!(
        missing.is_empty() && beyond.is_empty() && found.len() == expected.len(),
        "{} rows and {}; missing {missing:?}; beyond {beyond:?}",
        found.len(),
        expected.len()
    );
}

pub(crate) fn start(gateway: &Gateway, model: &str, options: StartOptions) {
    let plan = gateway
        .models()
        .start_migration(model, options, &mut Unwatched)
        .unwrap();
    assert!(!plan.is_refused(), "{plan}");
}

pub(crate) fn until(gateway: &Gateway, is_so: impl Fn(&MigrationStatus) -> bool) -> MigrationStatus {
    let began = Instant::now();
    loop {
        let status = gateway.models().migration_status(Some("depots")).unwrap();
        if is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "{status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many rows of the endpoint are in places of the layout by depot that the one by customer does not use.
pub(crate) fn lying_by_depot(remote: &dyn Database) -> usize {
    let is_former = |row: &&Item| {
        let pk = row.get("pk").and_then(AttributeValue::as_s).unwrap();
        ["depot#", "release#", "member#", "email#"]
            .iter()
            .any(|prefix| pk.starts_with(prefix))
    };
    rows(remote, TABLE).iter().filter(is_former).count()
}

#[test]
fn while_rows_move_gateways_answer_as_a_database_that_has_had_the_keys_from_the_beginning() {
    for seed in 0..3 {
        let remote: Arc<dyn Database> = endpoint(Arc::new(SystemClock::new()));
        migrate_beside_twin(seed, remote, &Abilities::ALL);
    }
}

pub(crate) fn migrate_beside_twin(seed: u64, remote: Arc<dyn Database>, abilities: &Abilities) {
    let mut random = fastrand::Rng::with_seed(seed);
    let make = abilities.requests();
    let gateways = two_gateways_with(&abilities.model(BY_DEPOT), &remote);
    let twin = twin(BY_CUSTOMER);
    for _ in 0..200 {
        let (identity, rest) = random_row(&mut random);
        let put = PutItem {
            table_name: TABLE.to_owned(),
            item: together(&identity, &rest),
            ..PutItem::default()
        };
        let here = twin.put_item(put.clone()).wait();
        assert_eq!(gateways[0].put_item(put).wait(), here);
    }
    let slow = StartOptions {
        rate: "40".parse().unwrap(),
        paused: true,
        ..StartOptions::default()
    };
    start(&gateways[1], &abilities.model(BY_CUSTOMER), slow);
    assert!(lying_by_depot(&*remote) > 50);
    same_answers(&gateways, &twin, &mut random, 60, make);
    assert!(
        lying_by_depot(&*remote) > 10,
        "only rows that are written have moved"
    );
    gateways[0].models().resume_migration(None, None).unwrap();
    same_answers(&gateways, &twin, &mut random, 150, make);
    // At a slow endpoint, all rows have moved by now.
    let hurried = gateways[1].models().resume_migration(None, Some(Rate::UNLIMITED));
    assert!(
        matches!(hurried, Ok(_) | Err(BindError::NotNow { .. })),
        "{hurried:?}"
    );
    for gateway in &gateways {
        until(gateway, |status| status.state == MigrationState::Verified);
    }
    assert_eq!(lying_by_depot(&*remote), 0);
    let reads = |gateway: &Gateway| gateway.models().migration_status(None).unwrap().double_reads;
    let before: Vec<u64> = gateways.iter().map(reads).collect();
    assert!(before.iter().all(|reads| *reads > 0), "{before:?}");
    same_answers(&gateways, &twin, &mut random, 30, make);
    assert_eq!(
        gateways.iter().map(reads).collect::<Vec<_>>(),
        before,
        "reads look at one place"
    );
    gateways[1].models().finish_migration(None).unwrap();
    until(&gateways[0], |status| status.state == MigrationState::Done);
    same_answers(&gateways, &twin, &mut random, 30, make);
    assert_same(&rows(&*remote, TABLE), &rows(&twin, TABLE));
    assert_exact(&gateways[0], "in the end");
}

#[test]
fn a_migration_is_rolled_back_while_rows_move() {
    roll_back_beside_twin(endpoint(Arc::new(SystemClock::new())), random_request);
}

pub(crate) fn roll_back_beside_twin(remote: Arc<dyn Database>, make: MakeRequest) {
    let mut random = fastrand::Rng::with_seed(7);
    let gateways = two_gateways(&remote);
    let twin = twin(BY_DEPOT);
    for _ in 0..150 {
        let (identity, rest) = random_row(&mut random);
        let put = PutItem {
            table_name: TABLE.to_owned(),
            item: together(&identity, &rest),
            ..PutItem::default()
        };
        let here = twin.put_item(put.clone()).wait();
        assert_eq!(gateways[0].put_item(put).wait(), here);
    }
    let slow = StartOptions {
        rate: "100".parse().unwrap(),
        ..StartOptions::default()
    };
    start(&gateways[0], BY_CUSTOMER, slow);
    until(&gateways[1], |status| status.rows_moved > 10);
    let back = in_turn(|| gateways[1].models().roll_back_migration(None, &mut Unwatched));
    assert!(back.is_some_and(|plan| !plan.is_refused()));
    for _ in 0..80 {
        let request = make(&mut random);
        let expected = twin.execute(request.clone()).wait().map(in_order);
        let found = random.choice(&gateways).unwrap().execute(request.clone()).wait();
        assert_eq!(found.map(in_order), expected, "{request:?}");
    }
    gateways[0]
        .models()
        .resume_migration(None, Some(Rate::UNLIMITED))
        .unwrap();
    until(&gateways[0], |status| status.state == MigrationState::RolledBack);
    until(&gateways[1], |status| status.state == MigrationState::RolledBack);
    assert_same(&rows(&*remote, TABLE), &rows(&twin, TABLE));
    assert_exact(&gateways[1], "in the end");
}

#[test]
fn a_scan_that_was_begun_before_is_refused_while_rows_move() {
    let remote: Arc<Engine> = endpoint(Arc::new(SystemClock::new()));
    let gateways = two_gateways(&(Arc::clone(&remote) as Arc<dyn Database>));
    let old = Scan {
        table_name: TABLE.to_owned(),
        exclusive_start_key: Some(Item::from([("pk", "depot#d1"), ("sk", "parcel#a#1")])),
        ..Scan::default()
    };
    gateways[0].scan(old.clone()).wait().unwrap();
    let paused = StartOptions {
        paused: true,
        ..StartOptions::default()
    };
    start(&gateways[0], BY_CUSTOMER, paused);
    let refused = gateways[1].scan(old).wait().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation);
    assert!(refused.message().contains("Begin the scan again"), "{refused}");
}

/// Writes through another gateway during a pass over all rows.
struct Meanwhile<'g> {
    gateway: &'g Gateway,
    answers: Vec<Result<(), String>>,
}

impl Watcher for Meanwhile<'_> {
    fn step(&mut self, _: &Step) {}

    fn rows(&mut self, _: &'static str, _: &str, rows: u64) {
        if rows == 1 {
            self.answers.push(put_parcel(self.gateway, WIDE));
            self.answers.push(put_parcel(self.gateway, 7));
        }
    }
}

/// A number that is too large for the padding of the layout by customer.
const WIDE: u64 = 1_000_000;

fn put_parcel(gateway: &Gateway, number: u64) -> Result<(), String> {
    let put = PutItem {
        table_name: TABLE.to_owned(),
        item: row(
            "parcel",
            &[("depot", "d1"), ("customer", "a"), ("state", "open")],
            &[("number", number), ("n", 1)],
        ),
        ..PutItem::default()
    };
    gateway
        .put_item(put)
        .wait()
        .map(drop)
        .map_err(|error| error.to_string())
}

#[test]
fn while_one_gateway_looks_at_every_row_no_other_writes_what_could_not_move() {
    let remote: Arc<dyn Database> = endpoint(Arc::new(SystemClock::new()));
    let gateways = two_gateways(&remote);
    put_parcel(&gateways[1], 1).unwrap();
    put_parcel(&gateways[1], WIDE).unwrap();
    let mut meanwhile = Meanwhile {
        gateway: &gateways[1],
        answers: Vec::new(),
    };
    let refused = gateways[0]
        .models()
        .start_migration(BY_CUSTOMER, StartOptions::default(), &mut meanwhile)
        .unwrap();
    assert!(refused.is_refused(), "a row cannot move: {refused}");
    let [wide, other] = &meanwhile.answers[..] else {
        panic!("{:?}", meanwhile.answers);
    };
    assert!(
        wide.as_ref()
            .is_err_and(|error| error.contains("a migration is about to begin")),
        "{wide:?}"
    );
    assert_eq!(*other, Ok(()));
    // It did not begin: the guard has ended at all gateways.
    let began = Instant::now();
    while let Err(error) = put_parcel(&gateways[1], WIDE) {
        assert!(began.elapsed() < PATIENCE, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
