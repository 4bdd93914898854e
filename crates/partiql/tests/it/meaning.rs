//! What accepted statements do to items.

use crate::{bind, statement, with_hash};
use trestle_item::{AttributeValue, Item, Number};
use trestle_partiql::{Returning, Statement};

fn n(number: i64) -> AttributeValue {
    AttributeValue::from(number)
}

fn sample() -> Item {
    Item::from([
        ("pk", AttributeValue::from("a")),
        ("n", n(10)),
        ("s", AttributeValue::from("str")),
        ("flag", AttributeValue::from(true)),
        ("nul", AttributeValue::Null),
        (
            "ss",
            AttributeValue::string_set(vec!["a".into(), "b".into()]).unwrap(),
        ),
        (
            "l",
            AttributeValue::L(vec![
                n(1),
                AttributeValue::from("x"),
                Item::from([("q", "qq")]).into(),
            ]),
        ),
        (
            "m",
            Item::from([
                ("x", AttributeValue::from("y")),
                ("d", Item::from([("e", n(5))]).into()),
            ])
            .into(),
        ),
        ("order", AttributeValue::from("o")),
    ])
}

fn holds(condition: &str) -> bool {
    let Statement::Select(select) = statement(&format!("SELECT * FROM t WHERE {condition}")) else {
        panic!()
    };
    select.condition.unwrap().holds(&sample())
}

#[test]
fn conditions_mean_what_they_say() {
    for condition in [
        "n = 10",
        "10 = n",
        "n <> 11 AND n != 12",
        "n BETWEEN 1 AND 10",
        "NOT n NOT BETWEEN 1 AND 10",
        "n NOT IN [1, 2]",
        "n IN (10, 20)",
        "n IN (10)",
        "flag IN (true)",
        "n IN (m.d.e, 10)",
        "n IN <<10>>",
        "n = 1e1 AND n = .1e2 AND n > -5 AND n < +11",
        "n = 11 OR s = 'str' AND flag = true",
        "NOT (n = 11 OR s = 'x')",
        "NOT NOT n = 10",
        "m.x = 'y' AND m['x'] = 'y' AND \"m\".\"x\" = 'y' AND (m).x = 'y'",
        "l[0] = 1 AND l[2].q = 'qq'",
        "ss = <<'b', 'a'>>",
        "m.d = {'e': 5}",
        "l = [1, 'x', {'q': 'qq'}]",
        "\"order\" = 'o'",
        "begins_with(s, 'st') AND BEGINS_WITH(\"s\", 'st')",
        "contains(s, 't') AND contains(ss, 'a') AND contains(l, 1)",
        "size(s) = 3 AND size(l) BETWEEN 3 AND 4",
        "attribute_type(ss, 'SS') AND attribute_exists(m.d) AND attribute_not_exists(m.nope)",
        "attribute_exists(ss) = true AND attribute_exists(nope) = false AND (n = 11) <> true",
        "nul IS NULL AND s IS NOT NULL AND nope IS NOT NULL",
        "nope IS MISSING AND s IS NOT MISSING",
        "flag IS BOOL AND s IS STRING AND n IS NUMERIC AND m IS STRUCT AND m IS TUPLE AND l IS LIST",
        "'x' IS STRING AND NOT 1 IS STRING",
        "nul = null",
    ] {
        assert!(holds(condition), "{condition}");
        assert!(!holds(&format!("NOT ({condition})")), "{condition}");
    }
}

#[test]
fn parameters_take_the_places_of_their_marks() {
    let text = "SELECT * FROM t WHERE n = ? AND s IN [?, '?'] -- ?";
    let Statement::Select(select) = bind(text, &[n(10), "str".into()]).unwrap() else {
        panic!()
    };
    assert!(select.condition.unwrap().holds(&sample()));
}

#[test]
fn columns_answer_under_their_last_names() {
    let text = "SELECT pk, m.x, l[0], l[2].q, m.d.e, nope FROM t WHERE pk = 'a'";
    let Statement::Select(select) = statement(text) else {
        panic!()
    };
    let answer = select.projection.unwrap().apply(&sample());
    let expected = Item::from([
        ("pk", AttributeValue::from("a")),
        ("x", "y".into()),
        ("l[0]", n(1)),
        ("q", "qq".into()),
        ("e", n(5)),
    ]);
    assert_eq!(answer, expected);
}

#[test]
fn an_insertion_holds_every_type_a_literal_can_have() {
    let text = "INSERT INTO \"t\" VALUE {'pk': 'it''s', 'n': - 1.50, 'e': 7.32e6, 'l': [1, '2', []], 'm': {}, \
                'z': null, 't': true, 'ns': <<2, 1>>, 'ss': <<'x'>>, 'p': (1, 2), 'b': ?};";
    let Statement::Insert(insert) = bind(text, &[vec![1u8].into()]).unwrap() else {
        panic!()
    };
    let number = |text: &str| Number::parse(text).unwrap();
    let expected = Item::from([
        ("pk", AttributeValue::from("it's")),
        ("n", number("-1.5").into()),
        ("e", n(7_320_000)),
        (
            "l",
            AttributeValue::L(vec![n(1), "2".into(), AttributeValue::L(vec![])]),
        ),
        ("m", Item::new().into()),
        ("z", AttributeValue::Null),
        ("t", true.into()),
        (
            "ns",
            AttributeValue::number_set(vec![number("1"), number("2")]).unwrap(),
        ),
        ("ss", AttributeValue::string_set(vec!["x".into()]).unwrap()),
        ("p", AttributeValue::L(vec![n(1), n(2)])),
        ("b", vec![1u8].into()),
    ]);
    assert_eq!(insert.item, expected);
    assert!(with_hash(|keys| insert.check(keys)).is_ok());
    assert!(!with_hash(|keys| insert.condition(keys)).holds(&expected));
}

fn updated(changes: &str) -> Item {
    let text = format!("UPDATE t {changes} WHERE pk = 'a'");
    let Statement::Update(change) = statement(&text) else {
        panic!("{text}")
    };
    let mut item = sample();
    change
        .update
        .apply(&mut item)
        .unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    item
}

#[test]
fn assignments_compute_from_the_item_as_it_was() {
    for (value, result) in [
        ("n + 1", 11),
        ("1 + n", 11),
        ("n - 1", 9),
        ("n + -1", 9),
        ("(n + 1)", 11),
        ("n + 1 + 1", 12),
        ("n - 1 - 1", 8),
        ("n - 1 + 5", 14),
        ("2 + 3", 5),
        ("if_not_exists(q, 7) + 1", 8),
        ("m.d.e", 5),
    ] {
        assert_eq!(
            updated(&format!("SET n = {value}")).get("n"),
            Some(&n(result)),
            "{value}"
        );
    }
    let both = updated("SET a = n SET n = 1, m.x = 'z' REMOVE l[0] REMOVE s");
    assert_eq!(both.get("a"), Some(&n(10)));
    assert_eq!(both.get("n"), Some(&n(1)));
    assert_eq!(both.get("s"), None);
    assert_eq!(
        updated("SET l = list_append([0], l)")
            .get("l")
            .map(|l| matches!(l, AttributeValue::L(l) if l.len() == 4)),
        Some(true)
    );
}

#[test]
fn sets_grow_and_shrink() {
    let set = |members: &[&str]| {
        AttributeValue::string_set(members.iter().map(|member| (*member).to_owned()).collect()).unwrap()
    };
    assert_eq!(
        updated("SET ss = set_add(ss, <<'c', 'a'>>)").get("ss"),
        Some(&set(&["a", "b", "c"]))
    );
    assert_eq!(
        updated("SET ss = SET_DELETE(ss, <<'a'>>)").get("ss"),
        Some(&set(&["b"]))
    );
    assert_eq!(updated("SET ss = set_delete(ss, <<'a', 'b'>>)").get("ss"), None);
    assert_eq!(
        updated("SET new_set = set_add(new_set, <<'a'>>)").get("new_set"),
        Some(&set(&["a"]))
    );
}

#[test]
fn an_update_needs_its_item_and_a_deletion_does_not() {
    let other = Item::from([("pk", AttributeValue::from("a")), ("n", n(2))]);
    let texts = [
        "UPDATE t SET z = 1 WHERE pk = 'a' AND n = 10",
        "FROM t WHERE n = 10 AND 'a' = pk SET z = 1",
    ];
    for text in texts {
        let Statement::Update(change) = statement(text) else {
            panic!("{text}")
        };
        let target = with_hash(|keys| change.target(keys)).unwrap();
        assert_eq!(target.key, Item::from([("pk", "a")]));
        let condition = target.condition.unwrap();
        assert!(condition.holds(&sample()) && !condition.holds(&other) && !condition.holds(&Item::new()));
    }
    let Statement::Delete(delete) = statement("DELETE FROM t WHERE pk = 'a' AND n = 10") else {
        panic!()
    };
    let condition = with_hash(|keys| delete.target(keys)).unwrap().condition.unwrap();
    assert!(condition.holds(&sample()) && !condition.holds(&other) && condition.holds(&Item::new()));
    let Statement::Delete(delete) = statement("DELETE FROM t WHERE pk = 'a'") else {
        panic!()
    };
    assert_eq!(with_hash(|keys| delete.target(keys)).unwrap().condition, None);
}

#[test]
fn returning_names_an_image() {
    for (clause, returning) in [
        ("ALL OLD", Returning::AllOld),
        ("ALL NEW", Returning::AllNew),
        ("MODIFIED OLD", Returning::ModifiedOld),
        ("modified new", Returning::ModifiedNew),
    ] {
        let text = format!("UPDATE t SET a = 1 WHERE pk = 'a' RETURNING {clause} *");
        let Statement::Update(change) = statement(&text) else {
            panic!()
        };
        assert_eq!(change.returning, Some(returning));
    }
    let Statement::Delete(delete) = statement("DELETE FROM t WHERE pk = 'a' RETURNING ALL OLD *") else {
        panic!()
    };
    assert!(delete.returning);
}
