//! The JSON Schema: the one in `docs` equals the printed one, and contains every field of the models.

use crate::rows::system_text;
use serde_json::Value;
use trestle_model::schema;

#[test]
fn the_schema_in_the_documentation_is_the_one_that_is_printed() {
    let path = format!("{}/../../docs/model.schema.json", env!("CARGO_MANIFEST_DIR"));
    let printed = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_EXPLAIN").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == printed,
        "docs/model.schema.json is not what `trestle model schema` prints"
    );
}

#[test]
fn every_model_of_the_repository_fits_the_schema() {
    let schema = schema();
    for name in ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"] {
        let table: toml::Table = system_text(name).parse().unwrap();
        let model = serde_json::to_value(table).unwrap();
        let faults = faults(&schema, &model, name);
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    for text in [
        "table = {}",
        "model = \"m\"\ncolour = 1",
        "model = \"m\"\n[table.a]\nkey = []",
        "model = \"m\"\n[entity.a]\ntable = \"t\"\nattributes = { a = \"strin\" }",
    ] {
        let table: toml::Table = text.parse().unwrap();
        assert!(
            !faults(&schema(), &serde_json::to_value(table).unwrap(), "m").is_empty(),
            "{text}"
        );
        assert!(trestle_model::load(text).model.is_none(), "{text}");
    }
}

/// The part of JSON Schema that this schema uses.
fn faults(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = choices.iter().any(|choice| faults(choice, value, at).is_empty());
        return if fits {
            Vec::new()
        } else {
            vec![format!("{at} fits no choice")]
        };
    }
    if let Some(words) = schema["enum"].as_array() {
        return if words.contains(value) {
            Vec::new()
        } else {
            vec![format!("{at} is {value}")]
        };
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let kind = match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() && !kinds.contains(&"number") => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
    };
    if !kinds.contains(&kind) {
        return vec![format!("{at} is of type {kind}, not {kinds:?}")];
    }
    match value {
        Value::Array(members) => {
            let short = schema["minItems"]
                .as_u64()
                .is_some_and(|min| (members.len() as u64) < min);
            let inner = members
                .iter()
                .flat_map(|member| faults(&schema["items"], member, at));
            short
                .then(|| format!("{at} is too short"))
                .into_iter()
                .chain(inner)
                .collect()
        }
        Value::Object(members) => {
            let required = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let missing = required
                .filter(|name| !members.contains_key(*name))
                .map(|name| format!("{at} lacks {name}"));
            let inner = members.iter().flat_map(|(name, member)| {
                let here = format!("{at}.{name}");
                match (schema["properties"].get(name), &schema["additionalProperties"]) {
                    (Some(inner), _) => faults(inner, member, &here),
                    (None, Value::Bool(false)) => vec![format!("{here} is unknown")],
                    // A schema that does not mention further members accepts any.
                    (None, Value::Null) => Vec::new(),
                    (None, inner) => faults(inner, member, &here),
                }
            });
            missing.chain(inner).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn the_examples_of_the_reference_load() {
    let path = format!(
        "{}/../../docs/reference/model-file.md",
        env!("CARGO_MANIFEST_DIR")
    );
    let page = std::fs::read_to_string(path).unwrap();
    let examples = page.split("```toml\n").skip(1);
    let examples = examples.map(|rest| rest.split("```").next().unwrap());
    let loaded = examples.map(|example| {
        let loaded = trestle_model::load(example);
        assert_eq!(loaded.problems, [], "{example}");
        loaded.model.unwrap()
    });
    let loaded: Vec<trestle_model::Model> = loaded.collect();
    let names: Vec<&str> = loaded.iter().map(trestle_model::Model::name).collect();
    let effects = [
        "layers",
        "releases",
        "channels",
        "packages",
        "followers",
        "builds",
        "users",
        "contacts",
        "runs",
    ];
    assert_eq!(
        names.get(..4),
        Some(&["shop", "catalogue", "versions", "registry"][..])
    );
    assert_eq!(
        names.get(4..13),
        Some(&effects[..]),
        "one for each effect and form"
    );
    assert_eq!(
        names.get(13..),
        Some(&["layers-by-python"][..]),
        "one for a new layout"
    );
}
