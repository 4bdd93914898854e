//! Collections given by an access pattern of a model.

use trestle_collection::{CollectionRows, parameters};
use trestle_item::{AttributeValue, Item, Number};
use trestle_model::Model;

use crate::support::{RUNS, assert_sound, deleted, deleted_by, keys, put, total, with_model};

fn model(text: &str) -> Model {
    trestle_model::load(text).model.unwrap()
}

fn of_run(run: &str) -> Item {
    Item::from([("run", run)])
}

#[test]
fn a_pattern_deletes_what_it_returns_and_leaves_other_entities() {
    let db = with_model(RUNS);
    put(&db, "runs", Item::from([("kind", "workflow"), ("workflow", "w")]));
    for run in ["wf", "wf-2"] {
        put(&db, "runs", Item::from([("kind", "run"), ("run", run)]));
        for number in 1..=5_i64 {
            let mut step = Item::from([("kind", "step"), ("run", run), ("workflow", "w")]);
            step.insert("number", AttributeValue::N(Number::from(number)));
            put(&db, "runs", step);
        }
    }
    let model = model(RUNS);
    let steps = CollectionRows::of_access(&model, "steps_of_run", &of_run("wf")).unwrap();
    assert_eq!(total(&deleted_by(&db, &steps, 2)), 5);
    let of_wf = |key: &String| key.starts_with("run#wf/");
    let left: Vec<String> = keys(&db, "runs").into_iter().filter(of_wf).collect();
    assert_eq!(left, ["run#wf/run"], "the head has gone with its rows");
    let all = CollectionRows::of_access(&model, "rows_of_run", &of_run("wf")).unwrap();
    assert_eq!(total(&deleted(&db, &all)), 1);
    let of_second = |key: &&String| key.starts_with("run#wf-2/");
    assert_eq!(keys(&db, "runs").iter().filter(of_second).count(), 7);
    assert_sound(&db);
}

const TASKS: &str = r#"
model = "tasks"

[table.tasks]
key = ["pk", "sk"]

[table.tasks.index.by_owner]
key = ["owner_key", "sk"]

[entity.task]
table = "tasks"
key = { pk = "task#{id}", sk = "task", owner_key = "owner#{owner}#{priority:03}" }
attributes = { id = "integer", owner = "string", priority = "integer", done = { type = "boolean", default = false } }

[access.tasks_of_owner]
query = "by_owner"
where = { owner = "{owner}", priority = "{priority}" }
returns = "task"
"#;

#[test]
fn rows_that_an_index_finds_are_deleted_in_the_table() {
    let db = with_model(TASKS);
    for id in 0..30_i64 {
        let mut task = Item::from([("owner", if id % 2 == 0 { "ann" } else { "ben" })]);
        task.insert("id", AttributeValue::N(Number::from(id)));
        task.insert("priority", AttributeValue::N(Number::from(id % 3)));
        put(&db, "tasks", task);
    }
    let model = model(TASKS);
    let texts = [("owner", "ann"), ("priority", "2")].map(|(name, text)| (name.to_owned(), text.to_owned()));
    let given = parameters(&model, "tasks_of_owner", texts).unwrap();
    let tasks = CollectionRows::of_access(&model, "tasks_of_owner", &given).unwrap();
    assert_eq!(total(&deleted_by(&db, &tasks, 2)), 5);
    assert_eq!(keys(&db, "tasks").len(), 25);
    assert_eq!(total(&deleted(&db, &tasks)), 0);
}

#[test]
fn texts_become_values_of_the_types_that_parameters_have() {
    let model = model(TASKS);
    let texts = |priority: &str| {
        [("owner", "7"), ("priority", priority)].map(|(name, text)| (name.to_owned(), text.to_owned()))
    };
    let given = parameters(&model, "tasks_of_owner", texts("2")).unwrap();
    assert_eq!(given.get("owner"), Some(&AttributeValue::S("7".to_owned())));
    assert_eq!(
        given.get("priority"),
        Some(&AttributeValue::N(Number::from(2_i64)))
    );
    let refused = parameters(&model, "tasks_of_owner", texts("high")).unwrap_err();
    assert_eq!(
        refused.message(),
        "The value \"high\" for priority is not a number"
    );
}
