//! Timestamps in keys sort by time: each has one precision.

use crate::database::{Database, item, line};
use crate::rows::model;
use trestle_hook::{RowQuery, Rows};
use trestle_model::{Bound, Precision, Severity, load};

const MODEL: &str = r##"
model = "log"
[table.log]
key = ["pk", "sk"]
[table.log.index.by_day]
key = ["day", "seen"]
[entity.entry]
table = "log"
key = { pk = "{source}", sk = "{at}#{id}" }
created = "written"
attributes = { source = "string", at = "timestamp", id = "string", day = { type = "string", optional = true }, seen = { type = "timestamp", precision = "s", optional = true }, written = "timestamp", read = { type = "timestamp", optional = true } }
[access.entries_since]
query = "log"
where = { source = "{source}", at = { ge = "{since}" } }
returns = "entry"
[access.seen_on]
query = "by_day"
where = { day = "{day}", seen = { lt = "{before}" } }
returns = "entry"
"##;

fn found(database: &Database, pattern: &str, parameters: &str) -> Result<Vec<String>, String> {
    let bound = database.model().access(pattern).unwrap().bind(&item(parameters));
    let Bound::Query {
        table_name,
        index,
        key_condition,
        filter,
        ..
    } = bound.map_err(|refusal| refusal.to_string())?
    else {
        panic!("{pattern} is a query")
    };
    let query = RowQuery {
        table: table_name,
        index,
        key_condition,
        filter,
        limit: None,
        is_guarded: false,
    };
    let rows = database.query(&query).map_err(|error| error.to_string())?;
    Ok(rows
        .iter()
        .map(|row| row.get("id").unwrap().as_s().unwrap().to_owned())
        .collect())
}

#[test]
fn a_range_finds_every_row_of_its_time() {
    let mut database = Database::new(MODEL);
    for (id, at) in [("a", "01.000"), ("b", "01.500"), ("c", "02.000")] {
        database
            .put("log", &format!("source=s at=2020-01-01T00:00:{at}Z id={id}"))
            .unwrap();
    }
    for (since, expected) in [
        ("01Z", vec!["a", "b", "c"]),
        ("01.4Z", vec!["b", "c"]),
        ("01.500Z", vec!["b", "c"]),
        ("02Z", vec!["c"]),
    ] {
        let parameters = format!("source=s since=2020-01-01T00:00:{since}");
        assert_eq!(
            found(&database, "entries_since", &parameters).unwrap(),
            expected,
            "{since}"
        );
    }
    let finer = found(
        &database,
        "entries_since",
        "source=s since=2020-01-01T00:00:01.5001Z",
    );
    assert_eq!(
        finer.unwrap_err(),
        "Access pattern entries_since: parameter since has the precision \"ms\", so that its texts sort by time, but is the \
         string \"2020-01-01T00:00:01.5001Z\"; write at most 3 digits, or declare the attribute with precision = \"us\""
    );
}

#[test]
fn a_value_of_another_precision_is_refused_with_what_to_write() {
    let mut database = Database::new(MODEL);
    let refused = database
        .put("log", "source=s at=2020-01-01T00:00:01Z id=a")
        .unwrap_err();
    assert_eq!(
        refused,
        "Entity entry: attribute at has the precision \"ms\", so that its texts sort by time, but is the string \
         \"2020-01-01T00:00:01Z\"; write \"2020-01-01T00:00:01.000Z\", or declare the attribute with precision = \"s\""
    );
    let entry = "source=s at=2020-01-01T00:00:01.000Z id=a day=d";
    let refused = database
        .put("log", &format!("{entry} seen=2020-01-01T00:00:01.000Z"))
        .unwrap_err();
    assert!(
        refused.contains("write at most 0 digits, or declare the attribute with precision = \"ms\""),
        "{refused}"
    );
    database
        .put(
            "log",
            &format!("{entry} seen=2020-01-01T00:00:01Z read=2020-01-01T00:00:01.12Z"),
        )
        .unwrap();
    let before = found(&database, "seen_on", "day=d before=2020-01-01T00:00:02Z");
    assert_eq!(before.unwrap(), ["a"]);
}

#[test]
fn the_database_writes_times_in_the_precision_of_their_attribute() {
    for (name, _) in Precision::ALL {
        let text = MODEL.replace(
            "written = \"timestamp\"",
            &format!("written = {{ type = \"timestamp\", precision = \"{name}\" }}"),
        );
        let mut database = Database::new(&text);
        database.now_ms += 7;
        database
            .put("log", "source=s at=2020-01-01T00:00:01.000Z id=a")
            .unwrap();
        let row = database.all("log").next().unwrap();
        let written = match name {
            "s" => "written=2019-12-30T19:32:14Z",
            "ms" => "written=2019-12-30T19:32:14.007Z",
            "us" => "written=2019-12-30T19:32:14.007000Z",
            _ => "written=2019-12-30T19:32:14.007000000Z",
        };
        assert_eq!(line(row, &["pk", "sk", "source", "id", "at"]), written);
    }
}

#[test]
fn the_model_says_where_a_precision_is_decided() {
    let model = model(MODEL);
    let entry = model.entity("entry").unwrap();
    let precision = |name: &str| entry.attribute(name).unwrap().precision;
    assert_eq!(precision("at"), Some(Precision::Millis));
    assert_eq!(precision("seen"), Some(Precision::Seconds));
    assert_eq!((precision("written"), precision("read")), (None, None));
}

#[test]
fn a_precision_that_means_nothing_is_refused() {
    for (right, wrong, message) in [
        (
            "day = { type = \"string\",",
            "day = { type = \"string\", precision = \"s\",",
            "is of type string",
        ),
        ("precision = \"s\"", "precision = \"min\"", "precision"),
        (
            "at = \"timestamp\"",
            "at = { type = \"timestamp\", default = \"2020-01-01T00:00:01Z\" }",
            "attribute `at` has the precision \"ms\"",
        ),
    ] {
        let loaded = load(&MODEL.replace(right, wrong));
        let errors = loaded
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let messages: Vec<&str> = errors.map(|problem| problem.message.as_str()).collect();
        assert!(
            messages.len() == 1 && messages[0].contains(message),
            "{messages:?}"
        );
    }
}
