//! The attribute that names the kind of each row, if the table has one.
//!
//! It is found by evidence: few values, in every row, and rows with different values have keys of different
//! shapes. A usual name lowers the threshold, and a few rows may then lack it; but the name does not replace
//! the evidence.

use std::collections::{BTreeMap, BTreeSet};

use trestle_item::Item;

use crate::contrast::{Profile, pairs_that_differ};
use crate::facts::TableFacts;
use crate::token::{is_word, tokens};

/// With more values than this in one table, the attribute is not a tag.
const VALUES_MAX: usize = 64;

/// Names that are used only for tags.
const CERTAIN: &[&str] = &[
    "et",
    "edbe",
    "entitytype",
    "entity",
    "typename",
    "entityname",
    "itemtype",
    "recordtype",
];
/// Names that are used for tags, and for other things.
const USUAL: &[&str] = &[
    "type",
    "kind",
    "model",
    "objecttype",
    "class",
    "rowtype",
    "doctype",
    "datatype",
];

/// A tag attribute, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) attribute: String,
    pub(crate) evidence: String,
}

/// Finds the tag attribute of a table.
pub(crate) fn find(facts: &TableFacts, rows: &[Item]) -> Option<Tag> {
    let mut candidates: Vec<(usize, usize, &str, String)> = names(rows)
        .into_iter()
        .filter(|name| !facts.is_table_key(name) && !facts.is_index_key(name))
        .filter_map(|name| {
            let (strength, values, evidence) = weigh(facts, rows, name)?;
            Some((100 - strength, values, name, evidence))
        })
        .collect();
    candidates.sort();
    let (_, _, name, evidence) = candidates.into_iter().next()?;
    Some(Tag {
        attribute: name.to_owned(),
        evidence,
    })
}

/// Attributes of the first row with the most attributes: a tag is in nearly every row.
fn names(rows: &[Item]) -> BTreeSet<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in rows.iter().flat_map(Item::keys) {
        *counts.entry(name).or_default() += 1;
    }
    let enough = |count: usize| count * 10 >= rows.len() * 9;
    counts
        .into_iter()
        .filter(|(_, count)| enough(*count))
        .map(|(name, _)| name)
        .collect()
}

/// The strength of the evidence in percent, the number of values, and the evidence in words.
fn weigh(facts: &TableFacts, rows: &[Item], name: &str) -> Option<(usize, usize, String)> {
    let mut by_value: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    let mut tagged = 0;
    for row in rows {
        let Some(value) = row.get(name) else { continue };
        let value = value.as_s().filter(|value| is_tag(value))?;
        tagged += 1;
        by_value.entry(value).or_default().push(row);
        if by_value.len() > VALUES_MAX {
            return None;
        }
    }
    let certain = is_certain(name);
    let usual = is_usual(name);
    let values = by_value.len();
    let ignored = |other: &str| other == name || facts.is_table_key(other);
    let profiles: Vec<Profile<'_>> = by_value
        .values()
        .map(|rows| Profile::of(rows.iter().copied(), ignored))
        .collect();
    let attributes = pairs_that_differ(&profiles);
    let shapes_by_value = shapes(facts, name, by_value.values());
    let shapes = shapes_that_differ(&shapes_by_value);
    // Without a usual name, one row for each value or each shape proves nothing: an id would look the same.
    // It does not name the kind of a row without it, either. And different attributes alone prove nothing: an
    // order that was sent has a date that an open one lacks.
    let told_apart = if usual { 25 } else { 75 };
    let different: BTreeSet<&String> = shapes_by_value.iter().flatten().collect();
    let repeated = rows.len() >= values.max(different.len()) * 2;
    let convincing = usual || (repeated && tagged == rows.len());
    let accepted = certain || (values >= 2 && convincing && shapes >= told_apart);
    let strength = shapes.max(attributes) / 4 + if certain { 50 } else { 0 } + if usual { 25 } else { 0 };
    accepted.then(|| {
        let mut evidence = format!("in {tagged} of {} rows", rows.len());
        if values >= 2 {
            evidence += &format!(
                "; of the pairs of its {values} values, {shapes} % have keys of different shapes, and {attributes} % have different attributes"
            );
        }
        (strength.min(100), values, evidence)
    })
}

fn bare(name: &str) -> String {
    let plain = name.chars().filter(char::is_ascii_alphanumeric);
    plain.map(|c| c.to_ascii_lowercase()).collect()
}

fn is_certain(name: &str) -> bool {
    CERTAIN.contains(&bare(name).as_str())
}

/// Whether the name is usual for a tag attribute.
pub(crate) fn is_usual(name: &str) -> bool {
    is_certain(name) || USUAL.contains(&bare(name).as_str())
}

fn is_tag(value: &str) -> bool {
    value.len() <= 64 && value.split(['.', ' ', ':', '/']).all(is_word)
}

/// The shapes of the keys of each value's rows.
fn shapes<'r>(
    facts: &TableFacts,
    tag: &str,
    groups: impl Iterator<Item = &'r Vec<&'r Item>>,
) -> Vec<BTreeSet<String>> {
    groups
        .map(|rows| rows.iter().map(|row| coarse_shape(facts, tag, row)).collect())
        .collect()
}

/// How many pairs of values have keys of different shapes, in percent.
fn shapes_that_differ(shapes: &[BTreeSet<String>]) -> usize {
    let (mut pairs, mut different) = (0, 0);
    for (at, one) in shapes.iter().enumerate() {
        for other in shapes.iter().skip(at + 1) {
            pairs += 1;
            different += usize::from(one.is_disjoint(other));
        }
    }
    (different * 100usize).checked_div(pairs).unwrap_or_default()
}

/// The first words of the keys, and their separators.
fn coarse_shape(facts: &TableFacts, tag: &str, row: &Item) -> String {
    let mut shape = String::new();
    for key in facts.key.attributes() {
        let text = row.get(&key.name).and_then(|value| value.as_s());
        let tokens = tokens(text.unwrap_or_default(), row, |name| facts.is_key(name));
        let head = tokens.first();
        let led = tokens.texts.len() > 1 || facts.key.range.iter().any(|range| range.name == key.name);
        let is_value = row
            .iter()
            .any(|(name, value)| name != tag && !facts.is_table_key(name) && value.as_s() == Some(head));
        if led && is_word(head) && !is_value {
            shape.push_str(head);
        }
        shape.push_str(&tokens.separators);
        shape.push('\n');
    }
    shape
}
