//! Unfinished looks for rows: the gateway was killed, or its client disconnected, between the commit and the second look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use trestle_api::{
    Database, DatabaseExt, DeleteItem, Error, Request, Response, ResponseFuture, UpdateItem, Wait,
};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_item::{AttributeValue, Item, Map};

use crate::requests::item;
use crate::several_gateways::put;
use crate::support::{apply_next_version, assert_exact, endpoint, gateway, rows};
use crate::without_transactions::remote as without_transactions;

type Quicker = Box<dyn FnOnce() + Send>;

/// What happens to a gateway after its write is decided.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// It is killed: no further request arrives.
    Dies,
    /// It gets no response for a long time.
    Hangs,
}

/// How an endpoint receives a write of several rows.
#[derive(Clone, Copy)]
struct Steps {
    /// Recognises the first request after the rows were read on which the write depends.
    begins: fn(&Request) -> bool,
    /// Recognises the request after which the write is certain to be completed, except for its second look.
    decides: fn(&Request) -> bool,
}

const IN_A_TRANSACTION: Steps = Steps {
    begins: removes_in_a_transaction,
    decides: removes_in_a_transaction,
};

fn removes_in_a_transaction(request: &Request) -> bool {
    let Request::TransactWriteItems(write) = request else {
        return false;
    };
    write.transact_items.iter().any(|item| item.delete.is_some())
}

fn puts_intent(request: &Request) -> bool {
    matches!(request, Request::PutItem(put) if put.table_name == "_trestle.intents")
}

fn updates_intent(request: &Request, expression: &str) -> bool {
    let Request::UpdateItem(update) = request else {
        return false;
    };
    update.table_name == "_trestle.intents" && update.update_expression.as_deref() == Some(expression)
}

/// The connection of a gateway: another gateway writes first, once, and the connection breaks when the write is decided.
struct Way {
    database: Arc<dyn Database>,
    quicker: Mutex<Option<Quicker>>,
    steps: Steps,
    then: Then,
    is_broken: AtomicBool,
}

impl Way {
    async fn answer(&self, request: Request) -> Result<Response, Error> {
        let killed = || Error::internal("the gateway was killed");
        if self.then == Then::Dies && self.is_broken.load(Ordering::Acquire) {
            return Err(killed());
        }
        let decides = (self.steps.decides)(&request);
        if (self.steps.begins)(&request)
            && let Some(quicker) = self.quicker.lock().take()
        {
            quicker();
        }
        let answer = self.database.execute(request).await?;
        if !decides || self.is_broken.swap(true, Ordering::AcqRel) {
            return Ok(answer);
        }
        match self.then {
            Then::Dies => Err(killed()),
            Then::Hangs => std::future::pending().await,
        }
    }
}

impl Database for Way {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(self.answer(request))
    }
}

/// An endpoint with two versions of a document, and a gateway that removes the newer one. Meanwhile, another gateway puts a third
/// version between the two. The first gateway fails right after its commit.
struct Left {
    remote: Arc<dyn Database>,
    quick: Gateway,
    broken: Gateway,
    /// The row of the broken gateway.
    member: Item,
}

impl Left {
    fn on(remote: Arc<dyn Database>, steps: Steps, then: Then) -> Self {
        let quick = gateway(Arc::clone(&remote), Arc::new(SystemClock::new()));
        for version in [1, 5] {
            put(&quick, &version_of_a(version));
        }
        let way = Arc::new(Way {
            database: Arc::clone(&remote),
            quicker: Mutex::default(),
            steps,
            then,
            is_broken: AtomicBool::new(false),
        });
        let members = || rows(&*remote, "_trestle.gateways").into_iter();
        let id = |row: Item| Item::from_iter([("gateway".to_owned(), row.get("gateway").unwrap().clone())]);
        let before: Vec<Item> = members().map(id).collect();
        let broken = Gateway::open(Arc::clone(&way) as Arc<dyn Database>).unwrap();
        let member = members().map(id).find(|id| !before.contains(id)).unwrap();
        let overtakes = quick.clone();
        *way.quicker.lock() = Some(Box::new(move || {
            let putting = thread::spawn(move || put(&overtakes, &version_of_a(3)));
            putting.join().unwrap();
        }));
        let left = Left {
            remote,
            quick,
            broken,
            member,
        };
        let delete = DeleteItem {
            table_name: "rows".to_owned(),
            key: item(&json!({"pk": "doc#a", "sk": "v#0005"})),
            ..DeleteItem::default()
        };
        let removing = left.broken.delete_item(delete);
        match then {
            Then::Dies => assert!(removing.wait().is_err()),
            Then::Hangs => give_up_after(removing, &way.is_broken),
        }
        assert!(way.is_broken.load(Ordering::Acquire), "nothing was decided");
        left
    }

    /// The version that the head names.
    fn head(&self) -> Option<AttributeValue> {
        let rows = rows(&*self.remote, "rows");
        let head = rows.iter().find(|row| row.get("sk") == Some(&"head".into()));
        head.and_then(|row| row.get("version").cloned())
    }

    fn intents(&self) -> Vec<Item> {
        rows(&*self.remote, "_trestle.intents")
    }

    /// Makes the failed gateway expire at once, as if its lease had passed.
    fn end_lease(&self) {
        let delete = DeleteItem {
            table_name: "_trestle.gateways".to_owned(),
            key: self.member.clone(),
            ..DeleteItem::default()
        };
        self.remote.delete_item(delete).wait().unwrap();
    }

    fn await_exact(&self) {
        let began = Instant::now();
        while !self.intents().is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(40),
                "the look is not made: {:?}",
                self.intents()
            );
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(self.head(), Some(3_i64.into()));
        assert_exact(&self.quick, "afterwards");
    }
}

fn version_of_a(version: u8) -> serde_json::Value {
    json!({"kind": "doc", "name": "a", "version": version})
}

/// Polls a request until the endpoint has received it, then drops it as a server does when its client disconnects.
fn give_up_after<T>(request: impl Future<Output = T>, is_committed: &AtomicBool) {
    let mut request = Box::pin(request);
    let waker = std::task::Waker::noop();
    let began = Instant::now();
    while !is_committed.load(Ordering::Acquire) {
        let polled = request.as_mut().poll(&mut std::task::Context::from_waker(waker));
        assert!(polled.is_pending());
        assert!(began.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
}

fn transactional() -> Arc<dyn Database> {
    endpoint(Arc::new(SystemClock::new()))
}

#[test]
fn a_look_that_a_killed_gateway_left_is_made_by_another() {
    let left = Left::on(transactional(), IN_A_TRANSACTION, Then::Dies);
    assert_eq!(left.head(), Some(1_i64.into()), "the row was not missed");
    left.end_lease();
    left.await_exact();
}

#[test]
fn without_transactions_it_is_made_whatever_was_left_besides() {
    let decided = |request: &Request| updates_intent(request, "SET #p = :plan");
    let written = |request: &Request| updates_intent(request, "SET #p = :none");
    for decides in [decided as fn(&Request) -> bool, written] {
        let steps = Steps {
            begins: puts_intent,
            decides,
        };
        let left = Left::on(without_transactions(), steps, Then::Dies);
        assert_ne!(left.head(), Some(3_i64.into()));
        left.end_lease();
        left.await_exact();
        assert_eq!(rows(&*left.remote, "_trestle.locks"), []);
    }
}

#[test]
fn a_look_whose_client_went_away_is_made_by_the_same_gateway() {
    let left = Left::on(transactional(), IN_A_TRANSACTION, Then::Hangs);
    left.await_exact();
}

#[test]
fn a_look_that_was_left_is_made_before_the_model_changes() {
    let left = Left::on(transactional(), IN_A_TRANSACTION, Then::Dies);
    left.end_lease();
    apply_next_version(&left.quick);
    assert_eq!(left.intents(), []);
    left.await_exact();
}

#[test]
fn a_look_for_rows_of_a_table_that_is_gone_is_dropped() {
    let left = Left::on(transactional(), IN_A_TRANSACTION, Then::Dies);
    let intents = left.intents();
    let Some(AttributeValue::L(looks)) = intents[0].get("looks") else {
        panic!("{intents:?}");
    };
    let Some(AttributeValue::M(mut look)) = looks.first().cloned() else {
        panic!("{looks:?}");
    };
    let query = look.get("query").and_then(AttributeValue::as_s).unwrap();
    let query = query.replace("\"TableName\":\"rows\"", "\"TableName\":\"gone\"");
    look.insert("query", AttributeValue::S(query));
    let update = UpdateItem {
        table_name: "_trestle.intents".to_owned(),
        key: Item::from_iter([("intent".to_owned(), intents[0].get("intent").unwrap().clone())]),
        update_expression: Some("SET looks = :looks".to_owned()),
        expression_attribute_values: Some(Map::from_iter([(
            ":looks".to_owned(),
            AttributeValue::L(vec![AttributeValue::M(look)]),
        )])),
        ..UpdateItem::default()
    };
    left.remote.update_item(update).wait().unwrap();
    left.end_lease();
    let began = Instant::now();
    while !left.intents().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", left.intents());
        thread::sleep(Duration::from_millis(100));
    }
}

/// Counts the transactions and other writes of a gateway.
struct Counting {
    database: Arc<dyn Database>,
    writes: Mutex<Vec<Request>>,
}

impl Database for Counting {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let is_write = match &request {
            Request::TransactWriteItems(_) => true,
            Request::PutItem(put) => put.table_name != "_trestle.gateways",
            Request::UpdateItem(_) | Request::DeleteItem(_) | Request::CreateTable(_) => true,
            _ => false,
        };
        if is_write {
            self.writes.lock().push(request.clone());
        }
        self.database.execute(request)
    }
}

#[test]
fn only_a_write_that_looks_for_rows_has_an_intent() {
    let counting = Arc::new(Counting {
        database: endpoint(Arc::new(SystemClock::new())),
        writes: Mutex::default(),
    });
    let gateway = gateway(
        Arc::clone(&counting) as Arc<dyn Database>,
        Arc::new(SystemClock::new()),
    );
    let writes_of = |write: &dyn Fn()| {
        counting.writes.lock().clear();
        write();
        let writes = counting.writes.lock();
        let shown = writes
            .iter()
            .map(|write| format!("{} {:?}", write.operation(), write.named_tables()));
        shown.collect::<Vec<_>>()
    };
    let one = writes_of(&|| put(&gateway, &json!({"kind": "shop", "shop": "s"})));
    assert_eq!(one.len(), 1, "{one:?}");
    for version in [1, 5] {
        let one = writes_of(&|| put(&gateway, &version_of_a(version)));
        assert_eq!(one.len(), 1, "{one:?}");
        assert!(!one[0].contains("_trestle.intents"), "{one:?}");
    }
    let remove = || {
        let delete = DeleteItem {
            table_name: "rows".to_owned(),
            key: item(&json!({"pk": "doc#a", "sk": "v#0005"})),
            ..DeleteItem::default()
        };
        gateway.delete_item(delete).wait().unwrap();
    };
    let first = writes_of(&remove);
    assert_eq!(
        first.len(),
        3,
        "the table of intents, the transaction, the end: {first:?}"
    );
    put(&gateway, &version_of_a(5));
    let again = writes_of(&remove);
    assert_eq!(again.len(), 2, "{again:?}");
    assert!(again[0].contains("_trestle.intents"), "{again:?}");
    assert_eq!(rows(&*counting, "_trestle.intents"), []);
}
