//! Any text is an expression or a mistake; an expression can be evaluated, and printed so that it means the same.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use trestle_expr::{Condition, KeyCondition, Kind, Placeholders, Projection, Update};
use trestle_item::{AttributeValue, Item};

fuzz_target!(|text: &str| {
    let names = BTreeMap::from([("#a".to_owned(), "a".to_owned()), ("#b".to_owned(), "b.c".to_owned())]);
    let values = Item::from([
        (":n", AttributeValue::from(1i64)),
        (":s", AttributeValue::from("text")),
        (":l", AttributeValue::L(vec![AttributeValue::Null])),
    ]);
    let item = Item::from([("a", AttributeValue::from(5i64)), ("b.c", AttributeValue::from("b"))]);
    let placeholders = || Placeholders::new(Some(&names), Some(&values));

    if let Ok(condition) = Condition::parse(Kind::Condition, text, &mut placeholders()) {
        let printed = condition.print();
        let mut again = Placeholders::new(Some(&printed.names), Some(&printed.values));
        let parsed = Condition::parse(Kind::Condition, &printed.text, &mut again);
        assert_eq!(parsed.as_ref(), Ok(&condition), "{}", printed.text);
        let _ = condition.holds(&item);
    }
    if let Ok(update) = Update::parse(text, &mut placeholders()) {
        let _ = update.apply(&mut item.clone());
        let _ = update.updated(&item);
    }
    if let Ok(projection) = Projection::parse(text, &mut placeholders()) {
        let _ = projection.apply(&item);
    }
    let _ = KeyCondition::parse(text, &mut placeholders());
});
