//! `trestle model`: its output for model files, and its exit codes.

use crate::running::run;
use std::path::Path;
use std::process::Output;

fn models() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models"))
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const FAULTY: &str = "model = \"m\"\n[table.rows]\nkey = [\"pk\"]\n[entity.a]\ntable = \"rows\"\nkey.pk = \"{x}{y}\"\nattributes = { x = \"string\", y = \"string\" }\n";

#[test]
fn sound_models_pass() {
    let output = run(models(), &["model", "check", "manhunt.toml", "warehouse.toml"]);
    assert_eq!(output.status.code(), Some(0));
    let said = said(&output);
    assert!(said.contains("manhunt.toml: model manhunt is sound: 1 table, 7 entities, 14 access patterns; 0 errors, 0 warnings"), "{said}");
    assert!(
        said.contains("warning: access `packages` scans table `Package`"),
        "{said}"
    );
}

#[test]
fn a_faulty_model_ends_with_7_and_says_where() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("m.toml"), FAULTY).unwrap();
    let output = run(directory.path(), &["model", "check", "m.toml"]);
    assert_eq!(output.status.code(), Some(7));
    let text = said(&output);
    assert!(
        text.starts_with("m.toml:6:10: error: entity `a`: key `pk`")
            && text.contains("help: put a separator"),
        "{text}"
    );
    let output = run(directory.path(), &["model", "explain", "m.toml"]);
    assert_eq!(output.status.code(), Some(7));
    let output = run(directory.path(), &["model", "check", "m.toml", "--json"]);
    let text = said(&output);
    assert!(
        text.contains("\"line\":6") && text.contains("\"sound\":false"),
        "{text}"
    );
}

#[test]
fn a_file_that_is_not_there_ends_with_2() {
    let output = run(models(), &["model", "check", "nothing.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("cannot read the model file nothing.toml")
    );
}

#[test]
fn one_access_pattern_or_all_of_them_are_explained() {
    let one = said(&run(
        models(),
        &["model", "explain", "manhunt.toml", "searches_by_status"],
    ));
    assert!(
        one.contains("key      GSI2PK = \"{status}#{contactId}\""),
        "{one}"
    );
    let all = said(&run(models(), &["model", "explain", "manhunt.toml"]));
    assert!(
        all.contains(one.trim_end()) && all.contains("contacts_of_domain"),
        "{all}"
    );
    let json = said(&run(
        models(),
        &["model", "explain", "manhunt.toml", "contact", "--json"],
    ));
    assert!(json.contains("\"operation\":\"Query\""), "{json}");
    let unknown = run(models(), &["model", "explain", "manhunt.toml", "nothing"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn the_schema_is_printed_as_documented() {
    let documented = std::fs::read_to_string(models().join("../docs/model.schema.json")).unwrap();
    assert_eq!(said(&run(models(), &["model", "schema"])), documented);
}
