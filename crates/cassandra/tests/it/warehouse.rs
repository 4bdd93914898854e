//! The example in `tests/data/warehouse`: a whole keyspace, imported and read through access patterns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fixture::Heard;
use trestle_api::{Response, Wait};
use trestle_cassandra::{Import, ImportSettings, ImportState, Mapping, Plan, Schema, Verified};
use trestle_embedded::{ApplyOptions, Embedded, Options, Unwatched};
use trestle_item::{AttributeValue, Item, Number};
use trestle_model::Model;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

struct Imported {
    db: Embedded,
    model: Arc<Model>,
}

fn imported() -> Imported {
    let model = Arc::new(trestle_model::load_new(&text("model.toml")).model.unwrap());
    let db = Embedded::in_memory(Options::default()).unwrap();
    db.models()
        .apply(&text("model.toml"), ApplyOptions::default(), &mut Unwatched)
        .unwrap();
    let (mapping, schema) = (text("mapping.toml"), text("schema.cql"));
    let read = Schema::read(&schema).unwrap();
    let plan = Plan::bind(
        &Mapping::read(&mapping).unwrap(),
        &read,
        Arc::clone(&model),
        &folder(),
    )
    .unwrap();
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    let import = Import {
        plan: Arc::new(plan),
        settings: ImportSettings::default(),
        state: ImportState::of(&mapping, &schema),
    };
    let mut heard = Heard::default();
    let totals = import.run(&db, &mut heard).wait();
    let totals = totals.unwrap_or_else(|error| panic!("{error}: {:#?}", heard.misfits));
    assert_eq!(
        totals.sum(|counts| counts.inserted),
        totals.sum(|counts| counts.rows)
    );
    assert_eq!(totals.imports.len(), 14);
    let verified = import.plan.verify(&db, 0, &mut heard).wait().unwrap();
    assert!(verified.iter().all(Verified::holds), "{verified:#?}");
    let again = import.run(&db, &mut heard).wait().unwrap();
    assert_eq!(
        again.sum(|counts| counts.unchanged),
        again.sum(|counts| counts.rows)
    );
    Imported { db, model }
}

impl Imported {
    /// The rows that an access pattern finds.
    fn rows(&self, access: &str, parameters: &[(&str, &str)]) -> Vec<Item> {
        let parameters: Item = parameters.iter().copied().collect();
        let bound = self.model.access(access).unwrap().bind(&parameters).unwrap();
        match self.db.start(bound.into_request()).wait().unwrap() {
            Response::Query(found) => found.items.unwrap().to_vec(),
            Response::GetItem(found) => found.item.into_iter().collect(),
            other => panic!("{other:?}"),
        }
    }

    fn row(&self, access: &str, parameters: &[(&str, &str)]) -> Item {
        let rows = self.rows(access, parameters);
        assert_eq!(rows.len(), 1, "{access}");
        rows.into_iter().next().unwrap()
    }
}

fn said(row: &Item, name: &str) -> String {
    row.get(name)
        .and_then(AttributeValue::as_s)
        .unwrap_or_default()
        .to_owned()
}

fn all(rows: &[Item], name: &str) -> Vec<String> {
    rows.iter().map(|row| said(row, name)).collect()
}

#[test]
fn the_application_finds_every_row_by_its_access_patterns() {
    let warehouse = imported();
    let version = [("name", "@good/work"), ("env", "test"), ("version", "1.0.0")];
    let builds = warehouse.rows("builds_of_version", &version);
    assert_eq!(all(&builds, "locale"), ["de-DE", "en-US", "zh-Hant-TW"]);
    assert_eq!(said(&builds[0], "createdAt"), "2017-03-01T12:30:00.123Z");
    let artifacts = vec!["a1/it's, \"odd\".js".to_owned(), "a1/main.js".to_owned()];
    assert_eq!(builds[0].get("artifacts"), Some(&AttributeValue::Ss(artifacts)));
    assert_eq!(builds[0].get("previousBuildId"), None);
    let heads = warehouse.rows("build_heads", &version[..2]);
    assert_eq!(all(&heads, "version"), ["1.0.0", "1.0.0", "1.0.0"]);
    let file = warehouse.row("build_file", &[("fingerprint", "a1.gz")]);
    assert_eq!(said(&file, "filename"), "grün \"7\".js");
    let dependents = warehouse.row("dependents", &[("name", "parent")]);
    let expected = ["@good/work", "child, the second", "my-package"].map(str::to_owned);
    assert_eq!(
        dependents.get("dependents"),
        Some(&AttributeValue::Ss(expected.to_vec()))
    );
    assert_eq!(
        said(
            &warehouse.row("dependent_of", &[("pkg", "my-package")]),
            "dependentOf"
        ),
        "parent"
    );
    let line = [("pkg", "parent"), ("version", "1.9.9")];
    let line = warehouse.rows("release_line_with_dependents", &line);
    assert_eq!(
        all(&line, "entity"),
        ["release_line_dep", "release_line_dep", "release_line"]
    );
    assert_eq!(all(&line, "dependentVersion"), ["1.0.0", "0.0.1", ""]);
    let head = warehouse.row("release_line_head", &[("pkg", "parent")]);
    assert_eq!(said(&head, "version"), "2.0.0-rc.1+build.5");
    let versions = warehouse.rows("versions", &[("name", "my-package")]);
    assert_eq!(all(&versions, "version"), ["0.0.1", "0.0.10", "0.0.2"]);
    let value: serde_json::Value = serde_json::from_str(&said(&versions[0], "value")).unwrap();
    assert_eq!(value["scripts"]["test"], "echo \"no, not yet\" && exit 1");
}

#[test]
fn maps_are_whole_and_text_is_what_it_was() {
    let warehouse = imported();
    let package = warehouse.row("package", &[("name", "my-package")]);
    assert_eq!(
        said(&package, "description"),
        "Tabs\tand\nlines, \"quotes\", \\backslashes\\, and ünïcode"
    );
    let tags = Item::from([("latest", "0.0.2"), ("prod", "0.0.1")]);
    assert_eq!(package.get("distTags"), Some(&AttributeValue::M(tags)));
    assert_eq!(
        said(package.get("config").unwrap().as_m().unwrap(), "json"),
        "{\"a\": [1, 2]}"
    );
    let deep = package
        .get("extended")
        .unwrap()
        .as_m()
        .unwrap()
        .get("deep")
        .unwrap()
        .as_m()
        .unwrap();
    assert_eq!(
        deep.get("n"),
        Some(&AttributeValue::N(Number::parse("1.5").unwrap()))
    );
    let build = [
        ("name", "my-package"),
        ("env", "prod"),
        ("version", "0.0.1"),
        ("locale", "en-US"),
    ];
    let build = warehouse.row("build", &build);
    let rolled_back = build.get("rollbackBuildIds").unwrap().as_m().unwrap();
    assert_eq!(
        said(rolled_back, "with: colon, \"quotes\" and 'apostrophes'"),
        "back\\slash"
    );
    assert_eq!(rolled_back.len(), 2);
}

#[test]
fn status_events_and_counters_are_there() {
    let warehouse = imported();
    let version = [("pkg", "@good/work"), ("env", "test"), ("version", "1.0.0")];
    let status = warehouse.row("status", &version);
    assert_eq!(status.get("complete"), Some(&AttributeValue::Bool(true)));
    assert_eq!(status.get("total"), Some(&AttributeValue::from(3_i64)));
    let events = warehouse.rows("status_events", &version);
    assert_eq!(all(&events, "message"), ["queued", "failed, \"again\""]);
    assert_eq!(said(&events[1], "details"), "Error: x\n    at y (z.js:1:2)");
    assert_eq!(
        warehouse.row("progress", &version).get("count"),
        Some(&AttributeValue::from(3_i64))
    );
    let other = [("pkg", "my-package"), ("env", "prod"), ("version", "0.0.1")];
    assert_eq!(
        said(&warehouse.row("status", &other), "createdAt"),
        "1969-12-31T23:59:59.000Z"
    );
    assert_eq!(
        warehouse.row("progress", &other).get("count"),
        Some(&AttributeValue::from(-1_i64))
    );
    assert_eq!(
        said(&warehouse.row("status_head", &version[..2]), "version"),
        "1.0.0"
    );
}

#[test]
fn the_schema_makes_a_model_that_takes_the_same_export() {
    let schema = Schema::read(&text("schema.cql")).unwrap();
    let proposed = trestle_cassandra::propose(&schema, "warehouse", Some("schema.cql"));
    let loaded = trestle_model::load_new(&proposed.model);
    let model = Arc::new(loaded.model.unwrap_or_else(|| panic!("{:?}", loaded.problems)));
    // The cache has no export, and files are in a folder.
    let cut = proposed
        .mapping
        .find("[[import]]\ntable = \"warehouse.package_cache\"")
        .unwrap();
    let end = proposed.mapping[cut + 1..].find("[[import]]").unwrap() + cut + 1;
    let mapping = format!("{}{}", &proposed.mapping[..cut], &proposed.mapping[end..]);
    let mapping = mapping.replace("files = [\"", "files = [\"export/");
    let plan = Plan::bind(&Mapping::read(&mapping).unwrap(), &schema, model, &folder()).unwrap();
    let mut heard = Heard::default();
    let checked = Arc::new(plan).check(0, &mut heard).unwrap();
    assert_eq!(checked.unfit(), 0, "{:#?}", heard.misfits);
}
