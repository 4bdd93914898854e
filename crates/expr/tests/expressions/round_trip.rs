//! Printed expressions parse to the original ones.

use proptest::prelude::*;
use trestle_expr::{
    Action, AttributeType, Comparator, Condition, KeyCondition, KeyOp, KeyTerm, Kind, Operand, Path,
    Placeholders, Printed, Projection, SetOperand, SetValue, Step, Update,
};
use trestle_item::AttributeValue;

use crate::cases::{list, n, numbers, s, strings};

fn path() -> impl Strategy<Value = Path> {
    let name =
        prop::sample::select(vec!["a", "b", "status", "a.b", "#x", "", "日本"]).prop_map(str::to_owned);
    let step = prop_oneof![
        name.clone().prop_map(Step::Name),
        (0_usize..20).prop_map(Step::Index)
    ];
    (name, prop::collection::vec(step, 0..4)).prop_map(|(attribute, steps)| Path { attribute, steps })
}

/// Only numbers, which are allowed wherever operands are.
fn number() -> impl Strategy<Value = AttributeValue> {
    (-9_i64..9).prop_map(AttributeValue::from)
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        path().prop_map(Operand::Path),
        number().prop_map(Operand::Value),
        path().prop_map(|path| Operand::Size(Box::new(Operand::Path(path)))),
    ]
}

fn comparator() -> impl Strategy<Value = Comparator> {
    prop::sample::select(vec![
        Comparator::Equal,
        Comparator::NotEqual,
        Comparator::Less,
        Comparator::LessOrEqual,
        Comparator::Greater,
        Comparator::GreaterOrEqual,
    ])
}

/// Simple conditions whose first operand differs from the others, as the parser requires.
fn simple() -> impl Strategy<Value = Condition> {
    let attribute_type = prop::sample::select(vec![AttributeType::S, AttributeType::Null, AttributeType::Bs]);
    let different = |(a, b): &(Operand, Operand)| a != b;
    prop_oneof![
        (
            (operand(), operand()).prop_filter("distinct", different),
            comparator()
        )
            .prop_map(|((left, right), comparator)| Condition::Compare {
                left,
                comparator,
                right
            }),
        (operand(), number()).prop_map(|(operand, bound)| Condition::Between {
            operand,
            low: Operand::Value(bound.clone()),
            high: Operand::Value(bound),
        }),
        (
            operand(),
            prop::collection::vec(number().prop_map(Operand::Value), 1..4)
        )
            .prop_map(|(operand, list)| Condition::In { operand, list }),
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::NotExists),
        (operand(), attribute_type).prop_map(|(operand, attribute_type)| Condition::HasType {
            operand,
            attribute_type
        }),
        path().prop_map(|path| Condition::BeginsWith {
            operand: Operand::Path(path),
            prefix: Operand::Value(s("prefix")),
        }),
        (operand(), operand())
            .prop_filter("distinct", different)
            .prop_map(|(operand, element)| Condition::Contains { operand, element }),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    simple().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Or),
            inner.prop_map(|negated| Condition::Not(Box::new(negated))),
        ]
    })
}

fn set_operand() -> impl Strategy<Value = SetOperand> {
    let leaf = prop_oneof![
        path().prop_map(SetOperand::Path),
        number().prop_map(SetOperand::Value)
    ];
    leaf.prop_recursive(2, 4, 1, |inner| {
        (path(), inner)
            .prop_filter("distinct", |(path, other)| {
                *other != SetOperand::Path(path.clone())
            })
            .prop_map(|(path, other)| SetOperand::IfNotExists(path, Box::new(other)))
    })
}

fn set_value() -> impl Strategy<Value = SetValue> {
    let lists = prop_oneof![
        path().prop_map(SetOperand::Path),
        Just(SetOperand::Value(list([n("1")])))
    ];
    prop_oneof![
        set_operand().prop_map(SetValue::Operand),
        (set_operand(), set_operand()).prop_map(|(left, right)| SetValue::Plus(left, right)),
        (set_operand(), set_operand()).prop_map(|(left, right)| SetValue::Minus(left, right)),
        (lists.clone(), lists).prop_map(|(first, second)| SetValue::ListAppend(first, second)),
    ]
}

/// Actions by section, on targets that do not overlap.
fn actions() -> impl Strategy<Value = Vec<Action>> {
    let target = |section: &'static str, at: usize| Path {
        attribute: format!("{section}{at}"),
        steps: vec![Step::Index(at), Step::Name("x.y".to_owned())],
    };
    let added = prop_oneof![number(), Just(numbers(&["1", "2"]))];
    (
        prop::collection::vec(set_value(), 0..4),
        0_usize..3,
        prop::collection::vec(added, 0..3),
        prop::collection::vec(Just(strings(&["a"])), 0..3),
    )
        .prop_map(move |(set, removed, added, deleted)| {
            let numbered = |values: Vec<AttributeValue>| values.into_iter().enumerate();
            set.into_iter()
                .enumerate()
                .map(|(at, value)| Action::Set(target("set", at), value))
                .chain((0..removed).map(|at| Action::Remove(target("remove", at))))
                .chain(numbered(added).map(|(at, value)| Action::Add(target("add", at), value)))
                .chain(numbered(deleted).map(|(at, value)| Action::Delete(target("delete", at), value)))
                .collect()
        })
        .prop_filter("at least one", |actions: &Vec<Action>| !actions.is_empty())
}

fn key_op() -> impl Strategy<Value = KeyOp> {
    prop_oneof![
        number().prop_map(KeyOp::Eq),
        number().prop_map(KeyOp::Lt),
        number().prop_map(KeyOp::Le),
        number().prop_map(KeyOp::Gt),
        number().prop_map(KeyOp::Ge),
        number().prop_map(|bound| KeyOp::Between(bound.clone(), bound)),
        Just(KeyOp::BeginsWith(s("prefix"))),
    ]
}

/// Parses a printed expression, and checks that it needs every placeholder.
fn reparse<T, E: std::fmt::Debug>(
    printed: &Printed,
    parse: impl FnOnce(&str, &mut Placeholders<'_>) -> Result<T, E>,
) -> T {
    let names = (!printed.names.is_empty()).then_some(&printed.names);
    let values = (!printed.values.is_empty()).then_some(&printed.values);
    let mut placeholders = Placeholders::new(names, values);
    let parsed = parse(&printed.text, &mut placeholders).unwrap();
    placeholders.finish().unwrap();
    parsed
}

proptest! {
    #[test]
    fn conditions_survive_printing(condition in condition()) {
        let again = reparse(&condition.print(), |text, p| Condition::parse(Kind::Condition, text, p));
        prop_assert_eq!(again, condition);
    }

    #[test]
    fn updates_survive_printing(actions in actions()) {
        let update = Update::new(actions);
        let again = reparse(&update.print(), Update::parse);
        prop_assert_eq!(again, update);
    }

    #[test]
    fn projections_survive_printing(tails in prop::collection::vec(path(), 1..6)) {
        // Below different attributes, so that they cannot overlap.
        let paths = tails.into_iter().enumerate().map(|(at, tail)| Path { attribute: format!("p{at}"), ..tail });
        let projection = Projection::new(paths.collect()).unwrap();
        let again = reparse(&projection.print(), Projection::parse);
        prop_assert_eq!(again, projection);
    }

    #[test]
    fn key_conditions_survive_printing(ops in prop::collection::vec(key_op(), 1..5)) {
        let terms = ops.into_iter().enumerate().map(|(at, op)| KeyTerm { attribute: format!("key.{at}"), op });
        let condition = KeyCondition { terms: terms.collect() };
        let again = reparse(&condition.print(), KeyCondition::parse);
        prop_assert_eq!(again, condition);
    }
}

#[test]
fn a_printed_expression_uses_one_placeholder_for_each_name() {
    let condition =
        crate::cases::condition("a.b = :s AND a.#status = :n OR NOT (a = :s AND b > :n)").unwrap();
    assert_eq!(
        condition.print().text,
        "#n0.#n1 = :v0 AND #n0.#n2 = :v1 OR NOT (#n0 = :v2 AND #n1 > :v3)"
    );
}
