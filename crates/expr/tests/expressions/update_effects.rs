//! The results of updates on an item.

use trestle_item::{AttributeValue, Map};

use crate::cases::{bytes, item, list, n, numbers, s, strings, update};

/// The value of one attribute of the shared item after the update.
fn after(text: &str, attribute: &str) -> Option<AttributeValue> {
    let mut changed = item();
    update(text)
        .unwrap()
        .apply(&mut changed)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    changed.get(attribute).cloned()
}

fn check(table: &[(&str, &str, Option<AttributeValue>)]) {
    for (text, attribute, expected) in table {
        assert_eq!(after(text, attribute), *expected, "{text}");
    }
}

#[test]
fn set_puts_values_sums_and_lists() {
    check(&[
        ("SET a = :s", "a", Some(s("x"))),
        ("SET a = five", "a", Some(n("5"))),
        ("SET five = five + :n", "five", Some(n("6"))),
        ("SET five = :n - five", "five", Some(n("-4"))),
        ("SET a = if_not_exists(gone, five) + :n", "a", Some(n("6"))),
        ("SET x = if_not_exists(x, :s2)", "x", Some(s("x"))),
        ("SET a = list_append(l[2], :l)", "a", Some(list([s("q"), s("q")]))),
        (
            "SET a = list_append(if_not_exists(gone, :l), :l)",
            "a",
            Some(list([s("q"), s("q")])),
        ),
        ("SET #dot = :s", "a.b", Some(s("x"))),
    ]);
}

#[test]
fn set_reaches_into_maps_and_lists() {
    let map = |pairs: &[(&str, AttributeValue)]| {
        Some(AttributeValue::M(
            pairs.iter().map(|(name, value)| (*name, value.clone())).collect(),
        ))
    };
    check(&[
        ("SET m.k = :s2", "m", map(&[("k", s("y")), ("l", list([]))])),
        (
            "SET m.z = m.k REMOVE m.l",
            "m",
            map(&[("k", s("x")), ("z", s("x"))]),
        ),
        (
            "SET m.l[0] = :s",
            "m",
            map(&[("k", s("x")), ("l", list([s("x")]))]),
        ),
        (
            "SET l[0] = :s2, l[1] = l[0]",
            "l",
            Some(list([s("y"), s("x"), list([s("q")])])),
        ),
    ]);
}

#[test]
fn elements_behind_the_end_are_appended_in_order_of_index() {
    check(&[
        (
            "SET l[9] = :s",
            "l",
            Some(list([s("x"), n("1"), list([s("q")]), s("x")])),
        ),
        (
            "SET l[2147483647] = :s, l[5] = :n",
            "l",
            Some(list([s("x"), n("1"), list([s("q")]), n("1"), s("x")])),
        ),
        (
            "ADD l[7] :n",
            "l",
            Some(list([s("x"), n("1"), list([s("q")]), n("1")])),
        ),
    ]);
}

#[test]
fn remove_means_positions_before_the_update() {
    check(&[
        ("REMOVE x", "x", None),
        ("REMOVE gone", "gone", None),
        ("REMOVE l[0], l[1]", "l", Some(list([list([s("q")])]))),
        ("REMOVE l[9]", "l", Some(list([s("x"), n("1"), list([s("q")])]))),
        (
            "SET l[1] = :s2 REMOVE l[0]",
            "l",
            Some(list([s("y"), list([s("q")])])),
        ),
        (
            "SET l[9] = :s2 REMOVE l[0]",
            "l",
            Some(list([n("1"), list([s("q")]), s("y")])),
        ),
        (
            "SET l[9] = :s2 REMOVE l[3]",
            "l",
            Some(list([s("x"), n("1"), list([s("q")]), s("y")])),
        ),
        ("REMOVE l[2][0], l[0]", "l", Some(list([n("1"), list([])]))),
    ]);
}

#[test]
fn add_counts_and_unites_and_delete_subtracts() {
    check(&[
        ("ADD five :n", "five", Some(n("6"))),
        ("ADD gone :n", "gone", Some(n("1"))),
        ("ADD gone :ss", "gone", Some(strings(&["a", "b"]))),
        ("ADD ns :ns", "ns", Some(numbers(&["1", "2"]))),
        ("DELETE ss :ss1", "ss", Some(strings(&["b"]))),
        ("DELETE ss :ss", "ss", None),
        ("DELETE bs :bs", "bs", None),
        ("DELETE gone :ss", "gone", None),
    ]);
}

#[test]
fn every_action_sees_the_item_as_it_was() {
    let mut changed = item();
    update("SET x = five, five = x, a = ss REMOVE one DELETE ss :ss1 ADD ns :ns")
        .unwrap()
        .apply(&mut changed)
        .unwrap();
    assert_eq!(changed.get("x"), Some(&n("5")));
    assert_eq!(changed.get("five"), Some(&s("x")));
    assert_eq!(changed.get("a"), Some(&strings(&["a", "b"])));
    assert_eq!(changed.get("ss"), Some(&strings(&["b"])));
}

#[test]
fn sums_must_fit_a_number() {
    let mut wide = Map::from([
        ("big", n("9e125")),
        ("nines", n("99999999999999999999999999999999999999")),
    ]);
    let refuse = |text: &str, item: &mut Map| update(text).unwrap().apply(item).unwrap_err().to_string();
    assert_eq!(
        refuse("SET a = big + big", &mut wide),
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    );
    assert_eq!(
        refuse("ADD big :n", &mut wide),
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    );
    update("ADD nines :n").unwrap().apply(&mut wide).unwrap();
    assert_eq!(wide.get("nines"), Some(&n("1e38")));
}

#[test]
fn updated_shows_what_an_image_has_at_the_touched_paths() {
    let mut new = item();
    let update =
        update("SET m.k = :s2, l[1] = :s, l[9] = :s2, bin = :b1 REMOVE x, l[0] ADD gone :n").unwrap();
    let old_part = update.updated(&new);
    update.apply(&mut new).unwrap();
    let new_part = update.updated(&new);

    let k = |value| AttributeValue::M(Map::from([("k", value)]));
    assert_eq!(
        old_part,
        Map::from([
            ("l", list([s("x"), n("1")])),
            ("m", k(s("x"))),
            ("bin", bytes(&[0, 1, 2])),
            ("x", s("x")),
        ])
    );
    // The element that moved up to the removed `l[0]` is shown; the one appended at `l[9]` is not.
    assert_eq!(
        new_part,
        Map::from([
            ("l", list([s("x"), list([s("q")])])),
            ("m", k(s("y"))),
            ("gone", n("1")),
            ("bin", bytes(&[1])),
        ])
    );
}

#[test]
fn an_update_names_what_it_touches_and_what_it_reads() {
    let update = update("SET a.b = if_not_exists(c, d[1]) + e REMOVE f ADD g :n").unwrap();
    assert_eq!(update.attributes().collect::<Vec<_>>(), ["a", "f", "g"]);
    let read: Vec<_> = update
        .operand_paths()
        .iter()
        .map(|path| path.to_string())
        .collect();
    assert_eq!(read, ["[c]", "[d, [1]]", "[e]"]);
}
