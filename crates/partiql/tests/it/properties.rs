//! Claims about all statements and values.

use proptest::prelude::*;
use trestle_item::{AttributeValue, Map, Number};
use trestle_partiql::{Statement, literal, parse, quoted_name};

use crate::{bind, with_composite};

/// Values that have a literal.
fn value() -> impl Strategy<Value = AttributeValue> {
    let number = ("-?[1-9][0-9]{0,20}(\\.[0-9]{0,10}[1-9])?").prop_map(|text| Number::parse(&text).unwrap());
    let numbers = proptest::collection::btree_set(-1000i64..1000, 1..5)
        .prop_map(|set| AttributeValue::number_set(set.into_iter().map(Number::from).collect()).unwrap());
    let texts = proptest::collection::btree_set(any::<String>(), 1..5)
        .prop_map(|set| AttributeValue::string_set(set.into_iter().collect()).unwrap());
    let scalar = prop_oneof![
        any::<String>().prop_map(AttributeValue::S),
        number.prop_map(AttributeValue::N),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null),
        numbers,
        texts,
    ];
    scalar.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(AttributeValue::L),
            proptest::collection::btree_map("\\PC{1,6}", inner, 0..5)
                .prop_map(|members| AttributeValue::M(members.into_iter().collect::<Map>())),
        ]
    })
}

/// Words and signs in any order: nonsense that looks like PartiQL.
fn jumble() -> impl Strategy<Value = String> {
    let words = [
        "SELECT",
        "*",
        "FROM",
        "\"t\"",
        "t",
        ".",
        "i",
        "WHERE",
        "pk",
        "sk",
        "=",
        "<>",
        "<",
        ">=",
        "'a'",
        "1",
        "-1",
        "1e9",
        "?",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS",
        "MISSING",
        "NULL",
        "LIKE",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<<",
        ">>",
        ",",
        ":",
        ";",
        "INSERT",
        "INTO",
        "VALUE",
        "UPDATE",
        "SET",
        "REMOVE",
        "DELETE",
        "RETURNING",
        "ALL",
        "OLD",
        "NEW",
        "ORDER",
        "BY",
        "DESC",
        "EXISTS",
        "size",
        "begins_with",
        "set_add",
        "list_append",
        "+",
        "-",
        "||",
        "true",
        "key",
        "--",
        "/*",
        "*/",
        "`1`",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..30)
        .prop_map(|words| words.join(" "))
}

/// Takes a statement through every step that can refuse it.
fn run(text: &str) {
    let Ok(statement) = bind(text, &[AttributeValue::from("a"), AttributeValue::from(1i64)]) else {
        return;
    };
    with_composite(|keys| match statement {
        Statement::Select(select) | Statement::Exists(select) => {
            let _ = (select.plan(keys), select.key(keys), select.exists(keys));
        }
        Statement::Insert(insert) => drop(insert.check(keys)),
        Statement::Update(change) => drop(change.target(keys)),
        Statement::Delete(delete) => drop(delete.target(keys)),
    });
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        run(&text);
    }

    #[test]
    fn no_jumble_of_words_makes_any_step_panic(text in jumble()) {
        run(&text);
        run(&format!("SELECT * FROM t WHERE {text}"));
        run(&format!("UPDATE t SET a = {text} WHERE pk = 'a' AND sk = 1"));
        run(&format!("INSERT INTO t VALUE {{'pk': {text}}}"));
    }

    #[test]
    fn printed_literals_read_back_as_the_same_value(value in value()) {
        let text = format!("INSERT INTO t VALUE {{'v': {}}}", literal(&value).unwrap());
        let Statement::Insert(insert) = bind(&text, &[]).unwrap() else { panic!("{text}") };
        prop_assert_eq!(insert.item.get("v"), Some(&value));
    }

    #[test]
    fn quoted_names_read_back_as_the_same_name(name in ".{1,20}") {
        let parsed = parse(&format!("DELETE FROM {}", quoted_name(&name))).unwrap();
        prop_assert_eq!(parsed.table(), name);
    }

    #[test]
    fn a_plan_finds_what_the_clause_describes(pk in "[ab]", sk in 0i64..4, n in 0i64..3, clause in clause()) {
        let item = Map::from([
            ("pk", AttributeValue::S(pk)), ("sk", AttributeValue::from(sk)), ("n", AttributeValue::from(n)),
        ]);
        let Statement::Select(select) = bind(&format!("SELECT * FROM t WHERE {clause}"), &[]).unwrap() else {
            panic!("{clause}")
        };
        let Ok(plan) = with_composite(|keys| select.plan(keys)) else { return Ok(()) };
        let reached = reached(&plan.access, &item);
        prop_assert!(reached < 2, "found twice: {}", clause);
        let found = reached == 1 && plan.filter.is_none_or(|filter| filter.holds(&item));
        prop_assert_eq!(found, select.condition.unwrap().holds(&item), "{}", clause);
    }
}

/// Clauses over two keys and another attribute.
fn clause() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "pk = '[ab]'",
        "pk IN \\['[ab]', '[ab]'\\]",
        "sk (=|<|<=|>|>=|<>) [0-3]",
        "sk BETWEEN [01] AND [23]",
        "sk IN \\[[0-3], [0-3]\\]",
        "n (=|<>|<) [0-2]",
        "NOT sk = [0-3]",
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let joined =
            |with: &'static str| move |parts: Vec<String>| format!("({})", parts.join(&format!(" {with} ")));
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(joined("AND")),
            proptest::collection::vec(inner, 1..4).prop_map(joined("OR")),
        ]
    })
}

/// In how many stretches an item is.
fn reached(access: &trestle_partiql::Access, item: &Map) -> usize {
    use trestle_expr::KeyOp::{BeginsWith, Between, Eq, Ge, Gt, Le, Lt};
    let trestle_partiql::Access::Partitions(selections) = access else {
        return 1;
    };
    let number = |value: &AttributeValue| *value.as_n().unwrap();
    let sort = number(item.get("sk").unwrap());
    let within = |op: &trestle_expr::KeyOp| match op {
        Eq(value) => sort == number(value),
        Lt(value) => sort < number(value),
        Le(value) => sort <= number(value),
        Gt(value) => sort > number(value),
        Ge(value) => sort >= number(value),
        Between(low, high) => number(low) <= sort && sort <= number(high),
        BeginsWith(_) => false,
    };
    let holds = |selection: &&trestle_expr::KeySelection| {
        item.get("pk") == selection.hash.first()
            && selection
                .range_equal
                .first()
                .is_none_or(|value| sort == number(value))
            && selection.range_last.as_ref().is_none_or(within)
    };
    selections.iter().filter(holds).count()
}
