//! Any text is a statement or a mistake; a SELECT finds exactly the items for which its WHERE clause holds,
//! with any plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trestle_expr::{KeyAttribute, KeyOp, KeySelection};
use trestle_item::{AttributeValue, Item, ScalarType, key};
use trestle_partiql::{Access, Keys, Select, Statement, parse};

fuzz_target!(|text: &str| {
    let Ok(parsed) = parse(text) else { return };
    let parameters: Vec<AttributeValue> = vec!["a".into(), 1i64.into(), 2i64.into()];
    let keys = [attribute("pk", ScalarType::S), attribute("sk", ScalarType::N)];
    let Ok(keys) = Keys::new(&keys[..1], &keys[1..]) else { return };
    let Ok(statement) = parsed.bind(&parameters).or_else(|_| parsed.bind(&[])) else { return };
    assert_eq!(parsed.is_read(), matches!(statement, Statement::Select(_)), "roles of keys depend on it");
    match statement {
        Statement::Select(select) => finds_what_holds(&select, keys),
        Statement::Insert(insert) => {
            let _ = insert.check(keys);
            let _ = insert.condition(keys);
        }
        Statement::Update(change) => {
            let _ = change.target(keys);
            items().for_each(|mut item| drop(change.update.apply(&mut item)));
        }
        Statement::Delete(delete) => drop(delete.target(keys)),
        Statement::Exists(select) => drop(select.exists(keys)),
    }
});

fn attribute(name: &str, kind: ScalarType) -> KeyAttribute {
    let name = name.to_owned();
    KeyAttribute { name, kind }
}

fn items() -> impl Iterator<Item = Item> {
    let keys = ["", "a", "ab", "b"].into_iter().flat_map(|pk| [-1i64, 0, 1, 2, 10].map(|sk| (pk, sk)));
    keys.map(|(pk, sk)| Item::from([("pk", AttributeValue::from(pk)), ("sk", sk.into()), ("c", sk.into())]))
}

fn finds_what_holds(select: &Select, keys: Keys<'_>) {
    let _ = select.key(keys);
    let Ok(plan) = select.plan(keys) else { return };
    for item in items() {
        let is_wanted = select.condition.as_ref().is_none_or(|condition| condition.holds(&item));
        let times_reached = match &plan.access {
            Access::Scan => 1,
            Access::Partitions(stretches) => stretches.iter().filter(|stretch| has(stretch, &item)).count(),
        };
        assert!(times_reached <= 1, "stretches overlap at {item:?}: {plan:?}");
        let passes = plan.filter.as_ref().is_none_or(|filter| filter.holds(&item));
        assert_eq!(times_reached == 1 && passes, is_wanted, "{item:?}: {plan:?}");
    }
}

fn has(stretch: &KeySelection, item: &Item) -> bool {
    let (Some(pk), Some(sk)) = (item.get("pk"), item.get("sk")) else { panic!("{item:?} has no key") };
    let sort = stretch.range_equal.iter().all(|value| value == sk);
    stretch.hash == [pk.clone()] && sort && stretch.range_last.as_ref().is_none_or(|op| fits(op, sk))
}

/// Compares key bytes, which sort as the values do.
fn fits(op: &KeyOp, value: &AttributeValue) -> bool {
    let at = bytes(value);
    match op {
        KeyOp::Eq(other) => at == bytes(other),
        KeyOp::Lt(other) => at < bytes(other),
        KeyOp::Le(other) => at <= bytes(other),
        KeyOp::Gt(other) => at > bytes(other),
        KeyOp::Ge(other) => at >= bytes(other),
        KeyOp::Between(low, high) => bytes(low) <= at && at <= bytes(high),
        KeyOp::BeginsWith(_) => false,
    }
}

fn bytes(value: &AttributeValue) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(key::encode_component(value, &mut bytes).is_some(), "{value:?} is in a key selection");
    bytes
}
