//! Properties of any model and any values. Small alphabets, so that collisions occur.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::collections::HashMap;
use trestle_item::{AttributeValue, Item};
use trestle_model::{Entity, Model, load};

use crate::rows::system_text;

/// A field of a template: its placeholder, and how its attribute is declared.
fn field() -> impl Strategy<Value = (String, &'static str)> {
    let declared = prop_oneof![
        3 => Just(("{}", "\"string\"")),
        1 => Just(("{|escape}", "\"string\"")),
        1 => Just(("{}", "{ type = \"string\", length = 2 }")),
        1 => Just(("{}", "{ type = \"string\", chars = \"ab\" }")),
        1 => Just(("{}", "{ type = \"string\", one_of = [\"a\", \"ab\"] }")),
        1 => Just(("{}", "\"integer\"")),
        1 => Just(("{:02}", "\"integer\"")),
        1 => Just(("{}", "\"boolean\"")),
    ];
    declared.prop_map(|(placeholder, declared)| (placeholder.to_owned(), declared))
}

/// A template over fields named with `prefix`, and the declarations of its attributes.
fn template(prefix: &'static str) -> impl Strategy<Value = (String, Vec<(String, &'static str)>)> {
    let parts = prop::collection::vec((prop::option::of("[a#:%0]{1,2}"), field()), 0..3);
    (parts, prop::option::weighted(0.4, "[ab#:]{1,2}")).prop_map(move |(parts, tail)| {
        let mut text = String::new();
        let mut declared = Vec::new();
        for (at, (literal, (placeholder, kind))) in parts.into_iter().enumerate() {
            let name = format!("{prefix}{at}");
            text.push_str(&literal.unwrap_or_default());
            text.push_str(&placeholder.replacen('{', &format!("{{{name}"), 1));
            declared.push((name, kind));
        }
        text.push_str(&tail.unwrap_or_default());
        (text, declared)
    })
}

fn entity(name: &str, pk: &(String, Vec<(String, &str)>), sk: &(String, Vec<(String, &str)>)) -> String {
    let attributes: Vec<String> =
        pk.1.iter()
            .chain(&sk.1)
            .map(|(name, kind)| format!("{name} = {kind}"))
            .collect();
    format!(
        "[entity.{name}]\ntable = \"rows\"\nkey = {{ pk = {:?}, sk = {:?} }}\nattributes = {{ {} }}\n",
        pk.0,
        sk.0,
        attributes.join(", ")
    )
}

/// Two entities. Often they share a template, so that only the other one can distinguish them.
fn model_text() -> impl Strategy<Value = String> {
    let other = |prefix| prop::option::of(template(prefix));
    (template("p"), template("s"), other("p"), other("s")).prop_map(|(pk1, sk1, pk2, sk2)| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n{}{}",
            entity("one", &pk1, &sk1),
            entity("two", pk2.as_ref().unwrap_or(&pk1), sk2.as_ref().unwrap_or(&sk1))
        )
    })
}

/// Values for the fields `p0`, `p1`, `s0`, `s1`, whatever type the model gives them.
fn values() -> impl Strategy<Value = Vec<(String, i64, bool)>> {
    prop::collection::vec(("[ab#:%0]{0,3}", -3_i64..120, any::<bool>()), 6)
}

fn filled(entity: &Entity, values: &[(String, i64, bool)]) -> Item {
    let mut item = Item::new();
    for (attribute, (text, number, truth)) in entity.attributes().iter().zip(values) {
        let value = match attribute.kind.name() {
            "integer" => AttributeValue::from(*number),
            "boolean" => AttributeValue::Bool(*truth),
            _ => AttributeValue::from(text.as_str()),
        };
        item.insert(attribute.name.as_str(), value);
    }
    item
}

/// The key of an identity, unless the key cannot contain a value.
fn key(entity: &Entity, identity: &Item) -> Option<Item> {
    let mut key = Item::new();
    for template in entity.table_key() {
        key.insert(template.attribute(), template.render(identity).ok()?);
    }
    Some(key)
}

fn sound(text: &str) -> Option<Model> {
    load(text).model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, max_global_rejects: 60_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_rendered_is_read_back(text in model_text(), values in values()) {
        if let Some(model) = sound(&text) {
            for entity in model.entities() {
                let identity = filled(entity, &values);
                if let Some(key) = key(entity, &identity) {
                    prop_assert_eq!(entity.identify(&key), Some(identity), "{}", text);
                }
            }
        }
    }

    #[test]
    fn no_two_identities_share_a_key(text in model_text(), many in prop::collection::vec(values(), 2..12)) {
        if let Some(model) = sound(&text) {
            let mut owners: HashMap<String, (String, Item)> = HashMap::new();
            for entity in model.entities() {
                for values in &many {
                    let identity = filled(entity, values);
                    let Some(key) = key(entity, &identity) else { continue };
                    let owner = (entity.name().to_owned(), identity);
                    let stored = owners.entry(format!("{key:?}")).or_insert_with(|| owner.clone());
                    prop_assert_eq!(&*stored, &owner, "{}", text);
                    // Another entity whose template matches the key could have written it.
                    let others = model.entities().iter().filter(|other| other.name() != entity.name());
                    for other in others {
                        prop_assert_eq!(other.identify(&key), None, "{}", text);
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_that_is_read_is_rendered_again(text in model_text(), pk in "[ab#:%0]{0,5}", sk in "[ab#:%0]{0,5}") {
        if let Some(model) = sound(&text) {
            let given: Item = [("pk", pk.as_str()), ("sk", sk.as_str())].into();
            for entity in model.entities() {
                if let Some(identity) = entity.identify(&given) {
                    prop_assert_eq!(key(entity, &identity), Some(given.clone()), "{}", text);
                }
            }
        }
    }

    #[test]
    fn deriving_twice_changes_nothing_more(text in model_text(), values in values()) {
        if let Some(model) = sound(&text) {
            for entity in model.entities() {
                let identity = filled(entity, &values);
                let Some(key) = key(entity, &identity) else { continue };
                let mut item = identity;
                for (name, value) in key {
                    item.insert(name, value);
                }
                let derived = model.derive("rows", None, &item, 0).unwrap().unwrap();
                prop_assert_eq!(derived.entity.name(), entity.name());
                prop_assert!(derived.is_empty(), "{:?}", derived);
            }
        }
    }
}

/// The properties above would also hold of a loader that refuses everything.
#[test]
fn a_fair_share_of_random_models_is_sound() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = model_text();
    let sound_ones = (0..400).filter(|_| {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        sound(&text).is_some()
    });
    let share = sound_ones.count();
    assert!((30..370).contains(&share), "{share} of 400");
}

#[test]
fn a_separator_inside_a_value_is_refused_or_escaped() {
    for (placeholder, expected) in [("{a}", None), ("{a|escape}", Some("x%23y#z"))] {
        let text = format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\"]\n[entity.e]\ntable = \"rows\"\nkey.pk = \"{placeholder}#{{b}}\"\nattributes = {{ a = \"string\", b = \"string\" }}\n"
        );
        let model = sound(&text).unwrap();
        let item: Item = [("a", "x#y"), ("b", "z")].into();
        let key = model.key_of("rows", &item);
        match expected {
            None => assert!(
                key.unwrap_err()
                    .to_string()
                    .contains("contains '#', the separator behind it")
            ),
            Some(expected) => {
                let key = key.unwrap();
                assert_eq!(key, [("pk", expected)].into());
                assert_eq!(model.entity("e").unwrap().identify(&key), Some(item));
            }
        }
    }
}

/// Words that a model file is made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "model",
        "table",
        "entity",
        "access",
        "key",
        "index",
        "attributes",
        "head",
        "unique",
        "copy",
        "counter",
        "inverse",
        "where",
        "returns",
        "query",
        "get",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        ".",
        ",",
        "\"",
        "\n",
        "a",
        "b",
        "\"{a}\"",
        "\"{a:02}#{b}\"",
        "\"string\"",
        "\"integer\"",
        "true",
        "1",
        "-1",
        "1.5",
        "\"all\"",
        "[\"pk\", \"sk\"]",
        "pk",
        "sk",
        "one_of",
        "default",
        "length",
        "chars",
        "set",
        "of",
        "with",
        "from",
        "in_step",
        "background",
        "by",
        "once_by",
        "seen",
        "newest_by",
        "demote",
        "\"1..3\"",
        "project",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn loading_anything_never_panics(text in prop_oneof![".{0,200}", soup()]) {
        let loaded = load(&text);
        prop_assert!(loaded.model.is_some() || !loaded.problems.is_empty());
    }

    #[test]
    fn loading_a_damaged_model_never_panics(system in 0_usize..5, cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..30, soup()), 1..4)) {
        let name = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"][system];
        let mut characters: Vec<char> = system_text(name).chars().collect();
        for (at, length, new) in cuts {
            let at = at.index(characters.len() + 1);
            let end = (at + length).min(characters.len());
            characters.splice(at..end, new.chars().take(length));
        }
        let text: String = characters.into_iter().collect();
        let loaded = load(&text);
        prop_assert!(loaded.model.is_some() || !loaded.problems.is_empty());
        for problem in &loaded.problems {
            prop_assert!(problem.line >= 1 && problem.column >= 1);
        }
        if let Some(model) = loaded.model {
            for pattern in model.access_patterns() {
                let _ = pattern.explain().to_string();
            }
        }
    }
}
