//! Access patterns: conditions on attributes become conditions on keys.

use crate::rows::{model, row, with};
use trestle_expr::{KeyCondition, KeyOp, KeyTerm};
use trestle_item::{AttributeValue, Item};
use trestle_model::{Bound, Model};

const EVENTS: &str = r##"model = "events"
[table.events]
key = ["pk", "sk"]
[table.events.index.by_time]
key = [["tenant", "kind"], ["day", "at"]]
[entity.event]
table = "events"
key = { pk = "t#{tenant}", sk = "e#{day}#{at:010}" }
[entity.event.attributes]
tenant = "string"
kind = { type = "string", optional = true }
day = { type = "string", length = 10, chars = "0-9-" }
at = "integer"
size = { type = "integer", optional = true }
[entity.note]
table = "events"
key = { pk = "t#{tenant}", sk = "e#{day}#note" }
[entity.note.attributes]
tenant = "string"
day = { type = "string", length = 10, chars = "0-9-" }
"##;

fn events(access: &str) -> Model {
    model(&format!("{EVENTS}[access.it]\n{access}\n"))
}

fn parameters() -> Item {
    let texts = row(&[("t", "x"), ("d", "2020-01-01")]);
    with(texts, "n", 7_i64)
}

/// The sort key's conditions and the filter of the one access pattern, with the parameters it knows.
fn asked(access: &str) -> (Vec<KeyTerm>, Option<trestle_expr::Condition>) {
    let model = events(access);
    let pattern = model.access("it").unwrap();
    let mut given = parameters();
    given.retain(|name, _| {
        pattern
            .parameters()
            .iter()
            .any(|parameter| parameter.name == name)
    });
    match pattern.bind(&given).unwrap() {
        Bound::Query {
            key_condition: KeyCondition { terms },
            filter,
            ..
        } => (terms, filter),
        other => panic!("{other:?}"),
    }
}

fn sort_key(tests: &str) -> Option<KeyOp> {
    let (terms, filter) = asked(&format!(
        "query = \"events\"\nreturns = \"event\"\nwhere = {{ tenant = \"{{t}}\", {tests} }}"
    ));
    assert_eq!(terms[0].op, KeyOp::Eq("t#x".into()));
    assert_eq!(filter, None);
    terms.into_iter().nth(1).map(|term| term.op)
}

fn s(text: &str) -> AttributeValue {
    text.into()
}

#[test]
fn a_sort_key_is_asked_for_as_far_as_it_is_known() {
    assert_eq!(sort_key(""), Some(KeyOp::BeginsWith(s("e#"))));
    assert_eq!(
        sort_key("day = \"{d}\""),
        Some(KeyOp::BeginsWith(s("e#2020-01-01#")))
    );
    assert_eq!(
        sort_key("day = \"{d}\", at = \"{n}\""),
        Some(KeyOp::Eq(s("e#2020-01-01#0000000007")))
    );
}

#[test]
fn comparisons_become_bounds_of_the_key() {
    let end = "\u{10FFFF}";
    let from = |text: &str| s(&format!("e#{text}"));
    assert_eq!(
        sort_key("day = \"{d}\", at = { ge = \"{n}\" }"),
        Some(KeyOp::Between(
            from("2020-01-01#0000000007"),
            from(&format!("2020-01-01#{end}"))
        ))
    );
    assert_eq!(
        sort_key("day = \"{d}\", at = { le = 9 }"),
        Some(KeyOp::Between(from("2020-01-01#"), from("2020-01-01#0000000009")))
    );
    assert_eq!(
        sort_key("day = { lt = \"{d}\" }"),
        Some(KeyOp::Between(from(""), from("2020-01-01")))
    );
    assert_eq!(
        sort_key("day = { le = \"{d}\" }"),
        Some(KeyOp::Between(from(""), from(&format!("2020-01-01{end}"))))
    );
    assert_eq!(
        sort_key("day = { gt = \"{d}\" }"),
        Some(KeyOp::Between(from(&format!("2020-01-01{end}")), from(end)))
    );
    assert_eq!(
        sort_key("day = { between = [\"{d}\", \"2020-02-01\"] }"),
        Some(KeyOp::Between(
            from("2020-01-01"),
            from(&format!("2020-02-01{end}"))
        ))
    );
}

#[test]
fn where_a_bound_would_include_too_much_a_filter_takes_it_out() {
    let (terms, filter) = asked(
        "query = \"events\"\nreturns = \"event\"\nwhere = { tenant = \"{t}\", day = \"{d}\", at = { lt = \"{n}\" } }",
    );
    assert_eq!(
        terms[1].op,
        KeyOp::Between(s("e#2020-01-01#"), s("e#2020-01-01#0000000007"))
    );
    let filter = filter.unwrap();
    assert!(filter.holds(&with(Item::new(), "at", 6_i64)));
    assert!(!filter.holds(&with(Item::new(), "at", 7_i64)));
}

#[test]
fn several_entities_are_asked_for_by_what_their_keys_share() {
    let both = |tests: &str| {
        asked(&format!(
            "query = \"events\"\nreturns = [\"event\", \"note\"]\nwhere = {{ tenant = \"{{t}}\"{tests} }}"
        ))
    };
    assert_eq!(both("").0[1].op, KeyOp::BeginsWith(s("e#")));
    assert_eq!(
        both(", day = \"{d}\"").0[1].op,
        KeyOp::BeginsWith(s("e#2020-01-01#"))
    );
}

#[test]
fn a_key_of_several_attributes_is_asked_for_from_the_first_on() {
    let (terms, filter) = asked(
        "query = \"by_time\"\nreturns = \"event\"\nwhere = { tenant = \"{t}\", kind = \"click\", day = \"{d}\", at = { gt = \"{n}\" }, size = { ge = 5 } }",
    );
    let terms: Vec<(String, KeyOp)> = terms.into_iter().map(|term| (term.attribute, term.op)).collect();
    assert_eq!(
        terms,
        [
            ("tenant".to_owned(), KeyOp::Eq(s("x"))),
            ("kind".to_owned(), KeyOp::Eq(s("click"))),
            ("day".to_owned(), KeyOp::Eq(s("2020-01-01"))),
            ("at".to_owned(), KeyOp::Gt(7_i64.into())),
        ]
    );
    assert!(filter.unwrap().holds(&with(Item::new(), "size", 5_i64)));
}

#[test]
fn parameters_are_checked() {
    let model = events(
        "query = \"events\"\nreturns = \"event\"\nwhere = { tenant = \"{t}\", day = \"{d}\", at = { ge = \"{n}\" } }",
    );
    let pattern = model.access("it").unwrap();
    let refused = |given: Item| pattern.bind(&given).unwrap_err().to_string();
    let mut lacking = parameters();
    lacking.remove("d");
    assert!(refused(lacking).contains("parameter d is missing"));
    assert!(refused(with(parameters(), "x", "y")).contains("parameter x is not known"));
    assert!(refused(with(parameters(), "d", "2020")).contains("parameter d must be 10 characters long"));
    assert!(refused(with(parameters(), "n", "seven")).contains("parameter n must be of type integer"));
    assert!(refused(with(parameters(), "n", 12_345_678_901_i64)).contains("wider than the 10 digits"));
    assert!(refused(with(parameters(), "t", "")).contains("parameter t is empty"));
}

#[test]
fn explained_as_data_it_says_the_same() {
    let model = events(
        "query = \"events\"\nreturns = \"event\"\nwhere = { tenant = \"{t}\" }\norder = \"descending\"\nlimit = 10",
    );
    let data = serde_json::to_value(model.access("it").unwrap().explain()).unwrap();
    assert_eq!(data["operation"], "Query");
    assert_eq!(
        data["key"][1],
        serde_json::json!({ "attribute": "sk", "comparison": "begins_with", "values": ["\"e#\""] })
    );
    assert_eq!(data["order"], "descending by sk");
    assert_eq!(data["cost"]["rows_per_page"], 10);
    assert_eq!(
        data["parameters"][0],
        serde_json::json!({ "name": "t", "kind": "string" })
    );
}

#[test]
fn a_whole_key_is_one_row_whether_it_is_got_or_queried() {
    let known = "where = { tenant = \"{t}\", day = \"{d}\", at = \"{n}\" }";
    let got = events(&format!("get = \"event\"\n{known}"));
    let Bound::Get { key, .. } = got.access("it").unwrap().bind(&parameters()).unwrap() else {
        panic!("it is no Get")
    };
    assert_eq!(key, row(&[("pk", "t#x"), ("sk", "e#2020-01-01#0000000007")]));
    let queried = events(&format!("query = \"events\"\nreturns = \"event\"\n{known}"));
    let (got, queried) = (got.access("it").unwrap(), queried.access("it").unwrap());
    assert_eq!((queried.cost().rows_per_page, queried.cost()), (1, got.cost()));
    assert!(!queried.explain().to_string().contains("order"));
}
