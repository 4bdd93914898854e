//! The truth of conditions on an item with one attribute of each type.

use trestle_item::Map;

use crate::cases::{condition, item};

fn check(table: &[(&str, bool)]) {
    let item = item();
    for (text, expected) in table {
        assert_eq!(condition(text).unwrap().holds(&item), *expected, "{text}");
    }
}

#[test]
fn values_equal_only_values_of_their_own_type() {
    check(&[
        ("x = :s", true),
        ("x = :n", false),
        ("x <> :n", true),
        ("x <> :s", false),
        ("one = :n", true),
        ("nothing = :null", true),
        ("nothing <> :null", false),
        ("yes = :bool", true),
        ("l[2] = :l", true),
        ("m = :m", false),
        ("ss = :ss", true),
        ("bin = :b", true),
        ("x = m.k", true),
        (":n = :n", true),
    ]);
}

#[test]
fn what_is_missing_equals_nothing_and_differs_from_everything() {
    check(&[
        ("gone = :s", false),
        ("gone = :null", false),
        ("gone <> :s", true),
        ("gone <> gone2", true),
        ("gone < :s", false),
        ("NOT gone < :s", true),
        ("gone IN (:s)", false),
        ("gone BETWEEN :s AND :s2", false),
        ("size(gone) = :n", false),
        ("size(gone) <> :n", true),
        ("begins_with(gone, :s)", false),
        ("contains(gone, :s)", false),
        ("attribute_type(gone, :S)", false),
    ]);
}

#[test]
fn only_values_of_one_ordered_type_have_an_order() {
    check(&[
        ("five > :n", true),
        ("five <= one", false),
        ("x < :s2", true),
        ("x >= :s", true),
        ("bin < :b1", true),
        ("x < five", false),
        ("x > five", false),
        ("yes < five", false),
        ("five BETWEEN :n AND :n4", false),
        ("five BETWEEN one AND x", false),
        ("x BETWEEN :s AND :s2", true),
        ("l < ss", false),
    ]);
}

#[test]
fn membership_and_prefixes_look_into_text_bytes_sets_and_lists() {
    check(&[
        ("x IN (:n, :s)", true),
        ("nothing IN (:n, :null)", true),
        ("l[2] IN (:l)", true),
        ("contains(x, :s)", true),
        ("contains(x, :empty)", true),
        ("contains(bin, :b1)", true),
        ("contains(ss, :S)", false),
        ("contains(ns, :n)", true),
        ("contains(bs, :b)", true),
        ("contains(l, :n)", true),
        ("contains(l, :l)", true),
        ("contains(ss, :ss)", false),
        ("contains(m, :s)", false),
        ("contains(five, :n)", false),
        ("contains(:s, x)", true),
        ("begins_with(x, :s)", true),
        ("begins_with(x, :empty)", true),
        ("begins_with(bin, :b)", true),
        ("begins_with(x, :b)", false),
        ("begins_with(five, :s)", false),
    ]);
}

#[test]
fn size_counts_utf16_units_bytes_or_elements() {
    check(&[
        ("size(txt) = :n4", true),
        ("size(bin) > :n2", true),
        ("size(l) > size(m)", true),
        ("size(m) = :n2", true),
        ("size(ss) = :n2", true),
        ("size(bs) = :n", true),
        ("size(m.l) < :n", true),
        ("size(five) = :n", false),
        ("size(nothing) <> :n", true),
        ("size(:s) = :n", true),
    ]);
}

#[test]
fn existence_and_type_are_asked_of_nested_paths_too() {
    check(&[
        ("attribute_exists(nothing)", true),
        ("attribute_exists(m.k)", true),
        ("attribute_not_exists(m.z)", true),
        ("attribute_exists(l[2][0])", true),
        ("attribute_exists(l[9])", false),
        ("attribute_exists(x.k)", false),
        ("attribute_exists(x[0])", false),
        ("attribute_exists(m[0])", false),
        ("attribute_type(ss, :SS)", true),
        ("attribute_type(nothing, :NULL)", true),
        ("attribute_type(l[1], :S)", false),
        ("#l[1] = :n", true),
        ("m.#k = :s", true),
    ]);
}

#[test]
fn not_binds_before_and_and_and_before_or() {
    check(&[
        ("x = :s OR x = :s AND gone = :s", true),
        ("(x = :s OR x = :s) AND gone = :s", false),
        ("NOT x = :s OR x = :s", true),
        ("NOT (x = :s OR x = :s)", false),
        ("NOT NOT x = :s", true),
        ("x = :s and not gone = :s", true),
    ]);
}

#[test]
fn a_condition_can_be_asked_of_no_item() {
    let holds = |text: &str| condition(text).unwrap().holds(&Map::new());
    assert!(holds("attribute_not_exists(pk)"));
    assert!(holds("a <> :s OR b < :s"));
    assert!(!holds("a = :s"));
}

#[test]
fn a_condition_names_the_attributes_it_looks_at() {
    let condition =
        condition("a.b = :s AND (size(c[0]) > d OR NOT e IN (:s, f)) AND attribute_exists(#dot)").unwrap();
    assert_eq!(
        condition.attributes().collect::<Vec<_>>(),
        ["a", "c", "d", "e", "f", "a.b"]
    );
    assert_eq!(
        condition.paths().iter().filter(|path| path.is_nested()).count(),
        2
    );
}
