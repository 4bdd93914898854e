//! The parameters from before expressions existed.

use std::collections::BTreeMap;

use trestle_expr::legacy::{
    AttributeAction, AttributeValueUpdate, ComparisonOperator, ConditionalOperator, ExpectedAttributeValue,
    LegacyCondition, attribute_updates, attributes_to_get, check_key_conditions, expected, filter,
    key_conditions,
};
use trestle_expr::{ExprError, KeyAttribute, KeyOp, Update};
use trestle_item::{AttributeValue, Map, ScalarType};

use crate::cases::{item, list, n, numbers, s, strings};

use ComparisonOperator as Op;

fn one<T>(attribute: &str, given: T) -> BTreeMap<String, T> {
    BTreeMap::from([(attribute.to_owned(), given)])
}

fn condition(operator: Op, values: &[AttributeValue]) -> LegacyCondition {
    LegacyCondition {
        attribute_value_list: Some(values.to_vec()),
        comparison_operator: operator,
    }
}

fn filter_error(operator: Op, values: &[AttributeValue]) -> String {
    filter(Some(&one("a", condition(operator, values))), None)
        .unwrap_err()
        .to_string()
}

#[test]
fn comparison_operators_mean_what_expressions_mean() {
    for (attribute, operator, values, holds) in [
        ("x", Op::Eq, vec![s("x")], true),
        ("ss", Op::Eq, vec![strings(&["b", "a"])], true),
        ("nothing", Op::Eq, vec![AttributeValue::Null], true),
        ("five", Op::Ne, vec![s("x")], true),
        ("gone", Op::Ne, vec![s("x")], true),
        ("five", Op::Gt, vec![n("4")], true),
        ("five", Op::Le, vec![n("4")], false),
        ("five", Op::Between, vec![n("1"), n("5")], true),
        ("x", Op::In, vec![s("a"), s("x")], true),
        ("x", Op::BeginsWith, vec![s("x")], true),
        ("x", Op::Contains, vec![s("x")], true),
        ("l", Op::Contains, vec![n("1")], true),
        ("x", Op::NotContains, vec![s("z")], true),
        ("five", Op::NotContains, vec![s("z")], true),
        ("gone", Op::NotContains, vec![s("z")], false),
        ("nothing", Op::NotNull, vec![], true),
        ("gone", Op::Null, vec![], true),
        ("x", Op::Null, vec![], false),
    ] {
        let filter = filter(Some(&one(attribute, condition(operator, &values))), None)
            .unwrap()
            .unwrap();
        assert_eq!(
            filter.holds(&item()),
            holds,
            "{attribute} {operator:?} {values:?}"
        );
    }
}

#[test]
fn comparison_operators_check_their_arguments() {
    const INVALID: &str = "One or more parameter values were invalid: ";
    for (operator, values, expected) in [
        (
            Op::Eq,
            vec![],
            "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            Op::Between,
            vec![n("1")],
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (
            Op::NotNull,
            vec![n("1")],
            "Invalid number of argument(s) for the NOT_NULL ComparisonOperator",
        ),
        (
            Op::In,
            vec![s("a"), n("1")],
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            Op::Lt,
            vec![AttributeValue::Bool(true)],
            "ComparisonOperator LT is not valid for BOOL AttributeValue type",
        ),
        (
            Op::BeginsWith,
            vec![n("1")],
            "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
        (
            Op::Contains,
            vec![numbers(&["1"])],
            "ComparisonOperator CONTAINS is not valid for NS AttributeValue type",
        ),
        (
            Op::In,
            vec![list([])],
            "ComparisonOperator IN is not valid for L AttributeValue type",
        ),
    ] {
        assert_eq!(filter_error(operator, &values), format!("{INVALID}{expected}"));
    }
    assert_eq!(
        filter_error(Op::Between, &[s("b"), s("a")]),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    );
}

#[test]
fn conditions_on_several_attributes_are_joined() {
    let conditions = BTreeMap::from([
        ("x".to_owned(), condition(Op::Eq, &[s("x")])),
        ("five".to_owned(), condition(Op::Eq, &[n("6")])),
    ]);
    let holds = |operator| {
        filter(Some(&conditions), operator)
            .unwrap()
            .unwrap()
            .holds(&item())
    };
    assert!(!holds(None));
    assert!(!holds(Some(ConditionalOperator::And)));
    assert!(holds(Some(ConditionalOperator::Or)));
}

#[test]
fn a_conditional_operator_needs_something_to_join() {
    let operator = Some(ConditionalOperator::Or);
    let nothing = "ConditionalOperator cannot be used without Filter or Expected";
    assert_eq!(expected(None, operator).unwrap_err().to_string(), nothing);
    assert_eq!(
        expected(Some(&BTreeMap::new()), operator)
            .unwrap_err()
            .to_string(),
        nothing
    );
    assert_eq!(
        filter(Some(&one("a", condition(Op::Null, &[]))), operator)
            .unwrap_err()
            .to_string(),
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    );
    assert_eq!(filter(Some(&BTreeMap::new()), None), Ok(None));
}

#[test]
fn expected_speaks_of_existence_or_compares() {
    let expectation = ExpectedAttributeValue::default;
    for (attribute, given, holds) in [
        (
            "x",
            ExpectedAttributeValue {
                value: Some(s("x")),
                ..expectation()
            },
            true,
        ),
        (
            "x",
            ExpectedAttributeValue {
                exists: Some(true),
                value: Some(s("y")),
                ..expectation()
            },
            false,
        ),
        (
            "x",
            ExpectedAttributeValue {
                exists: Some(false),
                ..expectation()
            },
            false,
        ),
        (
            "gone",
            ExpectedAttributeValue {
                exists: Some(false),
                ..expectation()
            },
            true,
        ),
        (
            "five",
            ExpectedAttributeValue {
                comparison_operator: Some(Op::Gt),
                value: Some(n("4")),
                ..expectation()
            },
            true,
        ),
        (
            "x",
            ExpectedAttributeValue {
                comparison_operator: Some(Op::NotNull),
                ..expectation()
            },
            true,
        ),
    ] {
        let condition = expected(Some(&one(attribute, given.clone())), None)
            .unwrap()
            .unwrap();
        assert_eq!(condition.holds(&item()), holds, "{attribute} {given:?}");
    }
}

#[test]
fn expected_does_not_mix_its_two_generations() {
    let expectation = ExpectedAttributeValue::default;
    let values = Some(vec![s("x")]);
    for (given, problem) in [
        (expectation(), "Value must be provided when Exists is null"),
        (
            ExpectedAttributeValue {
                exists: Some(true),
                ..expectation()
            },
            "Value must be provided when Exists is true",
        ),
        (
            ExpectedAttributeValue {
                exists: Some(false),
                value: Some(s("x")),
                ..expectation()
            },
            "Value cannot be used when Exists is false",
        ),
        (
            ExpectedAttributeValue {
                value: Some(s("x")),
                attribute_value_list: values.clone(),
                ..expectation()
            },
            "Value and AttributeValueList cannot be used together",
        ),
        (
            ExpectedAttributeValue {
                attribute_value_list: values,
                ..expectation()
            },
            "AttributeValueList can only be used with a ComparisonOperator",
        ),
        (
            ExpectedAttributeValue {
                exists: Some(true),
                comparison_operator: Some(Op::Eq),
                ..expectation()
            },
            "Exists and ComparisonOperator cannot be used together",
        ),
        (
            ExpectedAttributeValue {
                comparison_operator: Some(Op::Lt),
                ..expectation()
            },
            "Value or AttributeValueList must be used with ComparisonOperator: LT",
        ),
    ] {
        assert_eq!(
            expected(Some(&one("a", given)), None).unwrap_err().to_string(),
            format!("One or more parameter values were invalid: {problem} for Attribute: a")
        );
    }
}

#[test]
fn key_conditions_are_what_keys_can_answer() {
    let mut conditions = one("pk", condition(Op::Eq, &[s("x")]));
    conditions.insert("sk".to_owned(), condition(Op::Between, &[n("1"), n("2")]));
    let parsed = key_conditions(&conditions).unwrap();
    assert_eq!(parsed.terms[0].op, KeyOp::Eq(s("x")));
    assert_eq!(parsed.terms[1].op, KeyOp::Between(n("1"), n("2")));

    let refuse = |conditions: &BTreeMap<_, _>| key_conditions(conditions).unwrap_err().to_string();
    assert_eq!(
        refuse(&one("pk", condition(Op::Ne, &[s("x")]))),
        "Attempted conditional constraint is not an indexable operation"
    );
    assert_eq!(refuse(&BTreeMap::new()), "Conditions must be at least length 1");
}

#[test]
fn key_conditions_are_as_many_as_the_key_has_attributes() {
    let attribute = |name: &str| KeyAttribute {
        name: name.to_owned(),
        kind: ScalarType::S,
    };
    let three = ["a", "b", "c"].map(|name| (name.to_owned(), condition(Op::Eq, &[s("x")])));
    let three = key_conditions(&three.into_iter().collect()).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(attribute);
    let check = |hash: &[KeyAttribute], range: &[KeyAttribute]| {
        check_key_conditions(&three, hash, range).map_err(|error| error.to_string())
    };
    let (hash, range) = ([a.clone(), b.clone()], [c.clone()]);
    assert_eq!(check(&hash, &range), Ok(()));
    assert_eq!(
        check(&hash, &[]),
        Err("Query key condition not supported".to_owned())
    );
    assert_eq!(
        check(&[a], &[b]),
        Err("Conditions can be of length 1 or 2 only".to_owned())
    );
}

fn updates(action: Option<AttributeAction>, value: Option<AttributeValue>) -> Result<Update, ExprError> {
    attribute_updates(&one("a", AttributeValueUpdate { value, action }))
}

/// The result for attribute `a` with the value `before`.
fn updated(
    before: Option<AttributeValue>,
    action: AttributeAction,
    value: AttributeValue,
) -> Result<Option<AttributeValue>, String> {
    let mut item: Map = before.map(|before| ("a", before)).into_iter().collect();
    let update = updates(Some(action), Some(value)).map_err(|error| error.to_string())?;
    update.apply(&mut item).map_err(|error| error.to_string())?;
    Ok(item.remove("a"))
}

#[test]
fn attribute_updates_put_add_and_delete() {
    let (add, delete) = (AttributeAction::Add, AttributeAction::Delete);
    let mismatch = || Err("Type mismatch for attribute to update".to_owned());
    assert_eq!(
        updated(Some(n("1")), AttributeAction::Put, s("x")),
        Ok(Some(s("x")))
    );
    assert_eq!(updated(Some(n("1")), add, n("2")), Ok(Some(n("3"))));
    assert_eq!(updated(None, add, n("2")), Ok(Some(n("2"))));
    assert_eq!(
        updated(Some(list([n("1")])), add, list([n("2")])),
        Ok(Some(list([n("1"), n("2")])))
    );
    assert_eq!(
        updated(Some(strings(&["a"])), add, strings(&["b"])),
        Ok(Some(strings(&["a", "b"])))
    );
    assert_eq!(updated(Some(strings(&["a"])), add, numbers(&["1"])), mismatch());
    assert_eq!(updated(Some(s("x")), add, n("1")), mismatch());
    assert_eq!(
        updated(Some(strings(&["a", "b"])), delete, strings(&["a"])),
        Ok(Some(strings(&["b"])))
    );
    assert_eq!(updated(Some(strings(&["a"])), delete, strings(&["a"])), Ok(None));
    assert_eq!(updated(Some(s("x")), delete, strings(&["a"])), mismatch());
    assert_eq!(updated(None, delete, strings(&["a"])), Ok(None));
}

#[test]
fn attribute_updates_check_action_and_type() {
    let refuse = |action, value| updates(action, value).unwrap_err().to_string();
    for (action, value, expected) in [
        (
            None,
            None,
            "Only DELETE action is allowed when no attribute value is specified",
        ),
        (
            Some(AttributeAction::Add),
            None,
            "Only DELETE action is allowed when no attribute value is specified",
        ),
        (
            Some(AttributeAction::Add),
            Some(s("x")),
            "ADD action is not supported for the type S",
        ),
        (
            Some(AttributeAction::Delete),
            Some(n("1")),
            "DELETE action with value is not supported for the type N",
        ),
    ] {
        assert_eq!(
            refuse(action, value),
            format!("One or more parameter values were invalid: {expected}")
        );
    }
    assert!(attribute_updates(&BTreeMap::new()).unwrap().is_empty());
    assert!(updates(Some(AttributeAction::Delete), None).is_ok());
}

#[test]
fn attributes_to_get_are_names_rather_than_paths() {
    let names = ["x", "m.k", "status"].map(str::to_owned);
    let item = Map::from([("x", s("x")), ("m.k", s("dotted")), ("m", n("1"))]);
    let projected = attributes_to_get(&names).unwrap().apply(&item);
    assert_eq!(projected, Map::from([("x", s("x")), ("m.k", s("dotted"))]));
    assert_eq!(
        attributes_to_get(&["a", "b", "a"].map(str::to_owned))
            .unwrap_err()
            .to_string(),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"
    );
}

#[test]
fn legacy_parameters_have_the_names_of_the_wire() {
    fn reread<T: serde::Serialize + serde::de::DeserializeOwned>(json: &str) -> T {
        let read: T = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        read
    }
    let filter: LegacyCondition =
        reread(r#"{"AttributeValueList":[{"S":"x"}],"ComparisonOperator":"BEGINS_WITH"}"#);
    assert_eq!(filter, condition(Op::BeginsWith, &[s("x")]));
    let expectation: ExpectedAttributeValue = reread(r#"{"Exists":false}"#);
    assert_eq!(expectation.exists, Some(false));
    let update: AttributeValueUpdate = reread(r#"{"Value":{"N":"1"},"Action":"ADD"}"#);
    assert_eq!(update.action, Some(AttributeAction::Add));
    assert_eq!(serde_json::from_str::<Op>("\"NOT_NULL\"").unwrap(), Op::NotNull);
    assert_eq!(
        serde_json::from_str::<ConditionalOperator>("\"OR\"").unwrap(),
        ConditionalOperator::Or
    );
    for operator in [Op::Eq, Op::NotNull, Op::NotContains, Op::Between] {
        assert_eq!(serde_json::to_value(operator).unwrap(), operator.name());
    }
}
