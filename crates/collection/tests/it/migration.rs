//! A collection whose rows are in former and own places.

use trestle_api::{OperationName, Wait};
use trestle_collection::{CollectionRows, StepBounds};
use trestle_embedded::{Embedded, StartOptions, Unwatched};
use trestle_item::{AttributeValue, Item, Number};

use crate::support::{assert_sound, deleted_by, keys, partition, put, total, with_model};

const BEFORE: &str = r#"
model = "runs"

[table.runs]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.run]
table = "runs"
key = { pk = "run#{run}", sk = "run" }
attributes = { run = "string" }

[entity.step]
table = "runs"
key = { pk = "step#{run}", sk = "{number:04}" }
attributes = { run = "string", number = "integer" }

[access.rows_of_run]
query = "runs"
where = { run = "{run}" }
returns = "run"
"#;

/// A run and its steps in one partition.
fn after() -> String {
    BEFORE
        .replace("step#{run}", "run#{run}")
        .replace("\"{number:04}\"", "\"step#{number:04}\"")
        .replace("returns = \"run\"", "returns = [\"run\", \"step\"]")
}

fn step(db: &Embedded, run: &str, number: i64) {
    let mut step = Item::from([("kind", "step"), ("run", run)]);
    step.insert("number", AttributeValue::N(Number::from(number)));
    put(db, "runs", step);
}

/// Half of the rows have moved.
fn halfway() -> Embedded {
    let db = with_model(BEFORE);
    for run in ["wf", "wf-2"] {
        put(&db, "runs", Item::from([("kind", "run"), ("run", run)]));
        (0..40).for_each(|number| step(&db, run, number));
    }
    let options = StartOptions {
        paused: true,
        ..StartOptions::default()
    };
    db.models()
        .start_migration(&after(), options, &mut Unwatched)
        .unwrap();
    (0..40).step_by(2).for_each(|number| step(&db, "wf", number));
    db
}

#[test]
fn each_row_goes_once_from_both_places() {
    for rows_per_step in [1_000, 7] {
        let db = halfway();
        let steps = deleted_by(&db, &partition(&db, "runs", "run#wf"), rows_per_step);
        assert_eq!(total(&steps), 41);
        let left = keys(&db, "runs");
        assert_eq!(left.len(), 41, "{left:?}");
        assert!(left.iter().all(|key| key.starts_with("run#wf-2/")), "{left:?}");
        assert_sound(&db);
        let looks = db.storage_reads();
        assert!(looks.of(OperationName::Query).double_reads > 0);
    }
}

#[test]
fn a_bookmark_from_before_the_move_goes_on_after_it() {
    let db = halfway();
    let model = trestle_model::load(&after()).model.unwrap();
    let rows = CollectionRows::of_access(&model, "rows_of_run", &Item::from([("run", "wf")])).unwrap();
    let bounds = StepBounds {
        rows: 10,
        ..StepBounds::default()
    };
    let first = rows.delete(&db, None, bounds).wait().unwrap();
    let mut after = first.next;
    // The other half moves meanwhile.
    (21..40).step_by(2).for_each(|number| step(&db, "wf", number));
    let mut gone = first.rows;
    while let Some(bookmark) = after {
        let next = rows.delete(&db, Some(&bookmark), bounds).wait().unwrap();
        gone += next.rows;
        after = next.next;
    }
    assert_eq!(gone, 41);
    assert!(keys(&db, "runs").iter().all(|key| key.starts_with("run#wf-2/")));
}
