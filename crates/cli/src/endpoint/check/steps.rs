//! The steps of the check: each does something through two gateways of the endpoint, and compares the result
//! with a database in memory that has the same model.

use super::deliveries::routes;
use super::elsewhere::copied_tables;
use super::moves::migrations;
use super::scratch::ScratchTables;
use super::{StepOutcome, StepReport};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_api::{Database, DatabaseExt, ExecuteStatement, OperationName, Request, Scan, Wait};
use trestle_embedded::{ApplyOptions, Background, Embedded, Options, RepairOptions, Unwatched};
use trestle_gateway::{Capabilities, Gateway, PastWritesOptions};
use trestle_item::Item;
use trestle_wire::read_request;

const MODEL: &str = include_str!("model.toml");
pub(super) const TABLE: &str = "rows";
/// Writers at each of the two gateways, and rows of each writer.
const WRITERS: usize = 4;
const ROWS: usize = 8;
/// How long the stream of an endpoint may take to show a change.
pub(super) const STREAM_MAX: Duration = Duration::from_secs(90);

/// Why a step did not pass.
pub(super) enum Hitch {
    Failed(String),
    /// The endpoint lacks this.
    Lacks(&'static str),
}

impl<E: std::fmt::Display> From<E> for Hitch {
    fn from(error: E) -> Self {
        Hitch::Failed(error.to_string())
    }
}

type Step = fn(&Stage) -> Result<(), Hitch>;

const STEPS: [(&str, Step); 17] = [
    ("derived keys", derived_keys),
    ("heads", heads),
    ("unique values", unique_values),
    ("inverses", inverses),
    ("entries", entries),
    ("counters", counters),
    ("copies", copies),
    ("batches", batches),
    ("client transactions", transactions),
    ("PartiQL writes", statements),
    ("PartiQL transactions", statements_as_one),
    ("concurrent writers", concurrent_writers),
    ("audit and repair", audit_and_repair),
    ("writes past the gateways", past_writes),
    ("routes", routes),
    ("migrations", migrations),
    ("copied tables", copied_tables),
];

/// Two gateways in front of the endpoint, and the database with which they are compared.
pub(super) struct Stage {
    pub(super) scratch: Arc<ScratchTables>,
    pub(super) capabilities: Capabilities,
    pub(super) gateways: [Gateway; 2],
    pub(super) embedded: Embedded,
    /// The model.
    pub(super) text: String,
}

/// Runs all steps; `tell` is called for each step when it has ended.
pub(super) fn run(scratch: &Arc<ScratchTables>, tell: &mut dyn FnMut(StepReport)) {
    let mut report = |name: &str, began: Instant, outcome: Result<(), Hitch>| {
        let (outcome, why) = match outcome {
            Ok(()) => (StepOutcome::Passed, None),
            Err(Hitch::Lacks(what)) => {
                let why = format!("the endpoint lacks {what}");
                (StepOutcome::Skipped, Some(why))
            }
            Err(Hitch::Failed(why)) => (StepOutcome::Failed, Some(why)),
        };
        let passed = outcome != StepOutcome::Failed;
        tell(StepReport {
            step: name.to_owned(),
            outcome,
            why,
            seconds: began.elapsed().as_secs_f64(),
        });
        passed
    };
    let began = Instant::now();
    let capabilities = Capabilities::probe(&**scratch).wait();
    let outcome =
        capabilities
            .as_ref()
            .map_err(Hitch::from)
            .and_then(|found| match found.conditional_writes {
                true => Ok(()),
                false => Err(Hitch::Failed(
                    "the endpoint lacks conditional writes that are exact: no row of a model can be written"
                        .to_owned(),
                )),
            });
    let (true, Ok(capabilities)) = (report("capabilities", began, outcome), capabilities) else {
        return;
    };
    let began = Instant::now();
    let gateways = "two gateways with a model";
    let stage = match Stage::new(scratch, capabilities) {
        Ok(stage) => {
            report(gateways, began, Ok(()));
            stage
        }
        Err(hitch) => {
            report(gateways, began, Err(hitch));
            return;
        }
    };
    for (name, step) in STEPS {
        if scratch.is_stopped() {
            return;
        }
        let began = Instant::now();
        let outcome = step(&stage).and_then(|()| stage.rows_agree());
        report(name, began, outcome);
    }
}

impl Stage {
    fn new(scratch: &Arc<ScratchTables>, capabilities: Capabilities) -> Result<Self, Hitch> {
        let text = match capabilities.streams {
            true => MODEL.replace("#stream", "stream = \"new-and-old-images\""),
            false => MODEL.to_owned(),
        };
        let database = || Arc::clone(scratch) as Arc<dyn Database>;
        let first = Gateway::open(database())?;
        let applied = first
            .models()
            .apply(&text, ApplyOptions::default(), &mut Unwatched)?;
        if !applied.obstacles.is_empty() {
            return Err(Hitch::Failed(applied.to_string()));
        }
        let second = Gateway::open(database())?;
        let options = Options {
            background: Background::Tables,
            ..Options::default()
        };
        let embedded = Embedded::in_memory(options)?;
        embedded
            .models()
            .apply(&text, ApplyOptions::default(), &mut Unwatched)?;
        Ok(Stage {
            scratch: Arc::clone(scratch),
            capabilities,
            gateways: [first, second],
            embedded,
            text,
        })
    }

    /// Sends a request through one of the gateways and to the database in memory: the answers must be the same.
    pub(super) fn both(&self, gateway: usize, request: Request) -> Result<(), Hitch> {
        let wanted = self.embedded.execute(request.clone()).wait();
        let [first, second] = &self.gateways;
        let through = if gateway.is_multiple_of(2) { first } else { second };
        let answer = through.execute(request.clone()).wait();
        match answer == wanted {
            true => Ok(()),
            false => Err(Hitch::Failed(format!(
                "{} was answered with {answer:?} instead of {wanted:?}",
                request.operation().as_str()
            ))),
        }
    }

    /// Sends requests, by the gateways in turn.
    pub(super) fn all(&self, requests: impl IntoIterator<Item = Request>) -> Result<(), Hitch> {
        let mut requests = requests.into_iter().enumerate();
        requests.try_for_each(|(at, request)| self.both(at, request))
    }

    /// Checks that the rows at the endpoint are those in memory.
    fn rows_agree(&self) -> Result<(), Hitch> {
        let (there, here) = (rows(&*self.scratch)?, rows(&self.embedded)?);
        match there == here {
            true => Ok(()),
            false => {
                let wrong = there.iter().find(|row| !here.contains(row));
                let missing = here.iter().find(|row| !there.contains(row));
                Err(Hitch::Failed(format!(
                    "the rows differ: at the endpoint is {wrong:?}, and {missing:?} is not"
                )))
            }
        }
    }

    pub(super) fn needs(&self, has: bool, what: &'static str) -> Result<(), Hitch> {
        match has {
            true => Ok(()),
            false => Err(Hitch::Lacks(what)),
        }
    }

    /// Repeats a check until it succeeds or the time is over.
    pub(super) fn wait_until(
        &self,
        longest: Duration,
        what_fails: &str,
        mut is_so: impl FnMut() -> Result<bool, Hitch>,
    ) -> Result<(), Hitch> {
        let began = Instant::now();
        while !is_so()? {
            if began.elapsed() > longest || self.scratch.is_stopped() {
                return Err(Hitch::Failed(format!(
                    "{what_fails} within {} seconds",
                    longest.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        Ok(())
    }

    /// Whether all derived data agrees with its rows.
    pub(super) fn is_exact(&self) -> Result<bool, Hitch> {
        let options = RepairOptions {
            dry_run: true,
            ..RepairOptions::default()
        };
        let [first, _] = &self.gateways;
        Ok(first.models().repair(&options, &mut Unwatched)?.is_clean())
    }
}

/// All rows, in the same order for every database.
pub(super) fn rows(database: &dyn Database) -> Result<Vec<Item>, Hitch> {
    let (mut rows, mut start) = (Vec::new(), None);
    loop {
        let asked = Scan {
            table_name: TABLE.to_owned(),
            consistent_read: Some(true),
            exclusive_start_key: start,
            ..Scan::default()
        };
        let page = database.scan(asked).wait()?;
        rows.extend(page.items.map(|rows| rows.to_vec()).unwrap_or_default());
        start = page.last_evaluated_key;
        if start.is_none() {
            break;
        }
    }
    rows.sort_by_key(trestle_item::codec::encode);
    Ok(rows)
}

/// A request in DynamoDB's JSON, on the table of the check.
pub(super) fn of(operation: OperationName, mut body: Value) -> Result<Request, Hitch> {
    if let Some(body) = body.as_object_mut() {
        body.insert("TableName".to_owned(), json!(TABLE));
    }
    request(operation, &body)
}

fn request(operation: OperationName, body: &Value) -> Result<Request, Hitch> {
    Ok(read_request(operation, body.to_string().as_bytes())?)
}

pub(super) fn put(item: Value) -> Result<Request, Hitch> {
    of(
        OperationName::PutItem,
        json!({ "Item": item, "ReturnValues": "ALL_OLD" }),
    )
}

pub(super) fn set(key: Value, name: &str, value: Value) -> Result<Request, Hitch> {
    of(
        OperationName::UpdateItem,
        json!({
            "Key": key, "UpdateExpression": "SET #n = :v", "ExpressionAttributeNames": {"#n": name},
            "ExpressionAttributeValues": {":v": value}, "ReturnValues": "ALL_NEW",
        }),
    )
}

pub(super) fn delete(key: Value) -> Result<Request, Hitch> {
    of(
        OperationName::DeleteItem,
        json!({ "Key": key, "ReturnValues": "ALL_OLD" }),
    )
}

pub(super) fn row(kind: &str, values: &[(&str, &str)]) -> Value {
    let mut row = json!({"kind": {"S": kind}});
    for (name, value) in values {
        row[*name] = json!({ "S": value });
    }
    row
}

fn derived_keys(stage: &Stage) -> Result<(), Hitch> {
    let club = || row("club", &[("club", "chess")]);
    stage.all([
        put(club())?,
        of(OperationName::GetItem, json!({"Key": club(), "ConsistentRead": true}))?,
        set(club(), "note", json!({"S": "weekly"}))?,
        // A key of another row is refused.
        put(json!({"kind": {"S": "club"}, "club": {"S": "go"}, "pk": {"S": "club#chess"}, "sk": {"S": "club"}}))?,
        delete(club())?,
    ])
}

fn doc(version: u32) -> Value {
    json!({"kind": {"S": "doc"}, "name": {"S": "a"}, "version": {"N": version.to_string()}})
}

fn heads(stage: &Stage) -> Result<(), Hitch> {
    stage.all([
        put(doc(1))?,
        put(doc(3))?,
        put(doc(2))?,
        delete(doc(2))?,
        put(doc(4))?,
    ])
}

fn account(name: &str) -> Value {
    row("account", &[("account", name), ("email", "ann@example.com")])
}

fn unique_values(stage: &Stage) -> Result<(), Hitch> {
    let ann = || row("account", &[("account", "ann")]);
    stage.all([
        put(account("ann"))?,
        put(account("bob"))?,
        set(ann(), "email", json!({"S": "other@example.com"}))?,
        put(account("bob"))?,
        delete(ann())?,
    ])
}

fn inverses(stage: &Stage) -> Result<(), Hitch> {
    let follows = |to: &str| row("follows", &[("from", "ann"), ("to", to)]);
    stage.all([
        put(follows("bob"))?,
        put(follows("cy"))?,
        delete(follows("bob"))?,
        put(row("follower", &[("who", "dee"), ("whom", "ann")]))?,
    ])
}

fn person(clubs: &[&str]) -> Value {
    let mut person = row("person", &[("person", "ann"), ("name", "Ann")]);
    person["clubs"] = json!({ "SS": clubs });
    person
}

fn entries(stage: &Stage) -> Result<(), Hitch> {
    let ann = || row("person", &[("person", "ann")]);
    stage.all([
        put(row("club", &[("club", "chess")]))?,
        put(row("club", &[("club", "go")]))?,
        put(person(&["chess", "go"]))?,
        set(ann(), "clubs", json!({"SS": ["go"]}))?,
        set(ann(), "name", json!({"S": "Anne"}))?,
    ])
}

pub(super) fn order(number: usize, shop: &str) -> Value {
    let mut order = row("order", &[("order", &number.to_string()), ("shop", shop)]);
    order["price"] = json!({"N": (number % 5 + 1).to_string()});
    order
}

fn counters(stage: &Stage) -> Result<(), Hitch> {
    let first = || row("order", &[("order", "1")]);
    stage.all([
        put(order(1, "north"))?,
        put(row("shop", &[("shop", "north")]))?,
        put(row("shop", &[("shop", "south")]))?,
        put(order(2, "north"))?,
        set(first(), "shop", json!({"S": "south"}))?,
        set(first(), "price", json!({"N": "7"}))?,
        delete(row("order", &[("order", "2")]))?,
    ])
}

fn copies(stage: &Stage) -> Result<(), Hitch> {
    let seat = |seat: &str| row("seat", &[("seat", seat), ("person", "ann")]);
    stage.all([
        put(seat("1"))?,
        put(seat("2"))?,
        set(row("person", &[("person", "ann")]), "name", json!({"S": "Anna"}))?,
    ])
}

fn batches(stage: &Stage) -> Result<(), Hitch> {
    let puts: Vec<Value> = (100..110)
        .map(|number| json!({"PutRequest": {"Item": order(number, "north")}}))
        .collect();
    let batch = json!({"RequestItems": {TABLE: puts}});
    stage.both(0, request(OperationName::BatchWriteItem, &batch)?)
}

fn transactions(stage: &Stage) -> Result<(), Hitch> {
    stage.needs(stage.capabilities.transactions, "transactions")?;
    let put = |item: Value| json!({"Put": {"TableName": TABLE, "Item": item}});
    let both = json!({"TransactItems": [put(order(200, "south")), put(doc(9))]});
    let refused = json!({"TransactItems": [
        put(order(201, "south")),
        {"ConditionCheck": {"TableName": TABLE, "Key": row("shop", &[("shop", "north")]),
            "ConditionExpression": "attribute_not_exists(pk)"}},
    ]});
    for (at, body) in [both, refused].iter().enumerate() {
        stage.both(at, request(OperationName::TransactWriteItems, body)?)?;
    }
    Ok(())
}

fn statements(stage: &Stage) -> Result<(), Hitch> {
    let texts = [
        "INSERT INTO \"rows\" VALUE {'kind': 'order', 'order': '300', 'shop': 'north', 'price': 3}",
        "INSERT INTO \"rows\" VALUE {'kind': 'order', 'order': '300', 'shop': 'north', 'price': 3}",
        "UPDATE \"rows\" SET price = 5 WHERE kind = 'order' AND \"order\" = '300' RETURNING ALL NEW *",
        "UPDATE \"rows\" SET price = 5 WHERE kind = 'order' AND \"order\" = 'none'",
        "DELETE FROM \"rows\" WHERE kind = 'order' AND \"order\" = '300' RETURNING ALL OLD *",
    ];
    for (at, text) in texts.into_iter().enumerate() {
        let request = ExecuteStatement {
            statement: text.to_owned(),
            ..ExecuteStatement::default()
        };
        stage.both(at, request.into())?;
    }
    Ok(())
}

fn statements_as_one(stage: &Stage) -> Result<(), Hitch> {
    stage.needs(stage.capabilities.transactions, "transactions")?;
    let texts = [
        "INSERT INTO \"rows\" VALUE {'kind': 'order', 'order': '310', 'shop': 'north', 'price': 3}",
        "INSERT INTO \"rows\" VALUE {'kind': 'club', 'club': 'cards'}",
    ];
    let statements: Vec<Value> = texts.iter().map(|text| json!({ "Statement": text })).collect();
    for at in 0..2 {
        let body = json!({ "TransactStatements": statements });
        stage.both(at, request(OperationName::ExecuteTransaction, &body)?)?;
    }
    Ok(())
}

fn concurrent_writers(stage: &Stage) -> Result<(), Hitch> {
    let write = |gateway: &Gateway, writer: usize| -> Result<(), Hitch> {
        for at in 0..ROWS {
            let request = put(order(1000 + writer * ROWS + at, "north"))?;
            // A write that conflicts too often is tried again, as SDKs do.
            let mut tries = 0;
            while let Err(error) = gateway.execute(request.clone()).wait() {
                tries += 1;
                if tries == 10 || error.kind() != trestle_api::ErrorKind::TransactionConflict {
                    return Err(error.into());
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2 * WRITERS)
            .map(|writer| {
                let [first, second] = &stage.gateways;
                let gateway = if writer.is_multiple_of(2) { first } else { second };
                scope.spawn(move || write(gateway, writer))
            })
            .collect();
        for writer in writers {
            writer
                .join()
                .map_err(|_| Hitch::Failed("a writer failed".to_owned()))??;
        }
        Ok::<(), Hitch>(())
    })?;
    for number in 0..2 * WRITERS * ROWS {
        stage
            .embedded
            .execute(put(order(1000 + number, "north"))?)
            .wait()?;
    }
    Ok(())
}

/// Removes a row without a gateway, so that its inverse row remains.
fn remove_past(stage: &Stage) -> Result<(), Hitch> {
    let key = json!({"pk": {"S": "whom#cy"}, "sk": {"S": "who#ann"}});
    stage.scratch.execute(delete(key)?).wait()?;
    Ok(())
}

fn audit_and_repair(stage: &Stage) -> Result<(), Hitch> {
    if !stage.is_exact()? {
        return Err(Hitch::Failed("an audit finds faults".to_owned()));
    }
    remove_past(stage)?;
    if stage.is_exact()? {
        return Err(Hitch::Failed(
            "an audit does not find the row that was removed past the gateways".to_owned(),
        ));
    }
    let [_, second] = &stage.gateways;
    let report = second
        .models()
        .repair(&RepairOptions::default(), &mut Unwatched)?;
    match report.models.iter().all(|model| model.left_total == 0) && stage.is_exact()? {
        true => Ok(()),
        false => Err(Hitch::Failed(format!("a repair left faults: {report}"))),
    }
}

fn past_writes(stage: &Stage) -> Result<(), Hitch> {
    stage.needs(stage.capabilities.streams, "streams")?;
    let [first, _] = &stage.gateways;
    let options = PastWritesOptions {
        recount: Duration::ZERO,
        ..PastWritesOptions::default()
    };
    let watch = first.watch_past_writes(options)?;
    // Changes show that the stream is read.
    let mut number = 0;
    stage.wait_until(STREAM_MAX, "no change came through the stream", || {
        number += 1;
        let noted = json!({"S": number.to_string()});
        stage.both(0, set(row("shop", &[("shop", "north")]), "note", noted)?)?;
        Ok(watch.status().records > 0)
    })?;
    remove_past(stage)?;
    let not_found = "a row that was removed past the gateways was not found";
    stage.wait_until(STREAM_MAX, not_found, || Ok(watch.status().changed > 0))?;
    drop(watch);
    match stage.is_exact()? {
        true => Ok(()),
        false => Err(Hitch::Failed(
            "what follows from a row that was removed past the gateways is not in line".to_owned(),
        )),
    }
}
