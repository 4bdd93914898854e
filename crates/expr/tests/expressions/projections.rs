//! The results of projections, and which projections are refused.

use trestle_expr::{ExprError, Projection};
use trestle_item::{AttributeValue, Map};

use crate::cases::{check_errors, item, list, n, s, with_placeholders};

fn projection(text: &str) -> Result<Projection, ExprError> {
    with_placeholders(|placeholders| Projection::parse(text, placeholders))
}

#[test]
fn a_projection_keeps_structure_and_drops_the_rest() {
    let nested = |name: &str, value| AttributeValue::M(Map::from([(name, value)]));
    for (text, expected) in [
        ("x, five", Map::from([("x", s("x")), ("five", n("5"))])),
        (
            " m.k , l[1] ",
            Map::from([("m", nested("k", s("x"))), ("l", list([n("1")]))]),
        ),
        ("l[2], l[0]", Map::from([("l", list([s("x"), list([s("q")])]))])),
        ("l[2][0]", Map::from([("l", list([list([s("q")])]))])),
        (
            "#l[1], m.#k",
            Map::from([("m", nested("k", s("x"))), ("l", list([n("1")]))]),
        ),
        ("gone, m.z, l[9], x.k, ss[0], l[0].k, #dot", Map::new()),
    ] {
        assert_eq!(projection(text).unwrap().apply(&item()), expected, "{text}");
    }
}

#[test]
fn mistakes_are_reported_as_in_other_expressions() {
    check_errors(
        "Invalid ProjectionExpression: ",
        projection,
        &[
            ("", "The expression can not be empty;"),
            ("!!", "Syntax error; token: \"!\", near: \"!!\""),
            ("a,", "Syntax error; token: \"<EOF>\", near: \",\""),
            ("a b", "Syntax error; token: \"b\", near: \"a b\""),
            (":s", "Syntax error; token: \":s\", near: \":s\""),
            ("(a)", "Syntax error; token: \"(\", near: \"(a\""),
            ("size(a)", "Syntax error; token: \"(\", near: \"size(a\""),
            ("a[01]", "Syntax error; token: \"1\", near: \"01]\""),
            (
                "#undefined, status",
                "Attribute name is a reserved keyword; reserved keyword: status",
            ),
            (
                "a[2147483648]",
                "List index is not within the allowable range; index: [2147483648]",
            ),
            (
                "a, a, #undefined",
                "An expression attribute name used in the document path is not defined; attribute name: #undefined",
            ),
            (
                "a[0], a.b",
                "Two document paths conflict with each other; \
                 must remove or rewrite one of these paths; path one: [a, [0]], path two: [a, b]",
            ),
            (
                "a.b.c, a.b",
                "Two document paths overlap with each other; \
                 must remove or rewrite one of these paths; path one: [a, b, c], path two: [a, b]",
            ),
        ],
    );
}

#[test]
fn a_projection_names_its_attributes_once() {
    let projection = projection("m.k, x, m.l, l[0]").unwrap();
    assert_eq!(projection.attributes().collect::<Vec<_>>(), ["l", "m", "x"]);
    assert_eq!(projection.paths().len(), 4);
}
