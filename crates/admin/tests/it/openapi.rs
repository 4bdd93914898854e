//! Checks that docs/administration.openapi.json describes the calls.
//! tests/clients/python/test_administration.py compares real answers with it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use trestle_admin::{
    AdminCall, AdminErrorCode, BACKUP, BackfillState, HEADER, PREFIX, ReindexState, RouteState,
};
use trestle_binding::{MigrationState, Outcome};

fn description() -> Value {
    serde_json::from_str(include_str!("../../../../docs/administration.openapi.json")).unwrap()
}

/// What a reference points to.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => value,
    }
}

fn request_schema<'d>(document: &'d Value, name: &str) -> &'d Value {
    let operation = &document["paths"][format!("{PREFIX}{name}")]["post"];
    resolve(
        document,
        &operation["requestBody"]["content"]["application/json"]["schema"],
    )
}

fn words(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// The names between backticks; serde's errors list the expected ones.
fn quoted(message: &str) -> Vec<String> {
    message.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every member that a call takes.
fn members(name: &str) -> BTreeSet<String> {
    let refused = AdminCall::from_json(name, br#"{"?": 0}"#).unwrap_err();
    let mut named = quoted(&refused.message);
    assert_eq!(named.remove(0), "?", "{}", refused.message);
    named.into_iter().collect()
}

/// Every required member of a call.
fn needed(name: &str) -> BTreeSet<String> {
    let mut body = Map::new();
    while let Err(refused) = AdminCall::from_json(name, json!(body).to_string().as_bytes()) {
        assert!(refused.message.contains("missing field"), "{}", refused.message);
        let member = quoted(&refused.message)[0].clone();
        let value = match member.as_str() {
            "keys" | "rules" | "tables" => json!([]),
            "version" => json!(1),
            _ => json!(""),
        };
        body.insert(member, value);
    }
    body.into_iter().map(|(member, _)| member).collect()
}

/// Every word of an enumeration.
fn variants<T: DeserializeOwned>() -> BTreeSet<String> {
    let refused = serde_json::from_value::<T>(json!("?")).err().unwrap().to_string();
    let mut named = quoted(&refused);
    assert_eq!(named.remove(0), "?", "{refused}");
    named.into_iter().collect()
}

#[test]
fn every_call_is_described_in_its_own_words_and_no_other() {
    let document = description();
    let described = document["paths"].as_object().unwrap();
    let calls = AdminCall::ALL.iter().map(|info| info.name).chain([BACKUP]);
    let paths: BTreeSet<String> = calls.map(|name| format!("{PREFIX}{name}")).collect();
    assert_eq!(described.keys().cloned().collect::<BTreeSet<_>>(), paths);
    for info in AdminCall::ALL {
        let operation = &described[&format!("{PREFIX}{}", info.name)]["post"];
        assert_eq!(operation["summary"], info.summary, "{}", info.name);
    }
}

#[test]
fn every_call_needs_the_header() {
    let document = description();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let header = resolve(&document, &methods["post"]["parameters"][0]);
        assert!(
            header["name"].as_str().unwrap().eq_ignore_ascii_case(HEADER),
            "{path}"
        );
        assert_eq!(header["required"], true, "{path}");
    }
}

#[test]
fn a_request_has_the_members_that_are_described() {
    let document = description();
    for info in AdminCall::ALL {
        let schema = request_schema(&document, info.name);
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let described: BTreeSet<String> = properties.keys().cloned().collect();
        assert_eq!(described, members(info.name), "{}", info.name);
        assert_eq!(words(&schema["required"]), needed(info.name), "{}", info.name);
        assert_eq!(schema["additionalProperties"], false, "{}", info.name);
    }
}

#[test]
fn words_are_those_that_are_described() {
    let document = description();
    let described = |name: &str| words(&document["components"]["schemas"][name]["enum"]);
    assert_eq!(described("Outcome"), variants::<Outcome>());
    assert_eq!(described("MigrationState"), variants::<MigrationState>());
    assert_eq!(described("RouteState"), variants::<RouteState>());
    assert_eq!(described("BackfillState"), variants::<BackfillState>());
    assert_eq!(described("ReindexState"), variants::<ReindexState>());
    let mut codes = variants::<AdminErrorCode>();
    // Only clients report that there was no answer.
    assert!(codes.remove("no-answer"));
    assert_eq!(described("AdminErrorCode"), codes);
}
