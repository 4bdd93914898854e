//! How `SELECT` finds its items.

use crate::{statement, with_composite, with_hash};
use trestle_expr::{KeyOp, KeySelection};
use trestle_item::{AttributeValue, Item};
use trestle_partiql::{Access, Plan, Statement, StatementError};

fn plan(rest: &str) -> Result<Plan, StatementError> {
    let Statement::Select(select) = statement(&format!("SELECT * FROM t {rest}")) else {
        panic!("{rest}")
    };
    with_composite(|keys| select.plan(keys))
}

fn good(rest: &str) -> Plan {
    plan(rest).unwrap_or_else(|refusal| panic!("{rest}: {refusal}"))
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::from(number)
}

fn whole(hash: &str) -> KeySelection {
    KeySelection {
        hash: vec![hash.into()],
        range_equal: vec![],
        range_last: None,
    }
}

fn one(hash: &str, sort: i64) -> KeySelection {
    KeySelection {
        range_equal: vec![n(sort)],
        ..whole(hash)
    }
}

fn ranged(hash: &str, op: KeyOp) -> KeySelection {
    KeySelection {
        range_last: Some(op),
        ..whole(hash)
    }
}

#[test]
fn a_condition_on_the_partition_directs_the_reading_and_leaves_the_rest() {
    for (condition, selections, filtered) in [
        ("pk = 'a'", vec![whole("a")], false),
        ("'a' = pk AND sk = 1", vec![one("a", 1)], false),
        ("pk = 'a' AND sk > 1", vec![ranged("a", KeyOp::Gt(n(1)))], false),
        ("pk = 'a' AND 1 > sk", vec![ranged("a", KeyOp::Lt(n(1)))], false),
        (
            "pk = 'a' AND sk BETWEEN 1 AND 2",
            vec![ranged("a", KeyOp::Between(n(1), n(2)))],
            false,
        ),
        ("pk = 'a' AND sk > 1 AND sk = 3", vec![one("a", 3)], true),
        ("pk = 'a' AND n = 1", vec![whole("a")], true),
        ("pk = 'a' AND (n = 1 OR n = 2)", vec![whole("a")], true),
        (
            "pk IN ['b', 'a', 'b'] AND n = 1",
            vec![whole("b"), whole("a")],
            true,
        ),
        (
            "pk = 'a' AND sk IN [3, 1, 3]",
            vec![one("a", 1), one("a", 3)],
            false,
        ),
        (
            "(pk = 'b' OR pk = 'a') AND sk = 1",
            vec![one("b", 1), one("a", 1)],
            true,
        ),
        (
            "pk = 'b' AND sk = 1 OR pk = 'a'",
            vec![one("b", 1), whole("a")],
            true,
        ),
        (
            "pk = 'a' AND sk > 3 OR pk = 'a' AND sk < 2",
            vec![ranged("a", KeyOp::Lt(n(2))), ranged("a", KeyOp::Gt(n(3)))],
            true,
        ),
        ("pk = 'a' AND pk = 'b'", vec![], false),
        ("pk = 'a' AND pk IN ['a', 'b']", vec![whole("a")], false),
        ("pk = 'a' AND sk <> 1", vec![whole("a")], true),
        ("pk = 'a' AND sk = n", vec![whole("a")], true),
    ] {
        let plan = good(&format!("WHERE {condition}"));
        assert_eq!(plan.access, Access::Partitions(selections), "{condition}");
        assert_eq!(plan.filter.is_some(), filtered, "{condition}");
    }
}

#[test]
fn without_the_partition_in_every_branch_everything_is_read() {
    for condition in [
        "n = 1",
        "sk = 1",
        "sk = 'x'",
        "pk > 'a'",
        "pk = 'a' OR n = 1",
        "NOT pk = 'a'",
        "pk = g",
    ] {
        let plan = good(&format!("WHERE {condition}"));
        assert_eq!(plan.access, Access::Scan, "{condition}");
        assert!(plan.filter.is_some(), "{condition}");
    }
    assert_eq!(good("").filter, None);
}

#[test]
fn a_clause_of_too_many_branches_is_scanned_rather_than_divided() {
    let either = |name: &str| format!("({name} = 'a' OR {name} = 'b' OR {name} = 'c' OR sk = 1)");
    let plan = good(&format!(
        "WHERE {0} AND {0} AND {0} AND {0} AND {0}",
        either("pk")
    ));
    assert_eq!(plan.access, Access::Scan);
}

#[test]
fn branches_on_one_partition_may_not_overlap_unless_negated() {
    let overlap = "Overlapping conditions with range keys are not supported in where clause";
    for condition in [
        "pk = 'a' AND x = '1' OR pk = 'a' AND sk = 2",
        "pk = 'a' AND x <> '1' OR pk = 'a' AND sk = 2",
        "pk = 'a' OR pk = 'a' AND sk = 2",
        "pk = 'a' AND sk > 1 OR pk = 'a' AND sk < 3",
        "pk = 'a' AND (sk = 1 OR n = 1)",
    ] {
        assert_eq!(
            plan(&format!("WHERE {condition}")).unwrap_err().to_string(),
            overlap,
            "{condition}"
        );
    }
    for condition in [
        "pk = 'a' AND NOT sk = 1 OR pk = 'a' AND sk = 2",
        "pk = 'a' AND sk <> 1 OR pk = 'a' AND sk = 2",
        "pk = 'a' AND NOT sk IN [1, 3] OR pk = 'a' AND sk = 2",
        "pk = 'a' AND NOT (sk = 1) OR pk = 'a' AND sk = 2",
        "pk = 'a' OR pk = 'a' AND NOT sk = 1",
    ] {
        let plan = good(&format!("WHERE {condition}"));
        assert_eq!(plan.access, Access::Partitions(vec![whole("a")]), "{condition}");
    }
}

#[test]
fn filters_agree_with_the_whole_clause_on_what_was_read() {
    let text = "pk = 'a' AND sk > 1 AND sk < 4 AND (n = 1 OR n = 2)";
    let plan = good(&format!("WHERE {text}"));
    let filter = plan.filter.unwrap();
    for (sk, number, kept) in [(2, 1, true), (3, 2, true), (5, 1, false), (2, 3, false)] {
        let item = Item::from([("pk", "a".into()), ("sk", n(sk)), ("n", n(number))]);
        assert_eq!(filter.holds(&item), kept, "{sk} {number}");
    }
}

#[test]
fn order_is_that_of_the_keys() {
    let plan = good("WHERE pk = 'a' ORDER BY sk DESC");
    assert!(plan.descending);
    assert!(!good("WHERE pk = 'a' ORDER BY sk ASC").descending);
    let both = good("WHERE pk IN ['a', 'b'] AND sk IN [1, 2] ORDER BY pk DESC, sk DESC");
    let expected = vec![one("b", 2), one("b", 1), one("a", 2), one("a", 1)];
    assert_eq!(
        (both.access, both.descending),
        (Access::Partitions(expected), true)
    );
    for (rest, message) in [
        (
            "ORDER BY sk",
            "Must have WHERE clause in the statement when using ORDER BY clause.",
        ),
        (
            "WHERE n = 1 ORDER BY sk",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "WHERE pk = 'a' ORDER BY n",
            "Variable reference n in ORDER BY clause must be part of the primary key",
        ),
        (
            "WHERE pk IN ['a', 'b'] ORDER BY sk",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
    ] {
        assert_eq!(plan_refusal(rest), message, "{rest}");
    }
}

fn plan_refusal(rest: &str) -> String {
    plan(rest).unwrap_err().to_string()
}

#[test]
fn key_conditions_are_of_the_keys_types_and_of_no_part_of_them() {
    let mismatch = "Key attribute's data type should match its data type in table's schema: Key";
    assert_eq!(plan_refusal("WHERE pk = 1"), format!("{mismatch} pk"));
    assert_eq!(plan_refusal("WHERE pk IN ['a', 1]"), format!("{mismatch} pk"));
    assert_eq!(
        plan_refusal("WHERE pk = 'a' AND sk > 'x'"),
        format!("{mismatch} sk")
    );
    assert_eq!(
        plan_refusal("WHERE pk = 'a' AND begins_with(sk, '1')"),
        format!("{mismatch} sk")
    );
    assert_eq!(
        plan_refusal("WHERE pk = 'a' AND sk[0] = 1"),
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: sk"
    );
}

#[test]
fn a_single_item_is_known_by_its_key_alone() {
    let key = |text: &str| {
        let Statement::Select(select) = statement(text) else {
            panic!("{text}")
        };
        with_hash(|keys| select.key(keys)).unwrap()
    };
    assert_eq!(
        key("SELECT n FROM t WHERE pk = 'a'"),
        Some(Item::from([("pk", "a")]))
    );
    assert_eq!(key("SELECT n FROM t WHERE pk = 'a' AND n = 1"), None);
    assert_eq!(key("SELECT n FROM t WHERE pk IN ['a']"), None);
    assert_eq!(key("SELECT n FROM t.i WHERE pk = 'a'"), None);
    assert_eq!(key("SELECT n FROM t"), None);
}
