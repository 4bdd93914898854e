//! Key conditions, parsed and resolved with a key schema.

use trestle_expr::{ExprError, KeyAttribute, KeyCondition, KeyOp, KeySelection};
use trestle_item::ScalarType;

use crate::cases::{check_errors, n, s, with_placeholders};

fn parse(text: &str) -> Result<KeyCondition, ExprError> {
    with_placeholders(|placeholders| KeyCondition::parse(text, placeholders))
}

fn key(names: &[&str], kind: ScalarType) -> Vec<KeyAttribute> {
    names
        .iter()
        .map(|name| KeyAttribute {
            name: (*name).to_owned(),
            kind,
        })
        .collect()
}

/// Resolved for a table with keys `pk` and `sk`, both text.
fn on_table(text: &str) -> Result<KeySelection, ExprError> {
    parse(text)?.resolve(&key(&["pk"], ScalarType::S), &key(&["sk"], ScalarType::S))
}

/// Resolved for an index with hash attributes `a` and `b` and range attributes `c`, `d` and `e`, all text.
fn on_index(text: &str) -> Result<KeySelection, ExprError> {
    parse(text)?.resolve(
        &key(&["a", "b"], ScalarType::S),
        &key(&["c", "d", "e"], ScalarType::S),
    )
}

#[test]
fn a_table_is_asked_for_a_partition_and_a_range() {
    for (text, last) in [
        ("pk = :s", None),
        ("(pk = :s) AND (sk > :s)", Some(KeyOp::Gt(s("x")))),
        ("sk <= :s2 AND :s = pk", Some(KeyOp::Le(s("y")))),
        ("pk = :s AND :s > sk", Some(KeyOp::Lt(s("x")))),
        ("pk = :s AND :s <= sk", Some(KeyOp::Ge(s("x")))),
        (
            "(pk = :s AND sk BETWEEN :s AND :s2)",
            Some(KeyOp::Between(s("x"), s("y"))),
        ),
        ("pk = :s and begins_with(sk, :s)", Some(KeyOp::BeginsWith(s("x")))),
    ] {
        let expected = KeySelection {
            hash: vec![s("x")],
            range_equal: vec![],
            range_last: last,
        };
        assert_eq!(on_table(text), Ok(expected), "{text}");
    }
    let equal = KeySelection {
        hash: vec![s("x")],
        range_equal: vec![s("y")],
        range_last: None,
    };
    assert_eq!(on_table("pk = :s AND sk = :s2"), Ok(equal));
}

#[test]
fn only_conditions_a_key_can_answer_are_allowed() {
    for (text, operator) in [
        ("pk = :s OR sk = :s", "OR"),
        ("pk = :s AND (sk = :s OR sk = :s2)", "OR"),
        ("NOT pk = :s", "NOT"),
        ("pk IN (:s)", "IN"),
        ("pk <> :s", "<>"),
        ("attribute_exists(pk)", "attribute_exists"),
        ("attribute_not_exists(pk)", "attribute_not_exists"),
        ("attribute_type(pk, :S)", "attribute_type"),
        ("contains(pk, :s)", "contains"),
    ] {
        check_errors(
            "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: ",
            parse,
            &[(text, operator)],
        );
    }
    check_errors(
        "Invalid KeyConditionExpression: ",
        parse,
        &[
            (
                "size(pk) = :n",
                "KeyConditionExpressions cannot contain nested operations",
            ),
            (
                "pk = size(sk)",
                "KeyConditionExpressions cannot contain nested operations",
            ),
            (
                "pk.x = :s",
                "KeyConditionExpressions cannot have conditions on nested attributes",
            ),
            (
                "pk[0] = :s",
                "KeyConditionExpressions cannot have conditions on nested attributes",
            ),
            (
                "pk = sk.x",
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
            ),
            (
                "pk BETWEEN sk AND size(x)",
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
            ),
            (
                ":s = :s",
                "Invalid condition in KeyConditionExpression: No key attribute specified",
            ),
            (
                "pk = :s AND pk = :s",
                "KeyConditionExpressions must only contain one condition per key",
            ),
            (
                "begins_with(:s, pk)",
                "Invalid condition in KeyConditionExpression: \
                 begins_with operator must have the key attribute as its first operand",
            ),
            (
                ":s BETWEEN pk AND :s",
                "Invalid condition in KeyConditionExpression: \
                 BETWEEN operator must have the key attribute as its first operand",
            ),
        ],
    );
}

#[test]
fn mistakes_of_any_condition_are_reported_first() {
    check_errors(
        "Invalid KeyConditionExpression: ",
        parse,
        &[
            ("", "The expression can not be empty;"),
            ("pk", "Syntax error; token: \"<EOF>\", near: \"pk\""),
            ("((pk = :s))", "The expression has redundant parentheses;"),
            (
                "status = :s",
                "Attribute name is a reserved keyword; reserved keyword: status",
            ),
            (
                "pk = :s AND sk BETWEEN :s2 AND :s",
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
                 lower bound operand: AttributeValue: {S:y}, upper bound operand: AttributeValue: {S:x}",
            ),
        ],
    );
}

#[test]
fn a_table_refuses_what_its_key_schema_does_not_know() {
    const TYPE: &str =
        "One or more parameter values were invalid: Condition parameter type does not match schema type";
    check_errors(
        "",
        on_table,
        &[
            ("sk = :s", "Query condition missed key schema element: pk"),
            ("x = :s", "Query condition missed key schema element: pk"),
            (
                "pk = :s AND x = :s",
                "Query condition missed key schema element: sk",
            ),
            ("pk > :s", "Query key condition not supported"),
            ("begins_with(pk, :s)", "Query key condition not supported"),
            ("pk > :s AND sk = :n", "Query key condition not supported"),
            ("pk > :n", TYPE),
            ("pk = :null", TYPE),
            ("pk = :s AND sk = :n", TYPE),
            (
                "pk = :s AND sk = :s AND x = :s",
                "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
            ),
            (
                "pk = :empty",
                "One or more parameter values are not valid. \
                 The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
            ),
        ],
    );
}

#[test]
fn numbers_have_no_prefixes() {
    let on_numbers =
        |text: &str| parse(text)?.resolve(&key(&["pk"], ScalarType::S), &key(&["sk"], ScalarType::N));
    assert!(on_numbers("pk = :s AND begins_with(sk, :s)").is_err());
    let selection = on_numbers("pk = :s AND sk BETWEEN :n AND :n2").unwrap();
    assert_eq!(selection.range_last, Some(KeyOp::Between(n("1"), n("2"))));
}

#[test]
fn an_index_of_several_attributes_is_asked_from_the_left_without_gaps() {
    assert_eq!(
        on_index("d >= :s2 AND c = :s AND b = :s2 AND a = :s"),
        Ok(KeySelection {
            hash: vec![s("x"), s("y")],
            range_equal: vec![s("x")],
            range_last: Some(KeyOp::Ge(s("y"))),
        })
    );
    check_errors(
        "",
        on_index,
        &[
            (
                "a = :s",
                "HASH key attributes b must have equality conditions specified in the query",
            ),
            (
                "a = :s AND b > :s",
                "HASH key attributes b must have equality conditions specified in the query",
            ),
            (
                "c = :s",
                "HASH key attributes a, b must have equality conditions specified in the query",
            ),
            (
                "a = :s AND b = :s AND e = :s",
                "RANGE key attributes c, d must have equality conditions specified in the query \
                 because a condition is present on key attribute e",
            ),
            (
                "a = :s AND b = :s AND c > :s AND d = :s",
                "RANGE key attributes c must have equality conditions specified in the query \
                 because a condition is present on key attribute d",
            ),
            (
                "a = :s AND b = :s AND x = :s",
                "Query condition missed key schema element: c",
            ),
            (
                "a = :s AND b = :s AND c = :s AND x = :s",
                "Query condition missed key schema element: d",
            ),
        ],
    );
}
