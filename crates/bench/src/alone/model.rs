//! What a model costs: writes whose keys and companions the database derives, compared with writes that bring them
//! along, in the same process and on disk with fsync; and loading a large model.

use super::Run;
use crate::error::{BenchError, Doing};
use crate::report::AloneFigure;
use crate::{Progress, thousands};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trestle_api::{Operation, Put, PutItem, Request, TransactWriteItem, TransactWriteItems, UpdateItem};
use trestle_binding::{ApplyOptions, Binding, Nobody};
use trestle_engine::{Engine, Options, StoreSettings};
use trestle_env::SystemClock;
use trestle_item::{AttributeValue, Item};

const MANHUNT: &str = include_str!("../../../../models/manhunt.toml");
const KLAYERS: &str = include_str!("../../../../models/klayers.toml");

/// Threads that write at the same time, so that commits are groups.
const WRITERS: u64 = 16;
/// Rows of each writer.
const ROWS: u64 = 64;
/// Turns that each side gets; the better one counts, for both alike.
const TURNS: u32 = 3;
/// Models that are loaded for one figure.
const LOADS: usize = 21;

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let mut figures = Vec::new();
    for duel in [&UPDATE, &HEAD] {
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
    /// The rows to begin with.
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
    model: KLAYERS,
    before: |_| None,
    with_model: |row, turn| {
        let put = PutItem {
            table_name: "kl.db-ver2".to_owned(),
            item: layer(row, turn),
            ..PutItem::default()
        };
        put.into_request()
    },
    without: version_and_head,
};

impl Duel {
    /// Writes per second with the model, of those without.
    fn fight(&self, run: &Run<'_>, progress: &mut dyn Progress) -> Result<f64, BenchError> {
        progress.doing(self.claim);
        let derived = self.open(&run.directory.join("derived"), true)?;
        let given = self.open(&run.directory.join("given"), false)?;
        let mut best = (0.0_f64, 0.0_f64);
        for turn in 0..u64::from(TURNS) {
            // Versions go on where the turn before cannot have come to.
            let first = 1 + turn * 10_000_000;
            best.0 = best
                .0
                .max(writes(&derived, self.with_model, first, run.settings.measured)?);
            best.1 = best
                .1
                .max(writes(&given, self.without, first, run.settings.measured)?);
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
    fn open(&self, data: &Path, enforced: bool) -> Result<Engine, BenchError> {
        let engine = Engine::open(data, StoreSettings::default(), Options::default());
        let engine = engine.doing("cannot open a database")?;
        let binding =
            Binding::open(engine.clone(), Arc::new(SystemClock::new())).doing("cannot bind a model")?;
        let report = binding
            .apply(self.model, ApplyOptions::default(), &mut Nobody)
            .doing("cannot apply a model")?;
        for row in (0..WRITERS * ROWS).filter_map(self.before) {
            engine.start(row).wait().doing("cannot load rows")?;
        }
        if !enforced {
            binding.remove(&report.model).doing("cannot let go of a model")?;
        }
        Ok(engine)
    }
}

/// Writes per second of all writers together.
fn writes(
    engine: &Engine,
    request: fn(u64, u64) -> Request,
    first: u64,
    measured: Duration,
) -> Result<f64, BenchError> {
    let over = AtomicBool::new(false);
    let write = |writer: u64| -> Result<u64, trestle_api::Error> {
        let mut done = 0;
        while !over.load(Ordering::Relaxed) {
            let row = writer * ROWS + done % ROWS;
            engine.start(request(row, first + done / ROWS)).wait()?;
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
    Ok(done as f64 / began.elapsed().as_secs_f64())
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

const STATUSES: [&str; 2] = ["active", "failed"];
const STARTED: &str = "2026-11-15T12:00:00Z";

fn search(row: u64) -> Request {
    let put = PutItem {
        table_name: "manhunt".to_owned(),
        item: Item::from([
            ("entityType", text("search")),
            ("searchId", text(format!("{row:08x}"))),
            ("contactId", text("c0")),
            ("domainId", text("d0")),
            ("startedDatetime", text(STARTED)),
            ("note", text("x".repeat(800))),
        ]),
        ..PutItem::default()
    };
    put.into_request()
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
    update.into_request()
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

/// What a client writes that keeps the newest row by itself: the version and the head, with all their keys.
fn version_and_head(row: u64, version: u64) -> Request {
    let keyed = |sk: String| {
        let mut item = layer(row, version);
        let package = format!("package{row:05}");
        item.insert("pk", text(format!("lyr#eu-north-1:{package}:p3.12")));
        item.insert("sk", text(sk));
        item.insert("rgn#PyVrsn", text("eu-north-1:p3.12"));
        item.insert("pckg#PyVrsn", text(format!("{package}:p3.12")));
        item
    };
    let put = |item: Item| TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: "kl.db-ver2".to_owned(),
            item,
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    };
    let mut newest = keyed(format!("lyrVrsn#v{version}"));
    newest.insert("dplySts", text("latest"));
    let transaction = TransactWriteItems {
        transact_items: vec![put(newest), put(keyed("lyrVrsn0#".to_owned()))],
        ..TransactWriteItems::default()
    };
    transaction.into_request()
}

/// Milliseconds, the median of some.
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
