use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use trestle_item::{AttributeValue, Item, Map, NESTING_MAX};

use crate::generate::{nested, number, text};

#[test]
fn sets_refuse_emptiness_and_duplicates_in_dynamodbs_words() {
    let prefix = "One or more parameter values were invalid: ";
    let cases = [
        (
            AttributeValue::string_set(vec![]),
            format!("{prefix}An string set  may not be empty"),
        ),
        (
            AttributeValue::number_set(vec![]),
            format!("{prefix}An number set  may not be empty"),
        ),
        (
            AttributeValue::binary_set(vec![]),
            format!("{prefix}Binary sets should not be empty"),
        ),
        (
            AttributeValue::string_set(vec!["b".into(), "a".into(), "b".into()]),
            format!("{prefix}Input collection [b, a, b] contains duplicates."),
        ),
        (
            AttributeValue::number_set(vec!["1".parse().unwrap(), "1.0".parse().unwrap()]),
            "Input collection contains duplicates".to_owned(),
        ),
        (
            AttributeValue::binary_set(vec![b"b".to_vec(), b"b".to_vec()]),
            format!("{prefix}Input collection [Yg==, Yg==]of type BS contains duplicates."),
        ),
    ];
    for (result, message) in cases {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}

#[test]
fn the_item_counts_as_the_first_level_of_nesting() {
    assert!(Item::from([("a", nested(NESTING_MAX - 1))]).is_within_nesting_limit());
    assert!(!Item::from([("a", nested(NESTING_MAX))]).is_within_nesting_limit());
}

#[test]
fn values_of_different_types_have_no_order() {
    assert_eq!(AttributeValue::from("1").compare(&1i64.into()), None);
    assert_eq!(AttributeValue::Null.compare(&AttributeValue::Null), None);
}

proptest! {
    #[test]
    fn equal_sets_are_equal_in_any_order(mut members in vec(number(), 1..8)) {
        members.sort();
        members.dedup();
        let backwards = members.iter().rev().copied().collect();
        prop_assert_eq!(AttributeValue::number_set(members), AttributeValue::number_set(backwards));
    }

    #[test]
    fn a_map_behaves_as_a_sorted_map(
        model in btree_map(text(), any::<i64>(), 0..12), extra in text(), order in any::<prop::sample::Index>()
    ) {
        let mut pairs: Vec<_> = model.clone().into_iter().collect();
        let turn = order.index(pairs.len() + 1).min(pairs.len());
        pairs.rotate_left(turn);
        let mut map = Map::from_iter(pairs);
        prop_assert!(map.keys().eq(model.keys()));
        prop_assert_eq!(map.get(&extra).cloned(), model.get(&extra).map(|value| AttributeValue::from(*value)));
        map.insert(extra.clone(), "new");
        prop_assert_eq!(map.remove(&extra), Some("new".into()));
        prop_assert!(!map.contains_key(&extra));
        prop_assert!(map.keys().is_sorted());
    }
}
