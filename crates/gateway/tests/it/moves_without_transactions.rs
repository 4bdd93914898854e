//! Rows move to other keys at an endpoint without transactions: no reader misses a row or finds it twice,
//! even when gateways are killed.

use std::sync::{Arc, Mutex, OnceLock};

use trestle_api::{
    Database, DatabaseExt, DeleteItem, ErrorKind, GetItem, PutItem, Query, Request, ResponseFuture,
    UpdateItem, Wait,
};
use trestle_binding::{MigrationState, Rate};
use trestle_embedded::StartOptions;
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::{AttributeValue, Item, Map};

use crate::migrations::{
    Abilities, BY_CUSTOMER, BY_DEPOT, TABLE, lying_by_depot, migrate_beside_twin, number,
    roll_back_beside_twin, row, start, together, two_gateways, until, values, without_transaction,
};
use crate::support::{assert_exact, gateway_with, in_turn, rows};
use crate::without_transactions;

#[test]
fn gateways_answer_the_same_while_rows_move() {
    for seed in 0..2 {
        migrate_beside_twin(
            seed,
            without_transactions::remote(),
            &Abilities::WITHOUT_TRANSACTIONS,
        );
    }
}

#[test]
fn a_migration_is_rolled_back() {
    roll_back_beside_twin(without_transactions::remote(), without_transaction);
}

/// A client's knowledge of a row that only it writes: the last acknowledged state, and the unacknowledged one.
#[derive(Default)]
struct KnownParcel {
    acknowledged: Option<u64>,
    unanswered: Vec<Option<u64>>,
}

/// Writes the parcels of a depot through a gateway until it is killed.
fn write_until_killed(gateway: &Gateway, depot: &str, known: &mut [KnownParcel], random: &mut fastrand::Rng) {
    loop {
        let number = random.usize(..known.len());
        let n = (random.u8(..4) > 0).then(|| random.u64(..1_000_000));
        let parcel = &mut known[number];
        let identity = row(
            "parcel",
            &[("depot", depot), ("customer", "a")],
            &[("number", number as u64)],
        );
        let request = match n {
            Some(n) => Request::PutItem(PutItem {
                table_name: TABLE.to_owned(),
                item: together(&identity, &row("parcel", &[("state", "open")], &[("n", n)])),
                ..PutItem::default()
            }),
            None => Request::DeleteItem(DeleteItem {
                table_name: TABLE.to_owned(),
                key: identity,
                ..DeleteItem::default()
            }),
        };
        match gateway.execute(request).wait() {
            Ok(_) => {
                parcel.acknowledged = n;
                parcel.unanswered.clear();
            }
            Err(error) if error.kind() == ErrorKind::InternalServerError => {
                parcel.unanswered.push(n);
                return;
            }
            // It finds the intent of a gateway that was killed.
            Err(error) => assert_eq!(error.kind(), ErrorKind::TransactionConflict, "{error}"),
        }
    }
}

#[test]
fn a_killed_gateway_leaves_no_row_in_two_places() {
    let remote = without_transactions::remote();
    let gateways = two_gateways(&remote);
    let depots: Vec<String> = (0..6).map(|number| format!("depot-{number}")).collect();
    let mut known: Vec<Vec<KnownParcel>> = depots
        .iter()
        .map(|_| (0..12).map(|_| KnownParcel::default()).collect())
        .collect();
    for (depot, known) in depots.iter().zip(&mut known) {
        for (number, parcel) in known.iter_mut().enumerate() {
            let texts = [("depot", depot.as_str()), ("customer", "a"), ("state", "open")];
            let item = row("parcel", &texts, &[("number", number as u64), ("n", 1)]);
            let put = PutItem {
                table_name: TABLE.to_owned(),
                item,
                ..PutItem::default()
            };
            gateways[0].put_item(put).wait().unwrap();
            parcel.acknowledged = Some(1);
        }
    }
    // The gateways to be killed are opened before rows move, and may be killed while they sweep.
    let dying: Vec<_> = (0..depots.len() as i64)
        .map(|number| without_transactions::dying_gateway(&remote, 60 + 35 * number))
        .collect();
    let slow = StartOptions {
        rate: "30".parse().unwrap(),
        ..StartOptions::default()
    };
    start(&gateways[0], BY_CUSTOMER, slow);
    std::thread::scope(|scope| {
        for (seed, ((gateway, depot), known)) in dying.iter().zip(&depots).zip(&mut known).enumerate() {
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed as u64);
                gateway.dies_from_now_on();
                write_until_killed(&gateway.gateway, depot, known, &mut random);
            });
        }
    });
    drop(dying);
    in_turn(|| gateways[1].models().resume_migration(None, Some(Rate::UNLIMITED)));
    until(&gateways[1], |status| status.state == MigrationState::Verified);
    gateways[1].models().finish_migration(None).unwrap();
    until(&gateways[0], |status| status.state == MigrationState::Done);
    assert_eq!(lying_by_depot(&*remote), 0);
    let found = rows(&*remote, TABLE);
    for (depot, known) in depots.iter().zip(&known) {
        for (number, parcel) in known.iter().enumerate() {
            let is_it = |row: &&Item| {
                row.get("depot").and_then(AttributeValue::as_s) == Some(depot)
                    && row.get("number") == Some(&self::number(number as u64))
            };
            let copies: Vec<&Item> = found.iter().filter(is_it).collect();
            let n = copies.first().and_then(|row| row.get("n")).cloned();
            let may_be = [parcel.acknowledged]
                .into_iter()
                .chain(parcel.unanswered.iter().copied());
            let mut may_be = may_be.map(|n| n.map(self::number));
            assert!(
                copies.len() <= 1 && may_be.any(|expected| expected == n),
                "{depot}/{number}: {copies:?}"
            );
        }
    }
    assert_exact(&gateways[0], "in the end");
}

/// Reads the endpoint before and after each write of a row.
struct Watched {
    database: Arc<dyn Database>,
    look: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Database for Watched {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let table = match &request {
            Request::PutItem(put) => &put.table_name,
            Request::UpdateItem(update) => &update.table_name,
            Request::DeleteItem(delete) => &delete.table_name,
            _ => return self.database.execute(request),
        };
        let look = self.look.get().filter(|_| table == TABLE);
        Box::pin(async move {
            look.iter().for_each(|look| look());
            let answer = self.database.execute(request).await;
            look.iter().for_each(|look| look());
            answer
        })
    }
}

#[test]
fn a_reader_finds_a_row_once_at_every_step_of_its_move() {
    let remote = without_transactions::remote();
    let watched = Arc::new(Watched {
        database: Arc::clone(&remote),
        look: OnceLock::new(),
    });
    let writer = gateway_with(BY_DEPOT, watched.clone(), Arc::new(SystemClock::new()));
    let reader = Gateway::open(remote).unwrap();
    let identity = row("parcel", &[("depot", "d1"), ("customer", "a")], &[("number", 1)]);
    let rest = row("parcel", &[("state", "open")], &[("n", 1)]);
    let put = PutItem {
        table_name: TABLE.to_owned(),
        item: together(&identity, &rest),
        ..PutItem::default()
    };
    writer.put_item(put).wait().unwrap();
    let paused = StartOptions {
        paused: true,
        ..StartOptions::default()
    };
    start(&reader, BY_CUSTOMER, paused);
    let found = Arc::new(Mutex::new(Vec::new()));
    let looks = Arc::clone(&found);
    let get = GetItem {
        table_name: TABLE.to_owned(),
        key: identity.clone(),
        ..GetItem::default()
    };
    let query = Query {
        table_name: TABLE.to_owned(),
        key_condition_expression: Some("pk = :pk".to_owned()),
        expression_attribute_values: values(&[(":pk", "p/d1/a")]),
        ..Query::default()
    };
    let look = move || {
        let one = reader.get_item(get.clone()).wait().unwrap().item;
        let list = reader.query(query.clone()).wait().unwrap().items;
        let list = list.map(|rows| rows.to_vec()).unwrap_or_default();
        looks.lock().unwrap().push((one, list));
    };
    assert!(watched.look.set(Box::new(look)).is_ok());
    let update = UpdateItem {
        table_name: TABLE.to_owned(),
        key: identity,
        update_expression: Some("ADD n :one".to_owned()),
        expression_attribute_values: Some(Map::from_iter([(":one".to_owned(), number(1))])),
        ..UpdateItem::default()
    };
    writer.update_item(update).wait().unwrap();
    let found = found.lock().unwrap();
    let seen: Vec<_> = found
        .iter()
        .map(|(one, list)| {
            let [row] = list.as_slice() else {
                panic!("{list:?}");
            };
            assert_eq!(one.as_ref(), Some(row));
            row.get("n").cloned()
        })
        .collect();
    let (first, last) = (Some(number(1)), Some(number(2)));
    // Before the put under the new key, and after it.
    assert_eq!(seen, [first, last.clone(), last.clone(), last]);
}

#[test]
fn a_row_that_does_not_fit_into_an_intent_is_named_and_stays() {
    let remote = without_transactions::remote();
    let gateway = gateway_with(BY_DEPOT, Arc::clone(&remote), Arc::new(SystemClock::new()));
    let mut item = row(
        "parcel",
        &[("depot", "d1"), ("customer", "a"), ("state", "open")],
        &[("number", 1), ("n", 1)],
    );
    item.insert("label", "x".repeat(250_000).as_str());
    let put = PutItem {
        table_name: TABLE.to_owned(),
        item,
        ..PutItem::default()
    };
    gateway.put_item(put).wait().unwrap();
    start(&gateway, BY_CUSTOMER, StartOptions::default());
    let status = until(&gateway, |status| status.stuck.rows > 0);
    assert!(
        status.to_string().contains("endpoint without transactions"),
        "{status}"
    );
    assert_eq!(lying_by_depot(&*remote), 1);
}
