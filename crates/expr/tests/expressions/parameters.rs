//! Which parameters may be used together, and the checks of placeholders.

use std::collections::BTreeMap;

use trestle_expr::{Condition, Kind, Parameters, Placeholders, Projection};
use trestle_item::Map;

use crate::cases::s;

fn names(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, name)| ((*key).to_owned(), (*name).to_owned()))
        .collect()
}

#[test]
fn placeholder_maps_are_checked_before_any_expression() {
    let long = format!("#{}", "a".repeat(255));
    for (map, expected) in [
        (names(&[]), "ExpressionAttributeNames must not be empty"),
        (
            names(&[("a", "a")]),
            "ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\"",
        ),
        (
            names(&[("#", "a")]),
            "ExpressionAttributeNames contains invalid key: Syntax error; key: \"#\"",
        ),
        (
            names(&[("#a-b", "a")]),
            "ExpressionAttributeNames contains invalid key: Syntax error; key: \"#a-b\"",
        ),
        (
            names(&[("#a", "")]),
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a",
        ),
        (
            names(&[(&long, "a")]),
            "ExpressionAttributeNames contains invalid key: \
             The expression attribute map contains a key that is too long; size of key: 256",
        ),
    ] {
        let error = Placeholders::new(Some(&map), None).check_syntax().unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    for (map, expected) in [
        (Map::new(), "ExpressionAttributeValues must not be empty"),
        (
            Map::from([("v", s("x"))]),
            "ExpressionAttributeValues contains invalid key: Syntax error; key: \"v\"",
        ),
    ] {
        let error = Placeholders::new(None, Some(&map)).check_syntax().unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let (names, values) = (names(&[("#0_Z", "a")]), Map::from([(":0", s("x"))]));
    assert_eq!(
        Placeholders::new(Some(&names), Some(&values)).check_syntax(),
        Ok(())
    );
}

#[test]
fn placeholders_that_nothing_uses_are_refused_names_first() {
    let names = names(&[("#a", "a"), ("#b", "b"), ("#c", "c")]);
    let values = Map::from([(":a", s("x")), (":z", s("x"))]);
    let mut placeholders = Placeholders::new(Some(&names), Some(&values));
    Projection::parse("#b", &mut placeholders).unwrap();
    let unused = |placeholders: &Placeholders<'_>| placeholders.finish().unwrap_err().to_string();
    assert_eq!(
        unused(&placeholders),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #c}"
    );
    Condition::parse(Kind::Filter, "#a = :a AND #c = :a", &mut placeholders).unwrap();
    assert_eq!(
        unused(&placeholders),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:z}"
    );
    Condition::parse(Kind::Filter, "a = :z", &mut placeholders).unwrap();
    assert_eq!(placeholders.finish(), Ok(()));
}

#[test]
fn expressions_and_legacy_parameters_exclude_each_other() {
    let parameters = Parameters {
        expressions: &[("UpdateExpression", true), ("ConditionExpression", false)],
        legacy: &[("AttributeUpdates", true), ("Expected", true)],
        names: true,
        values: true,
    };
    assert_eq!(
        parameters.check().unwrap_err().to_string(),
        "Can not use both expression and non-expression parameters in the same request: \
         Non-expression parameters: {AttributeUpdates, Expected} Expression parameters: {UpdateExpression}"
    );
}

#[test]
fn placeholders_need_an_expression_that_could_use_them() {
    let check = |expressions: &[(&str, bool)], names, values| {
        Parameters {
            expressions,
            legacy: &[],
            names,
            values,
        }
        .check()
        .map_err(|error| error.to_string())
    };
    let refused = |text: &str| Err(text.to_owned());
    assert_eq!(
        check(&[("ConditionExpression", false)], true, true),
        refused("ExpressionAttributeNames can only be specified when using expressions")
    );
    assert_eq!(
        check(&[("ConditionExpression", false)], false, true),
        refused(
            "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"
        )
    );
    assert_eq!(
        check(
            &[("UpdateExpression", false), ("ConditionExpression", false)],
            false,
            true
        ),
        refused(
            "ExpressionAttributeValues can only be specified when using expressions: \
             UpdateExpression and ConditionExpression are null"
        )
    );
    assert_eq!(
        check(
            &[("ProjectionExpression", true), ("FilterExpression", false)],
            false,
            true
        ),
        refused(
            "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"
        )
    );
    assert_eq!(
        check(
            &[("ProjectionExpression", true), ("FilterExpression", true)],
            true,
            true
        ),
        Ok(())
    );
}
