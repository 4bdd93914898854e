//! Items and placeholders that the tables of tests share.

use std::collections::BTreeMap;

use trestle_expr::{Condition, ExprError, Kind, Placeholders, Update};
use trestle_item::{AttributeValue, Map, Number};

pub(crate) fn n(text: &str) -> AttributeValue {
    AttributeValue::N(Number::parse(text).unwrap())
}

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::from(text)
}

pub(crate) fn list<const LEN: usize>(elements: [AttributeValue; LEN]) -> AttributeValue {
    AttributeValue::L(elements.to_vec())
}

pub(crate) fn strings(members: &[&str]) -> AttributeValue {
    AttributeValue::string_set(members.iter().map(|member| (*member).to_owned()).collect()).unwrap()
}

pub(crate) fn numbers(members: &[&str]) -> AttributeValue {
    AttributeValue::number_set(
        members
            .iter()
            .map(|member| Number::parse(member).unwrap())
            .collect(),
    )
    .unwrap()
}

pub(crate) fn bytes(content: &[u8]) -> AttributeValue {
    AttributeValue::B(content.to_vec())
}

/// One attribute of each type, named after it.
pub(crate) fn item() -> Map {
    Map::from([
        ("txt", s("hé😀")),
        ("x", s("x")),
        ("five", n("5")),
        ("one", n("1.00")),
        ("bin", bytes(&[0, 1, 2])),
        ("yes", AttributeValue::Bool(true)),
        ("nothing", AttributeValue::Null),
        (
            "m",
            AttributeValue::M(Map::from([("k", s("x")), ("l", list([]))])),
        ),
        ("l", list([s("x"), n("1"), list([s("q")])])),
        ("ss", strings(&["b", "a"])),
        ("ns", numbers(&["2", "1"])),
        ("bs", AttributeValue::binary_set(vec![vec![0, 1, 2]]).unwrap()),
    ])
}

/// A value of each type, named after it, and two to compare with.
fn values() -> Map {
    Map::from([
        (":s", s("x")),
        (":s2", s("y")),
        (":empty", s("")),
        (":n", n("1")),
        (":n2", n("2")),
        (":n4", n("4")),
        (":b", bytes(&[0, 1, 2])),
        (":b1", bytes(&[1])),
        (":bool", AttributeValue::Bool(true)),
        (":null", AttributeValue::Null),
        (":l", list([s("q")])),
        (":m", AttributeValue::M(Map::new())),
        (":ss", strings(&["a", "b"])),
        (":ss1", strings(&["a"])),
        (":ns", numbers(&["1"])),
        (":bs", AttributeValue::binary_set(vec![vec![0, 1, 2]]).unwrap()),
        (":S", s("S")),
        (":SS", s("SS")),
        (":NULL", s("NULL")),
    ])
}

fn names() -> BTreeMap<String, String> {
    [
        ("#a", "a"),
        ("#b", "b"),
        ("#status", "status"),
        ("#dot", "a.b"),
        ("#l", "l"),
        ("#k", "k"),
        ("#3", "[3]"),
    ]
    .map(|(key, name)| (key.to_owned(), name.to_owned()))
    .into()
}

/// Parses with the shared placeholders.
pub(crate) fn with_placeholders<T>(
    parse: impl FnOnce(&mut Placeholders<'_>) -> Result<T, ExprError>,
) -> Result<T, ExprError> {
    let (names, values) = (names(), values());
    parse(&mut Placeholders::new(Some(&names), Some(&values)))
}

pub(crate) fn condition(text: &str) -> Result<Condition, ExprError> {
    with_placeholders(|placeholders| Condition::parse(Kind::Condition, text, placeholders))
}

pub(crate) fn update(text: &str) -> Result<Update, ExprError> {
    with_placeholders(|placeholders| Update::parse(text, placeholders))
}

/// Each text must be refused with its message, which is given without the common prefix.
pub(crate) fn check_errors<T: std::fmt::Debug>(
    prefix: &str,
    parse: impl Fn(&str) -> Result<T, ExprError>,
    table: &[(&str, &str)],
) {
    for (text, expected) in table {
        match parse(text) {
            Ok(parsed) => panic!("{text:?} was not refused: {parsed:?}"),
            Err(error) => assert_eq!(error.to_string(), format!("{prefix}{expected}"), "{text:?}"),
        }
    }
}
