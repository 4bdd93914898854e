//! A database, and short forms for its content.

use std::sync::Arc;

use trestle_api::Wait;
use trestle_api::{AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, Scan};
use trestle_collection::{CollectionRows, CollectionStep, StepBounds};
use trestle_embedded::{ApplyOptions, Background, Embedded, Options, RepairOptions, Unwatched};
use trestle_env::SystemClock;
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_store::{MemoryStore, Store};

/// Runs, their steps and derived rows.
pub(crate) const RUNS: &str = r#"
model = "runs"

[table.runs]
key = ["pk", "sk"]
entity_attribute = "kind"
stream = "new-and-old-images"

[entity.workflow]
table = "runs"
key = { pk = "workflow#{workflow}", sk = "workflow" }
attributes = { workflow = "string", steps = { type = "integer", default = 0 } }

[entity.run]
table = "runs"
key = { pk = "run#{run}", sk = "run" }
attributes = { run = "string", name = { type = "string", optional = true } }

[entity.run.unique.name]
key = { pk = "names", sk = "{name}" }

[entity.step]
table = "runs"
key = { pk = "run#{run}", sk = "step#{number:04}" }
attributes = { run = "string", number = "integer", workflow = "string" }

[entity.step.head]
key.sk = "head"
newest_by = "number"

[entity.step.counter.steps]
entity = "workflow"
attribute = "steps"

[entity.step.inverse.used]
entity = "used"
with = { workflow = "workflow", run = "run", number = "number" }

[entity.used]
table = "runs"
key = { pk = "workflow#{workflow}", sk = "used#{run}#{number:04}" }
attributes = { workflow = "string", run = "string", number = "integer" }

[access.rows_of_run]
query = "runs"
where = { run = "{run}" }
returns = ["run", "step", "step.head"]

[access.steps_of_run]
query = "runs"
where = { run = "{run}" }
returns = "step"
"#;

pub(crate) fn quiet() -> Options {
    Options {
        background: Background::Tables,
        ..Options::default()
    }
}

pub(crate) fn on(store: &Arc<MemoryStore>) -> Embedded {
    let store = Arc::clone(store) as Arc<dyn Store>;
    Embedded::on(store, Arc::new(SystemClock::new()), quiet()).unwrap()
}

pub(crate) fn empty() -> Embedded {
    on(&Arc::new(MemoryStore::new()))
}

pub(crate) fn with_model(text: &str) -> Embedded {
    let db = empty();
    db.models()
        .apply(text, ApplyOptions::default(), &mut Unwatched)
        .unwrap();
    db
}

pub(crate) fn create(db: &Embedded, table: &str, keys: &[(&str, ScalarType)]) {
    let roles = [KeyType::Hash, KeyType::Range];
    let schema = keys.iter().zip(roles);
    db.run(CreateTable {
        table_name: table.to_owned(),
        attribute_definitions: keys
            .iter()
            .map(|(name, attribute_type)| AttributeDefinition {
                attribute_name: (*name).to_owned(),
                attribute_type: *attribute_type,
            })
            .collect(),
        key_schema: schema
            .map(|((name, _), key_type)| KeySchemaElement {
                attribute_name: (*name).to_owned(),
                key_type,
            })
            .collect(),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    })
    .unwrap();
}

/// A table of texts with rows `partition/sort`.
pub(crate) fn with_rows(rows: impl IntoIterator<Item = String>) -> Embedded {
    let db = empty();
    create(&db, "T", &[("pk", ScalarType::S), ("sk", ScalarType::S)]);
    for row in rows {
        put_row(&db, &row);
    }
    db
}

pub(crate) fn put_row(db: &Embedded, row: &str) {
    let (pk, sk) = row.split_once('/').unwrap();
    put(db, "T", Item::from([("pk", pk), ("sk", sk)]));
}

pub(crate) fn put(db: &Embedded, table: &str, item: Item) {
    db.run(PutItem {
        table_name: table.to_owned(),
        item,
        ..PutItem::default()
    })
    .unwrap();
}

/// The keys of a table, `partition/sort`, sorted.
pub(crate) fn keys(db: &Embedded, table: &str) -> Vec<String> {
    let mut scan = Scan {
        table_name: table.to_owned(),
        ..Scan::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = db.run(scan.clone()).unwrap();
        rows.extend(page.items.unwrap());
        scan.exclusive_start_key = page.last_evaluated_key;
        if scan.exclusive_start_key.is_none() {
            break;
        }
    }
    let text = |row: &Item, name| row.get(name).and_then(AttributeValue::as_s).unwrap().to_owned();
    let rows = rows.into_iter();
    let mut keys: Vec<String> = rows
        .map(|row| format!("{}/{}", text(&row, "pk"), text(&row, "sk")))
        .collect();
    keys.sort();
    keys
}

pub(crate) fn partition(db: &Embedded, table: &str, pk: &str) -> CollectionRows<'static> {
    CollectionRows::of_partition(db, table, pk.into()).wait().unwrap()
}

/// Deletes in steps of this many rows, and returns each.
pub(crate) fn deleted_by(db: &Embedded, rows: &CollectionRows<'_>, at_most: u32) -> Vec<CollectionStep> {
    let bounds = StepBounds {
        rows: at_most,
        ..StepBounds::default()
    };
    deleted_in(db, rows, bounds)
}

/// Deletes in steps of these bounds, and returns each.
pub(crate) fn deleted_in(
    db: &Embedded,
    rows: &CollectionRows<'_>,
    bounds: StepBounds,
) -> Vec<CollectionStep> {
    let mut steps: Vec<CollectionStep> = Vec::new();
    loop {
        let after = steps.last().and_then(|step| step.next.clone());
        steps.push(rows.delete(db, after.as_ref(), bounds).wait().unwrap());
        assert!(steps.len() < 1000, "it does not end: {steps:?}");
        if steps.last().is_some_and(|step| step.next.is_none()) {
            return steps;
        }
    }
}

/// Deletes everything with the usual bounds.
pub(crate) fn deleted(db: &Embedded, rows: &CollectionRows<'_>) -> Vec<CollectionStep> {
    deleted_by(db, rows, StepBounds::default().rows)
}

pub(crate) fn total(steps: &[CollectionStep]) -> u64 {
    steps.iter().map(|step| step.rows).sum()
}

/// Fails unless all derived facts agree with their rows.
pub(crate) fn assert_sound(db: &Embedded) {
    let options = RepairOptions {
        dry_run: true,
        ..RepairOptions::default()
    };
    let report = db.models().repair(&options, &mut Unwatched).unwrap();
    for model in report.models {
        assert_eq!(model.facts.disagreements(), 0, "{model:#?}");
        assert!(
            model.facts.rows > 0 || model.facts.not_audited.is_none(),
            "{model:#?}"
        );
    }
}
