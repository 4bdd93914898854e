use trestle_item::{AttributeValue, Item, Map, size};

fn of_number(text: &str) -> usize {
    size::of_value(&AttributeValue::N(text.parse().unwrap()))
}

#[test]
fn a_number_takes_a_byte_for_each_pair_of_digits_around_the_point() {
    let cases = [
        ("0", 1),
        ("1", 2),
        ("-1", 3),
        ("12", 2),
        ("123", 3),
        ("100", 2),
        ("1000", 2),
        ("1.2", 3),
        ("1.23", 3),
        ("12.34", 3),
        ("12.5", 3),
        ("0.01", 2),
        ("0.012", 3),
        ("0.001", 2),
        ("-123.456", 6),
        ("1E125", 2),
        ("1E-130", 2),
        ("12345678901234567890123456789012345678", 20),
        ("1.2345678901234567890123456789012345678", 21),
    ];
    for (text, expected) in cases {
        assert_eq!(of_number(text), expected, "{text}");
    }
}

#[test]
fn text_counts_its_utf8_bytes_and_names_count_too() {
    assert_eq!(size::of_value(&"é€".into()), 5);
    assert_eq!(size::of_item(&Item::from([("pk", "abc"), ("é", "")])), 2 + 3 + 2);
}

#[test]
fn containers_cost_three_bytes_and_one_for_each_element() {
    let map = Map::from([("ab", AttributeValue::from("cd")), ("e", true.into())]);
    assert_eq!(size::of_value(&Map::new().into()), 3);
    assert_eq!(size::of_value(&map.into()), 3 + (1 + 2 + 2) + (1 + 1 + 1));
    assert_eq!(size::of_value(&AttributeValue::L(vec![])), 3);
    assert_eq!(
        size::of_value(&AttributeValue::L(vec!["ab".into(), AttributeValue::Null])),
        3 + (1 + 2) + (1 + 1)
    );
}

#[test]
fn sets_cost_what_their_members_cost() {
    assert_eq!(
        size::of_value(&AttributeValue::Ss(vec!["a".into(), "bcd".into()])),
        4
    );
    assert_eq!(
        size::of_value(&AttributeValue::Ns(vec![
            "-12".parse().unwrap(),
            "1".parse().unwrap()
        ])),
        5
    );
    assert_eq!(size::of_value(&AttributeValue::Bs(vec![vec![], vec![1, 2]])), 2);
}
