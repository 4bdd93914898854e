//! Models and mappings proposed from schemas.

use crate::fixture::Folder;
use proptest::prelude::*;
use trestle_cassandra::{Schema, propose};

/// Checks that the model is valid and the mapping fits it; the exports are empty.
fn check(schema: &str) -> (String, String) {
    let read = Schema::read(schema).unwrap();
    let proposed = propose(&read, "warehouse", Some("schema.cql"));
    let loaded = trestle_model::load_new(&proposed.model);
    assert!(
        loaded.model.is_some(),
        "{:?}\n{}",
        loaded.problems,
        proposed.model
    );
    let folder = Folder::new(
        &proposed.model,
        &[("schema.cql", schema), ("mapping.toml", &proposed.mapping)],
    );
    for table in &read.tables {
        folder.write(&format!("{}.csv", table.name), "");
    }
    let bound = folder.plan();
    assert!(bound.is_ok(), "{}\n{}", bound.unwrap_err(), proposed.mapping);
    (proposed.model, proposed.mapping)
}

#[test]
fn a_proposal_has_entities_keys_and_access_patterns() {
    let (model, mapping) = check(
        "CREATE TABLE w.build (env text, name text, version text, locale text, fingerprints set<text>, total int, owner text static,
         PRIMARY KEY ((name, env, version), locale));
         CREATE TABLE w.counts (id blob PRIMARY KEY, n counter);",
    );
    for part in [
        r#"pk = "build#{name|escape}#{env|escape}#{version}", sk = "row#{locale}""#,
        "[entity.build_static]",
        r#"fingerprints = { type = "string-set", optional = true }"#,
        "[access.build_of_partition]",
        r#"n = { type = "integer", optional = true }"#,
    ] {
        assert!(model.contains(part), "{part}\n{model}");
    }
    for part in [
        r#"id = { attribute = "id", as = "text" }"#,
        "owner = false",
        r#"files = ["build.csv"]"#,
    ] {
        assert!(mapping.contains(part), "{part}\n{mapping}");
    }
}

#[test]
fn names_in_the_way_are_avoided() {
    check(
        "CREATE TABLE w.a (pk text, sk text, entity text, \"é x\" int, PRIMARY KEY (pk, sk)); CREATE TABLE w.a_of_partition (a int PRIMARY KEY);",
    );
    check(
        "CREATE TABLE w.\"A-b\" (\"1\" text PRIMARY KEY); CREATE TABLE w.\"A_b\" (\"a b\" text PRIMARY KEY, a_b int);",
    );
}

fn types() -> impl Strategy<Value = String> {
    let native = prop::sample::select(vec![
        "text",
        "int",
        "bigint",
        "varint",
        "decimal",
        "double",
        "boolean",
        "blob",
        "timestamp",
        "date",
        "time",
        "duration",
        "uuid",
        "timeuuid",
        "inet",
    ]);
    native.prop_map(str::to_owned).prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|of| format!("frozen<list<{of}>>")),
            inner.clone().prop_map(|of| format!("frozen<set<{of}>>")),
            (inner.clone(), inner.clone()).prop_map(|(key, value)| format!("frozen<map<{key}, {value}>>")),
            (inner.clone(), inner).prop_map(|(one, two)| format!("frozen<tuple<{one}, {two}>>")),
        ]
    })
}

fn schemas() -> impl Strategy<Value = String> {
    let column = (types(), any::<bool>());
    let table = (
        prop::collection::vec(types(), 1..4),
        prop::collection::vec(types(), 0..3),
        prop::collection::vec(column, 0..4),
    );
    prop::collection::vec(table, 1..4).prop_map(|tables| {
        let mut schema = String::new();
        for (at, (partition, clustering, columns)) in tables.iter().enumerate() {
            schema += &format!("CREATE TABLE ks.t{at} (");
            for (n, of) in partition.iter().enumerate() {
                schema += &format!("p{n} {of}, ");
            }
            for (n, of) in clustering.iter().enumerate() {
                schema += &format!("c{n} {of}, ");
            }
            for (n, (of, is_static)) in columns.iter().enumerate() {
                let suffix = if *is_static && !clustering.is_empty() {
                    " static"
                } else {
                    ""
                };
                schema += &format!("v{n} {of}{suffix}, ");
            }
            let names =
                |letter: char, count: usize| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
            let key = format!("({})", names('p', partition.len()).join(", "));
            let key: Vec<String> = std::iter::once(key).chain(names('c', clustering.len())).collect();
            schema += &format!("PRIMARY KEY ({}));\n", key.join(", "));
        }
        schema
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_schema_is_the_proposal_loads(schema in schemas()) {
        check(&schema);
    }

    #[test]
    fn no_text_makes_the_parser_panic(words in prop::collection::vec(prop::sample::select(vec![
        "CREATE", "TABLE", "TYPE", "t", "(", ")", "<", ">", ",", ";", "text", "map", "frozen", "PRIMARY", "KEY", "static", "'", "\"",
        ".", "--", "\n", "/*", "*/", "$$", "é", "IF", "NOT", "EXISTS", "WITH", "USE",
    ]), 0..40)) {
        let _ = Schema::read(&words.join(" "));
    }
}
