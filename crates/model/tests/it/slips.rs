//! Syntax mistakes: a file that is not TOML has one problem, at the place of the mistake.

use trestle_model::load;

const MODEL: &str = r##"model = "shop"
[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "gone"
[entity.order]
table = "shop"
key = { pk = "customer#{customer}", sk = "order#{number:08}" }
created = "placed"
[entity.order.attributes]
customer = "string"
number = "integer"
placed = "timestamp"
status = { type = "string", one_of = [
  "open",
  "paid",
] }
"##;

#[test]
fn one_slip_is_one_problem_at_its_place() {
    assert!(load(MODEL).model.is_some());
    let close = "close it with";
    for (right, wrong, place, message, help) in [
        (
            "\"sk\"]",
            "\"sk\"",
            (3, 7),
            "the `[` that begins here is not closed",
            close,
        ),
        (
            ":08}\" }",
            ":08}\"",
            (8, 7),
            "the `{` that begins here is not closed",
            close,
        ),
        (
            "[entity.order]",
            "[entity.order",
            (6, 14),
            "unclosed table, expected `]`",
            "",
        ),
        (
            "\n] }",
            "\n",
            (14, 38),
            "the `[` that begins here is not closed",
            close,
        ),
        (
            "\"open\",",
            "\"open\"",
            (16, 3),
            "missing comma between array elements, expected `,`",
            "",
        ),
        (
            "\"kind\"",
            "\"kind",
            (4, 25),
            "invalid basic string, expected `\"`",
            "",
        ),
        (
            "\"kind\"",
            "kind\"",
            (4, 20),
            "missing opening quote, expected `\"`",
            "",
        ),
        (
            "\"kind\"",
            "kind",
            (4, 20),
            "string values must be quoted, expected literal string",
            "",
        ),
        ("ttl =", "ttl", (5, 5), "key with no value, expected `=`", ""),
        ("ttl =", "key =", (5, 1), "duplicate key", "`key` is there twice"),
        (
            "[entity.order.attributes]",
            "[entity.order]",
            (10, 9),
            "duplicate key",
            "`order` is there twice",
        ),
    ] {
        let text = MODEL.replacen(right, wrong, 1);
        let loaded = load(&text);
        assert!(loaded.model.is_none(), "{wrong}");
        let [problem] = loaded.problems.as_slice() else {
            panic!("{wrong}: {:?}", loaded.problems)
        };
        let found = (problem.line, problem.column);
        assert_eq!(
            (found, problem.message.as_str()),
            (place, format!("not TOML: {message}").as_str()),
            "{wrong}"
        );
        assert!(problem.help.starts_with(help), "{wrong}: {}", problem.help);
    }
}
