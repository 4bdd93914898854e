//! Large values in model files: where they are allowed.

fn model(attributes: &str, more: &str) -> String {
    format!(
        r#"
model = "m"
[table.things]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.version]
table = "things"
key = {{ pk = "v#{{name}}", sk = "{{n:04}}" }}
attributes = {{ name = "string", n = "integer", {attributes} }}
{more}
"#
    )
}

fn problems(attributes: &str, more: &str) -> Vec<String> {
    let loaded = trestle_model::load(&model(attributes, more));
    loaded
        .problems
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

#[test]
fn a_large_value_may_be_optional_immutable_and_in_a_head() {
    let head = "[entity.version.head]\nkey.sk = \"head\"\nnewest_by = \"n\"";
    let none: [String; 0] = [];
    assert_eq!(problems("a = \"large\"", head), none);
    assert_eq!(
        problems(r#"a = { type = "large", optional = true, immutable = true }"#, ""),
        none
    );
}

#[test]
fn a_large_value_is_in_no_key_has_no_default_and_nothing_outlives_its_row() {
    let copy = r#"
[entity.other]
table = "things"
key = { pk = "o#{name}", sk = "{n:04}" }
attributes = { name = "string", n = "integer", b = "large" }
[entity.other.copy.a]
from = "version"
with = { name = "name", n = "n" }
attributes = { a = "b" }
"#;
    let history = "[entity.version.history]\nof = [\"a\"]\nkey.sk = \"m#{n:04}#{moved}\"";
    let previous = "[entity.version.head]\nkey.sk = \"head\"\nnewest_by = \"n\"\nprevious = { was = \"a\" }";
    for (attributes, more, expected) in [
        (r#"a = "large""#, copy, "it is copied to other rows"),
        (r#"a = "large""#, copy, "`b` is a large value, and it is a copy"),
        (r#"a = "large""#, history, "a history keeps it"),
        (r#"a = "large""#, previous, "its head remembers it as `previous`"),
        (
            r#"a = { type = "large", default = "x" }"#,
            "",
            "`default` must be a reference",
        ),
        (
            r#"a = { type = "large", one_of = ["x"] }"#,
            "",
            "`one_of` must be a reference",
        ),
        (r#"a = { type = "large", length = 3 }"#, "", "is of type large"),
    ] {
        let problems = problems(attributes, more);
        assert!(
            problems.iter().any(|problem| problem.contains(expected)),
            "{expected}: {problems:?}"
        );
    }
    let in_key = model(r#"a = "large""#, "").replace("v#{name}", "v#{name}#{a}");
    assert!(trestle_model::load(&in_key).model.is_none());
}
