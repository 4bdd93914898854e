//! The cost of a model: writes whose keys and companions the database derives, compared with writes that
//! contain them, in the same process and on disk with fsync; and loading a large model.

use super::Run;
use crate::error::{BenchError, Doing};
use crate::report::AloneFigure;
use crate::{Progress, thousands};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trestle_api::{Put, PutItem, Request, TransactWriteItem, TransactWriteItems, Update, UpdateItem};
use trestle_embedded::{ApplyOptions, Unwatched};
use trestle_embedded::{Embedded, Options};
use trestle_item::{AttributeValue, Item};

const MANHUNT: &str = include_str!("manhunt.toml");
const KLAYERS: &str = include_str!("klayers.toml");

/// Versions of documents, in a table without an index.
const DOCUMENTS: &str = r#"
model = "documents"

[table.documents]
key = ["pk", "sk"]
ttl = "expires"
stream = "new-and-old-images"

[entity.document]
table = "documents"
key = { pk = "doc#{doc}", sk = "v#{version:010}" }

[entity.document.attributes]
doc = "string"
version = "integer"
state = { type = "string", one_of = ["latest", "old"], optional = true }
expires = { type = "epoch-seconds", optional = true }

[entity.document.head]
key.sk = "head"
newest_by = "version"
omit = ["state", "expires"]
promote = { set = { state = "latest" } }
demote = { set = { state = "old" }, expire_after = "365d" }
"#;
const LAYERS: &str = "kl.db-ver2";

/// Concurrent writer threads, so that commits are groups.
const WRITERS: u64 = 16;
/// Rows of each writer.
const ROWS: u64 = 64;
/// Turns of each side; the better one counts, for both.
const TURNS: u32 = 3;
/// Models that are loaded for one figure.
const LOADS: usize = 21;

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let mut figures = Vec::new();
    for duel in [&UPDATE, &HEAD, &HEAD_AMONG_INDEXES, &HEAD_BY_HAND] {
        let ratio = duel.fight(run, progress)?;
        figures.push(AloneFigure::new(duel.claim, ratio * 100.0, "%"));
    }
    let millis = load_large()?;
    progress.done(&format!("a model of 100 entities loads in {millis:.1} ms"));
    figures.push(AloneFigure::new("loading a model of 100 entities", millis, "ms"));
    Ok(figures)
}

/// The same rows, written with a model and without one.
struct Duel {
    claim: &'static str,
    model: &'static str,
    /// The rows before the measurement.
    before: fn(u64) -> Option<Request>,
    with_model: fn(u64, u64) -> Request,
    without: fn(u64, u64) -> Request,
}

static UPDATE: Duel = Duel {
    claim: "UpdateItem with derived index keys, of the same with given keys",
    model: MANHUNT,
    before: |row| Some(search(row)),
    with_model: |row, turn| search_update(row, turn, false),
    without: |row, turn| search_update(row, turn, true),
};

static HEAD: Duel = Duel {
    claim: "put of a version with head and demotion, of a transaction of two puts",
    model: DOCUMENTS,
    before: |_| None,
    with_model: |row, turn| Request::from(put("documents", document(row, turn))),
    without: |row, turn| {
        let keyed = |sk: String| with(document(row, turn), [("pk", format!("doc#{row:08}")), ("sk", sk)]);
        let newest = with(keyed(format!("v#{turn:010}")), [("state", "latest".to_owned())]);
        transaction(vec![
            written("documents", newest),
            written("documents", keyed("head".to_owned())),
        ])
    },
};

static HEAD_AMONG_INDEXES: Duel = Duel {
    claim: "the same in a table with five indexes, four of which the demotion changes",
    model: KLAYERS,
    before: |_| None,
    with_model: |row, turn| Request::from(put(LAYERS, layer(row, turn))),
    without: |row, turn| transaction(version_and_head(row, turn)),
};

static HEAD_BY_HAND: Duel = Duel {
    claim: "the same there, of a transaction that also demotes the version before",
    model: KLAYERS,
    before: |_| None,
    with_model: HEAD_AMONG_INDEXES.with_model,
    without: |row, turn| {
        let mut writes = version_and_head(row, turn);
        writes.push(demoted(row, turn - 1));
        transaction(writes)
    },
};

impl Duel {
    /// The ratio of writes per second with the model to those without.
    fn fight(&self, run: &Run<'_>, progress: &mut dyn Progress) -> Result<f64, BenchError> {
        progress.doing(self.claim);
        let directory = tempfile::tempdir_in(run.directory).doing("cannot make a directory")?;
        let derived = self.open(&directory.path().join("derived"), true)?;
        let given = self.open(&directory.path().join("given"), false)?;
        let mut best = (0.0_f64, 0.0_f64);
        for turn in 0..u64::from(TURNS) {
            // Versions continue where the previous turn cannot have come to.
            let first = 1 + turn * 10_000_000;
            best.0 = best
                .0
                .max(writes(&derived, self.with_model, first, run.settings.measured)?.1);
            best.1 = best
                .1
                .max(writes(&given, self.without, first, run.settings.measured)?.1);
        }
        let ratio = best.0 / best.1.max(1e-9);
        progress.done(&format!(
            "{}: {} of {} per second, {:.0} %",
            self.claim,
            thousands(best.0),
            thousands(best.1),
            ratio * 100.0
        ));
        Ok(ratio)
    }

    /// A database with the model's tables, and with or without the model itself.
    fn open(&self, data: &Path, enforced: bool) -> Result<Embedded, BenchError> {
        let db = Embedded::open(data, Options::default()).doing("cannot open a database")?;
        let report = db
            .models()
            .apply(self.model, ApplyOptions::default(), &mut Unwatched)
            .doing("cannot apply a model")?;
        for row in (0..WRITERS * ROWS).filter_map(self.before) {
            db.start(row).wait().doing("cannot load rows")?;
        }
        if !enforced {
            db.models().remove(&report.model).doing("cannot remove a model")?;
        }
        Ok(db)
    }
}

/// Runs all writers: returns the number of writes, and writes per second. Rows are distinguished by number,
/// and each is written with the next version.
pub(super) fn writes(
    db: &Embedded,
    request: fn(u64, u64) -> Request,
    first: u64,
    measured: Duration,
) -> Result<(u64, f64), BenchError> {
    let over = AtomicBool::new(false);
    let write = |writer: u64| -> Result<u64, trestle_api::Error> {
        let mut done = 0;
        while !over.load(Ordering::Relaxed) {
            let row = writer * ROWS + done % ROWS;
            db.start(request(row, first + done / ROWS)).wait()?;
            done += 1;
        }
        Ok(done)
    };
    let began = Instant::now();
    let done = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(writer)))
            .collect();
        std::thread::sleep(measured);
        over.store(true, Ordering::Relaxed);
        let counts = writers.into_iter().map(|writer| match writer.join() {
            Ok(count) => count.doing("a write failed"),
            Err(_) => Err(BenchError::new("a writer panicked")),
        });
        counts.sum::<Result<u64, BenchError>>()
    })?;
    Ok((done, done as f64 / began.elapsed().as_secs_f64()))
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

const STATUSES: [&str; 2] = ["active", "failed"];
const STARTED: &str = "2026-11-15T12:00:00Z";

fn search(row: u64) -> Request {
    let search = Item::from([
        ("entityType", text("search")),
        ("searchId", text(format!("{row:08x}"))),
        ("contactId", text("c0")),
        ("domainId", text("d0")),
        ("startedDatetime", text(STARTED)),
        ("note", text("x".repeat(800))),
    ]);
    Request::from(put("manhunt", search))
}

fn search_update(row: u64, turn: u64, given: bool) -> Request {
    let status = if turn.is_multiple_of(2) {
        STATUSES[0]
    } else {
        STATUSES[1]
    };
    let mut values = Item::from([(":s", text(status))]);
    if given {
        values.insert(":k", text(format!("{status}#c0")));
    }
    let update = UpdateItem {
        table_name: "manhunt".to_owned(),
        key: Item::from([("PK", text(format!("{row:08x}"))), ("SK", text("search"))]),
        update_expression: Some(
            if given {
                "SET #s = :s, GSI2PK = :k"
            } else {
                "SET #s = :s"
            }
            .to_owned(),
        ),
        expression_attribute_names: Some([("#s".to_owned(), "status".to_owned())].into()),
        expression_attribute_values: Some(values),
        ..UpdateItem::default()
    };
    Request::from(update)
}

/// A version of a layer, without keys.
fn layer(row: u64, version: u64) -> Item {
    Item::from([
        ("rgn", text("eu-north-1")),
        ("pckg", text(format!("package{row:05}"))),
        ("pyVrsn", text("p3.12")),
        ("lyrVrsn", AttributeValue::from(version as i64)),
        (
            "arn",
            text(format!(
                "arn:aws:lambda:eu-north-1:layer:package{row:05}:{version}"
            )),
        ),
        ("pckgVrsn", text("1.0.0")),
        ("rqrmntsTxt", text("x".repeat(800))),
        ("rqrmntsHsh", text(format!("{row:064x}"))),
    ])
}

/// The writes of a client that maintains the newest row itself: the version and the head, with all their
/// keys.
fn version_and_head(row: u64, version: u64) -> Vec<TransactWriteItem> {
    let keyed = |sk: String| {
        let package = format!("package{row:05}");
        let keys = [
            ("pk", format!("lyr#eu-north-1:{package}:p3.12")),
            ("sk", sk),
            ("rgn#PyVrsn", "eu-north-1:p3.12".to_owned()),
            ("pckg#PyVrsn", format!("{package}:p3.12")),
        ];
        with(layer(row, version), keys)
    };
    let newest = keyed(format!("lyrVrsn#v{version}"));
    let newest = with(newest, [("dplySts", "latest".to_owned())]);
    vec![
        written(LAYERS, newest),
        written(LAYERS, keyed("lyrVrsn0#".to_owned())),
    ]
}

/// And the previous version, which is no longer the latest.
fn demoted(row: u64, version: u64) -> TransactWriteItem {
    let key = [
        ("pk", format!("lyr#eu-north-1:package{row:05}:p3.12")),
        ("sk", format!("lyrVrsn#v{version}")),
    ];
    TransactWriteItem {
        update: Some(Box::new(Update {
            table_name: LAYERS.to_owned(),
            key: with(Item::new(), key),
            update_expression: "SET dplySts = :d, exDt = :e".to_owned(),
            expression_attribute_values: Some(Item::from([
                (":d", text("deprecated")),
                (":e", AttributeValue::from(2_000_000_000_i64)),
            ])),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    }
}

/// A version of a document, without keys.
fn document(row: u64, version: u64) -> Item {
    Item::from([
        ("doc", text(format!("{row:08}"))),
        ("version", AttributeValue::from(version as i64)),
        ("body", text("x".repeat(900))),
    ])
}

fn with<const N: usize>(mut item: Item, texts: [(&str, String); N]) -> Item {
    for (name, value) in texts {
        item.insert(name, text(value));
    }
    item
}

fn put(table: &str, item: Item) -> PutItem {
    PutItem {
        table_name: table.to_owned(),
        item,
        ..PutItem::default()
    }
}

fn written(table: &str, item: Item) -> TransactWriteItem {
    TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: table.to_owned(),
            item,
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    }
}

fn transaction(transact_items: Vec<TransactWriteItem>) -> Request {
    Request::from(TransactWriteItems {
        transact_items,
        ..TransactWriteItems::default()
    })
}

/// The median of some load times, in milliseconds.
fn load_large() -> Result<f64, BenchError> {
    let model = large();
    let mut took = Vec::new();
    for _ in 0..LOADS {
        let began = Instant::now();
        if trestle_model::load(&model).model.is_none() {
            return Err(BenchError::new("the large model does not load"));
        }
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took.get(LOADS / 2).map_or(0.0, Duration::as_secs_f64) * 1_000.0)
}

/// A hundred entities with heads, two access patterns each, in one table.
fn large() -> String {
    let mut text = "model = \"large\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\nentity_attribute = \"kind\"\n\
         [table.rows.index.by_status]\nkey = [\"by_pk\", \"by_sk\"]\n"
        .to_owned();
    for at in 0..100 {
        // Writing to text cannot fail.
        let _ = write!(
            text,
            "[entity.e{at}]\ntable = \"rows\"\n\
             key = {{ pk = \"t#{{tenant}}#g{group:02}#{{parent}}\", sk = \"kind{at:03}#{{id}}#v{{version:08}}\", \
             by_pk = \"{{status}}#{{tenant}}\", by_sk = \"{{at}}\" }}\n\
             attributes = {{ tenant = \"string\", parent = \"string\", id = \"string\", version = \"integer\", \
             status = {{ type = \"string\", one_of = [\"open\", \"done\"] }}, at = \"timestamp\" }}\n\
             [entity.e{at}.head]\nkey.sk = \"head{at:03}#{{id}}\"\nnewest_by = \"version\"\n\
             [access.get{at}]\nget = \"e{at}\"\n\
             where = {{ tenant = \"{{t}}\", parent = \"{{p}}\", id = \"{{i}}\", version = \"{{v}}\" }}\n\
             [access.of{at}]\nquery = \"rows\"\nwhere = {{ tenant = \"{{t}}\", parent = \"{{p}}\" }}\n\
             returns = [\"e{at}\"]\n",
            group = at / 10,
        );
    }
    text
}
