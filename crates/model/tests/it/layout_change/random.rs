//! Properties of any two versions, for any rows. Small alphabets, so that ambiguities occur.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use trestle_expr::{KeyOp, KeySelection};
use trestle_hook::{Belongs, Renewal};
use trestle_item::{AttributeValue, Item, codec};
use trestle_model::{LayoutChange, Model, Refusal, load};

/// The layout of a version: two entities of one table, `one` and `two`, both composed of `a`, `b` and `n`.
#[derive(Clone, Debug)]
struct Layout {
    /// The beginning of every partition key.
    lead: &'static str,
    separator: char,
    /// How many of the fields are in the partition key; the others are in the sort key.
    in_hash: usize,
    /// Whether `n` comes before `b`.
    swapped: bool,
    width: &'static str,
    escaped: bool,
    /// The beginnings of the sort keys of the two.
    sorts: [&'static str; 2],
    /// The place of the added field: not at all, in the partition key, or in the sort key.
    added: [usize; 2],
    index: &'static str,
}

fn layout() -> impl Strategy<Value = Layout> {
    let fields = (
        prop::sample::select(vec!["", "p#", "q#", "q"]),
        prop::sample::select(vec!['#', ':', '/']),
        0_usize..4,
        any::<bool>(),
        prop::sample::select(vec!["", "", ":02", ":04"]),
        prop::bool::weighted(0.2),
    );
    let sorts = (
        prop::sample::select(vec!["o#", "x#", "ox#"]),
        prop::sample::select(vec!["t#", "y#"]),
    );
    let index = prop::sample::select(vec!["g#{b}", "h#{b}", "g#{a}:{b}"]);
    (fields, sorts, index).prop_map(|(fields, (one, two), index)| {
        let (lead, separator, in_hash, swapped, width, escaped) = fields;
        Layout {
            lead,
            separator,
            in_hash,
            swapped,
            width,
            escaped,
            sorts: [one, two],
            added: [0, 0],
            index,
        }
    })
}

/// Two layouts. Often they have most in common, so that only some rows move, or keys change only a little.
fn layouts() -> impl Strategy<Value = (Layout, Layout)> {
    let changes = prop::collection::vec(any::<bool>(), 7);
    let added = prop::sample::select(vec![[0, 0], [0, 0], [1, 1], [2, 2], [2, 0]]);
    (layout(), layout(), changes, added).prop_map(|(from, other, changes, added)| {
        let mut to = from.clone();
        let mut changes = changes.into_iter();
        let mut is_changed = || changes.next().unwrap_or_default();
        if is_changed() {
            to.lead = other.lead;
        }
        if is_changed() {
            to.separator = other.separator;
        }
        if is_changed() {
            to.in_hash = other.in_hash;
        }
        if is_changed() {
            to.width = other.width;
        }
        if is_changed() {
            to.sorts = other.sorts;
        }
        if is_changed() {
            to.index = other.index;
        }
        if is_changed() {
            to.swapped = other.swapped;
        }
        to.added = added;
        (from, to)
    })
}

impl Layout {
    fn key(&self, entity: usize) -> (String, String) {
        let b = if self.escaped { "{b|escape}" } else { "{b}" };
        let n = format!("{{n{}}}", self.width);
        let fields = if self.swapped {
            ["{a}", n.as_str(), b]
        } else {
            ["{a}", b, n.as_str()]
        };
        let (hash, sort) = fields.split_at(self.in_hash.min(3));
        let part = |begins: &str, fields: &[&str], has_added: bool| {
            let added = has_added.then_some("{c}");
            let fields: Vec<&str> = fields.iter().copied().chain(added).collect();
            format!("{begins}{}", fields.join(&self.separator.to_string()))
        };
        let lead = if hash.is_empty() { "all" } else { self.lead };
        (
            part(lead, hash, self.added[entity] == 1),
            part(self.sorts[entity], sort, self.added[entity] == 2),
        )
    }

    fn text(&self, set: bool) -> String {
        let mut text = "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\nentity_attribute = \"kind\"\n\
                        [table.rows.index.plain]\nkey = [\"b\", \"note\"]\n\
                        [table.rows.index.derived]\nkey = [\"gpk\", \"note\"]\n\
                        [table.rows.index.local]\nkey = [\"pk\", \"note\"]\nlocal = true\n"
            .to_owned();
        for (at, name) in ["one", "two"].into_iter().enumerate() {
            let (pk, sk) = self.key(at);
            let added = if self.added[at] == 0 {
                ""
            } else {
                ", c = { type = \"string\", chars = \"km\" }"
            };
            text.push_str(&format!(
                "[entity.{name}]\ntable = \"rows\"\nkey = {{ pk = {pk:?}, sk = {sk:?}, gpk = {:?} }}\nattributes = {{ a = {{ \
                 type = \"string\", chars = \"ab-\" }}, b = {{ type = \"string\", chars = \"ab#\" }}, n = \"integer\", \
                 note = {{ type = \"string\", optional = true }}{added} }}\n",
                self.index
            ));
            if set && self.added[at] != 0 {
                text.push_str(&format!("[entity.{name}.migrate]\nset = {{ c = \"k\" }}\n"));
            }
        }
        text
    }
}

/// Two versions, and what moves between them, if they load and nothing prevents it.
#[derive(Debug)]
struct Versions {
    from: Arc<Model>,
    to: Arc<Model>,
    out: LayoutChange,
    /// Whether rows get the attributes that the new key needs.
    set: bool,
}

fn versions((from, to): &(Layout, Layout), set: bool) -> Option<Versions> {
    let from = Arc::new(load(&from.text(false)).model?);
    let to = Arc::new(load(&to.text(set)).model?);
    let out = LayoutChange::between(&from, &to).ok()?;
    Some(Versions { from, to, out, set })
}

/// The fields of rows: `a`, `b`, `n`, which entity, `note`, and `c`, which the previous version does not
/// declare.
type Values = (String, String, i64, bool, Option<String>, Option<&'static str>);

fn values() -> impl Strategy<Value = Values> {
    (
        "[ab-]{1,2}",
        "[ab#]{1,2}",
        prop_oneof![0_i64..20, 0_i64..20_000],
        any::<bool>(),
        prop::option::of("[xy]"),
        prop::option::weighted(0.15, prop::sample::select(vec!["k", "m"])),
    )
}

/// A complete row as a version stores it, unless its key cannot contain its values.
fn stored(model: &Model, (a, b, n, two, note, c): &Values) -> Option<Item> {
    let mut row: Item = [("a", a.as_str()), ("b", b.as_str())].into();
    row.insert("n", *n);
    row.insert("kind", if *two { "two" } else { "one" });
    if let Some(note) = note {
        row.insert("note", note.as_str());
    }
    if let Some(c) = c {
        row.insert("c", *c);
    }
    let derived = model.derive("rows", None, &row, 0).ok()??;
    derived.apply(&mut row);
    Some(row)
}

/// Rows of the previous version that a table can hold at the same time.
fn stored_all(model: &Model, many: &[Values]) -> Vec<Item> {
    let mut rows: Vec<Item> = Vec::new();
    for row in many.iter().filter_map(|values| stored(model, values)) {
        if !rows.iter().any(|other| place(other) == place(&row)) {
            rows.push(row);
        }
    }
    rows
}

fn place(row: &Item) -> Item {
    let mut row = row.clone();
    row.retain(|name, _| name == "pk" || name == "sk");
    row
}

fn text<'i>(row: &'i Item, name: &str) -> Option<&'i str> {
    row.get(name).and_then(AttributeValue::as_s)
}

/// A condition on a sort key: the fields in it, and its kind.
type Condition = (usize, usize, String);

fn condition() -> impl Strategy<Value = Condition> {
    (0_usize..8, 0_usize..9, "[ab#:/0]{0,1}")
}

/// A selection of the rows around a row.
fn selection(hash: &str, sort: Option<&str>, (kind, cut, tail): &Condition) -> KeySelection {
    let sort = sort.unwrap_or_default();
    let begins: String = sort.chars().take(*cut).collect();
    let value = AttributeValue::from(format!("{begins}{tail}"));
    let range_last = match kind {
        0 | 1 => None,
        2 => Some(KeyOp::BeginsWith(value)),
        3 => Some(KeyOp::Between(value, sort.into())),
        4 => Some(KeyOp::Ge(value)),
        5 => Some(KeyOp::Lt(value)),
        6 => Some(KeyOp::BeginsWith(begins.into())),
        _ => {
            return KeySelection {
                hash: vec![hash.into()],
                range_equal: vec![sort.into()],
                range_last: None,
            };
        }
    };
    KeySelection {
        hash: vec![hash.into()],
        range_equal: Vec::new(),
        range_last,
    }
}

/// Whether a row is selected, by these attributes of its key.
fn selects(selection: &KeySelection, row: &Item, [hash, sort]: [&str; 2]) -> bool {
    let (Some(hash), Some(sort)) = (text(row, hash), text(row, sort)) else {
        return false;
    };
    let value = |value: &AttributeValue| value.as_s().unwrap().to_owned();
    let equal = selection.range_equal.iter().all(|other| value(other) == sort);
    let fits = match &selection.range_last {
        None => true,
        Some(KeyOp::BeginsWith(begins)) => sort.starts_with(&value(begins)),
        Some(KeyOp::Between(low, high)) => *sort >= *value(low) && *sort <= *value(high),
        Some(KeyOp::Ge(low)) => *sort >= *value(low),
        Some(KeyOp::Lt(high)) => *sort < *value(high),
        Some(other) => panic!("{other:?}"),
    };
    value(&selection.hash[0]) == hash && equal && fits
}

/// Rows in former places with their new form, without those that cannot move.
fn moved(versions: &Versions, rows: &[Item]) -> Vec<(Item, Item)> {
    let former = rows.iter().filter(|row| versions.out.is_former("rows", row));
    let renewed = former.filter_map(|row| Some((row.clone(), versions.out.renew("rows", row).ok()?)));
    renewed.collect()
}

/// Whether a row cannot move because of its own values.
fn is_excused(versions: &Versions, row: &Item, refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Unfit { attribute, .. } => ["n", "b"].contains(&attribute.as_str()),
        Refusal::Missing { attribute, .. } => attribute == "c" && !versions.set && !row.contains_key("c"),
        _ => false,
    }
}

/// The stored form of a row gives the same results as the row.
fn check_stored(layout_change: &LayoutChange, row: &Item) -> Result<(), TestCaseError> {
    let is_former = layout_change.is_former("rows", row);
    let key = ["pk", "sk"].map(|name| text(row, name).unwrap_or_default().as_bytes());
    prop_assert!(!is_former || layout_change.may_be_former("rows", key), "{row:?}");
    match layout_change.renew_stored("rows", &codec::encode(row)) {
        Renewal::Here => prop_assert!(!is_former, "{row:?}"),
        Renewal::Renewed(stored) => {
            let renewed = layout_change
                .renew("rows", row)
                .map(|renewed| codec::encode(&renewed));
            prop_assert!(is_former, "{row:?}");
            prop_assert_eq!(Ok(stored), renewed, "{:?}", row);
        }
        Renewal::Untold => {}
    }
    Ok(())
}

/// A row with an oddity that no client of the model would write.
fn spoilt(mut row: Item, (name, value): &(&'static str, Option<AttributeValue>)) -> Item {
    match value {
        Some(value) => drop(row.insert(*name, value.clone())),
        None => drop(row.remove(name)),
    }
    row
}

fn spoils() -> impl Strategy<Value = Vec<(&'static str, Option<AttributeValue>)>> {
    let names = prop::sample::select(vec!["a", "b", "n", "c", "kind", "note", "gpk", "extra"]);
    let values = prop::sample::select(vec![
        None,
        Some("k".into()),
        Some("two".into()),
        Some("a#b".into()),
        Some(7_i64.into()),
        Some(AttributeValue::Null),
    ]);
    prop::collection::vec((names, values), 3)
}

const TABLE: [&str; 2] = ["pk", "sk"];
const INDEXES: [(&str, [&str; 2]); 3] = [
    ("plain", ["b", "note"]),
    ("derived", ["gpk", "note"]),
    ("local", ["pk", "note"]),
];

/// Every former row that a selection needs is in exactly one of its sources, in order where they promise it.
fn check_sources(
    versions: &Versions,
    rows: &[(Item, Item)],
    index: Option<&str>,
    names: [&str; 2],
    selection: &KeySelection,
) -> Result<(), TestCaseError> {
    let sources = versions.out.sources("rows", index, Some(selection));
    let wanted = rows.iter().filter(|(_, now)| selects(selection, now, names));
    let wanted: Vec<&(Item, Item)> = wanted.collect();
    for (former, now) in &wanted {
        let ranges = sources.ranges.iter();
        let within = ranges
            .filter(|range| selects(&range.selection, former, names))
            .count();
        let same = sources.same && selects(selection, former, names);
        let found = sources.everywhere || within + usize::from(same) == 1;
        prop_assert!(
            found,
            "{former:?} -> {now:?} by {selection:?} in {index:?}: {sources:?}"
        );
    }
    for range in sources.ranges.iter().filter(|range| range.ordered) {
        let within = wanted
            .iter()
            .filter(|(former, _)| selects(&range.selection, former, names));
        let mut within: Vec<_> = within
            .map(|(former, now)| {
                let order = |row: &Item| {
                    (
                        text(row, names[1]).map(str::to_owned),
                        text(row, "sk").map(str::to_owned),
                    )
                };
                (order(former), order(now))
            })
            .collect();
        within.sort();
        prop_assert!(
            within.is_sorted_by_key(|(_, now)| now),
            "{within:?} by {selection:?}: {range:?}"
        );
    }
    Ok(())
}

/// A condition of the former layout selects the same rows as its translation.
fn check_conditions(
    layout_change: &LayoutChange,
    around: &[&Item],
    rows: &[(Item, Item)],
    conditions: &[Condition],
) -> Result<(), TestCaseError> {
    for around in around {
        for condition in conditions {
            let before = selection(text(around, "pk").unwrap(), text(around, "sk"), condition);
            let Ok(Some(now)) = layout_change.renew_selection("rows", &before) else {
                continue;
            };
            for (former, renewed) in rows {
                let (was, is) = (selects(&before, former, TABLE), selects(&now, renewed, TABLE));
                prop_assert_eq!(
                    was,
                    is,
                    "{:?} by {:?}, {:?} by {:?}",
                    former,
                    before,
                    renewed,
                    now
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_row_moves_to_its_own_place_and_is_found_from_there(layouts in layouts(), set in any::<bool>(), many in prop::collection::vec(values(), 1..8)) {
        if let Some(versions) = versions(&layouts, set) {
            for row in stored_all(&versions.from, &many) {
                let renewed = match versions.out.renew("rows", &row) {
                    Ok(renewed) => renewed,
                    Err(refusal) => {
                        prop_assert!(is_excused(&versions, &row, &refusal), "{row:?}: {refusal}");
                        prop_assert!(versions.out.is_former("rows", &row));
                        continue;
                    }
                };
                let is_former = place(&row) != place(&renewed);
                prop_assert_eq!(versions.out.is_former("rows", &row), is_former, "{:?}", row);
                prop_assert!(!versions.out.is_former("rows", &renewed));
                match versions.out.belongs("rows", &place(&row)) {
                    Belongs::Here => prop_assert!(!is_former, "{row:?}"),
                    Belongs::At(own) => prop_assert_eq!((is_former, own), (true, place(&renewed)), "{:?}", row),
                    Belongs::Elsewhere => prop_assert!(is_former, "{row:?}"),
                }
                prop_assert_eq!(versions.out.belongs("rows", &place(&renewed)), Belongs::Here);
                let found = versions.out.former_place("rows", &renewed);
                prop_assert_eq!(found, is_former.then(|| place(&row)), "{:?}", renewed);
                prop_assert_eq!(versions.out.renew("rows", &renewed).unwrap(), renewed.clone());
                if is_former {
                    for old in [None, Some(&renewed)] {
                        let derived = versions.to.derive("rows", old, &renewed, 0).unwrap().unwrap();
                        prop_assert!(derived.is_empty(), "{derived:?}");
                    }
                    // Only keys and given values differ.
                    let mut content = renewed.clone();
                    content.retain(|name, value| row.get(name) != Some(value));
                    prop_assert!(content.keys().all(|name| ["pk", "sk", "gpk", "c"].contains(&name.as_str())), "{content:?}");
                }
            }
        }
    }

    #[test]
    fn a_stored_row_becomes_what_the_row_becomes(layouts in layouts(), set in any::<bool>(), many in prop::collection::vec(values(), 1..8), spoils in spoils()) {
        if let Some(versions) = versions(&layouts, set) {
            let back = versions.out.reversed().ok();
            for way in [Some(&versions.out), back.as_ref()].into_iter().flatten() {
                for row in stored_all(&versions.from, &many).into_iter().chain(stored_all(&versions.to, &many)) {
                    check_stored(way, &row)?;
                    for spoil in &spoils {
                        check_stored(way, &spoilt(row.clone(), spoil))?;
                    }
                }
            }
        }
    }

    #[test]
    fn rows_that_are_written_in_the_present_layout_are_not_former(layouts in layouts(), many in prop::collection::vec(values(), 1..8)) {
        if let Some(versions) = versions(&layouts, true) {
            for row in stored_all(&versions.to, &many) {
                prop_assert!(!versions.out.is_former("rows", &row), "{row:?}");
                prop_assert_eq!(versions.out.renew("rows", &row).unwrap(), row.clone());
                prop_assert_eq!(versions.out.renew_key("rows", &place(&row)).unwrap(), place(&row));
                if let Some(former) = versions.out.former_place("rows", &row) {
                    prop_assert!(versions.out.is_former("rows", &former), "{former:?}");
                }
            }
        }
    }

    #[test]
    fn a_row_comes_back_byte_for_byte_or_not_at_all(layouts in layouts(), many in prop::collection::vec(values(), 1..8)) {
        if let Some(versions) = versions(&layouts, true) {
            let back = versions.out.reversed().unwrap();
            let rows = stored_all(&versions.from, &many);
            for (row, renewed) in moved(&versions, &rows) {
                prop_assert!(back.is_former("rows", &renewed) && !back.is_former("rows", &row));
                match back.renew("rows", &renewed) {
                    Ok(mut returned) => {
                        if let Some(c) = text(&row, "c").filter(|_| !returned.contains_key("c")) {
                            // The row had the attribute that rows get, although its version does not know it.
                            prop_assert_eq!(c, "k");
                            returned.insert("c", c);
                        }
                        prop_assert_eq!(returned, row.clone());
                        prop_assert_eq!(back.former_place("rows", &row), Some(place(&renewed)));
                    }
                    Err(Refusal::NoWayBack { .. }) => prop_assert_eq!(text(&row, "c"), Some("m")),
                    Err(refusal) => prop_assert!(false, "{row:?}: {refusal}"),
                }
            }
        }
    }

    #[test]
    fn clients_of_the_layout_before_are_understood(layouts in layouts(), set in any::<bool>(), many in prop::collection::vec(values(), 1..8)) {
        if let Some(versions) = versions(&layouts, set) {
            let rows = stored_all(&versions.from, &many);
            for (row, renewed) in moved(&versions, &rows).into_iter().filter(|(row, _)| !row.contains_key("c")) {
                let key = versions.out.renew_key("rows", &place(&row));
                prop_assert_eq!(key, Ok(place(&renewed)));
                let given = versions.out.renew_given("rows", row.clone()).unwrap();
                let placed = versions.to.place("rows", given, 0).unwrap();
                prop_assert_eq!(place(&placed), place(&renewed));
            }
        }
    }

    #[test]
    fn no_former_row_is_missed_by_a_read_of_the_table(layouts in layouts(), set in any::<bool>(), many in prop::collection::vec(values(), 2..14), conditions in prop::collection::vec(condition(), 6)) {
        if let Some(versions) = versions(&layouts, set) {
            let rows = moved(&versions, &stored_all(&versions.from, &many));
            for (_, around) in &rows {
                for condition in &conditions {
                    let selection = selection(text(around, "pk").unwrap(), text(around, "sk"), condition);
                    check_sources(&versions, &rows, None, TABLE, &selection)?;
                }
            }
        }
    }

    #[test]
    fn no_former_row_is_missed_by_a_read_of_an_index(layouts in layouts(), set in any::<bool>(), many in prop::collection::vec(values(), 2..10), conditions in prop::collection::vec(condition(), 3)) {
        if let Some(versions) = versions(&layouts, set) {
            let rows = moved(&versions, &stored_all(&versions.from, &many));
            for (_, around) in &rows {
                for (index, names) in INDEXES {
                    for condition in &conditions {
                        let Some(hash) = text(around, names[0]) else { continue };
                        let selection = selection(hash, text(around, names[1]), condition);
                        check_sources(&versions, &rows, Some(index), names, &selection)?;
                    }
                    let scan = versions.out.sources("rows", Some(index), None);
                    prop_assert!(scan.everywhere || (scan.ranges.is_empty() && rows.iter().all(|(former, now)| names.iter().all(|name| former.get(name) == now.get(name)))), "{index}");
                }
            }
        }
    }

    #[test]
    fn a_condition_of_the_layout_before_means_the_same_rows_or_is_refused(layouts in layouts(), many in prop::collection::vec(values(), 2..14), conditions in prop::collection::vec(condition(), 6)) {
        if let Some(versions) = versions(&layouts, true) {
            let all = moved(&versions, &stored_all(&versions.from, &many));
            // A key alone does not contain what only the row has.
            let told = all.iter().filter(|(row, _)| !row.contains_key("c")).cloned();
            let told: Vec<(Item, Item)> = told.collect();
            let around: Vec<&Item> = told.iter().map(|(row, _)| row).collect();
            check_conditions(&versions.out, &around, &told, &conditions)?;
            let back = versions.out.reversed().unwrap();
            let around: Vec<&Item> = all.iter().map(|(_, renewed)| renewed).collect();
            let returned = around.iter().filter_map(|row| Some(((*row).clone(), back.renew("rows", row).ok()?)));
            check_conditions(&back, &around, &returned.collect::<Vec<_>>(), &conditions)?;
        }
    }
}

/// The properties above would also hold where nothing moves, and for sources that are always "everywhere".
#[test]
fn random_versions_move_rows_in_every_way() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (
        layouts(),
        prop::collection::vec(values(), 4),
        prop::collection::vec(condition(), 4),
    );
    let mut seen = [0_usize; 10];
    for _ in 0..600 {
        let (layouts, many, conditions) = strategy.new_tree(&mut runner).unwrap().current();
        let Some(versions) = versions(&layouts, true).filter(|versions| !versions.out.is_empty()) else {
            continue;
        };
        seen[0] += 1;
        let rows = stored_all(&versions.from, &many);
        let moving = moved(&versions, &rows);
        seen[1] += usize::from(!moving.is_empty() && moving.len() < rows.len());
        for (before, around) in &moving {
            for condition in &conditions {
                let selection = |row: &Item| selection(text(row, "pk").unwrap(), text(row, "sk"), condition);
                let sources = versions.out.sources("rows", None, Some(&selection(around)));
                seen[2] += usize::from(sources.everywhere);
                seen[3] += sources.ranges.iter().filter(|range| range.ordered).count();
                seen[4] += sources.ranges.iter().filter(|range| !range.ordered).count();
                let renewed = versions.out.renew_selection("rows", &selection(before));
                seen[5] += usize::from(matches!(renewed, Ok(Some(_))));
                seen[6] += usize::from(renewed.is_err());
            }
            let index = versions.out.sources("rows", Some("derived"), None);
            seen[7] += usize::from(index.same);
            let stored = versions.out.renew_stored("rows", &codec::encode(before));
            seen[8] += usize::from(matches!(stored, Renewal::Renewed(_)));
            seen[9] += usize::from(stored == Renewal::Untold);
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}
