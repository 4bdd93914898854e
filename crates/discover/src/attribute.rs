//! Types of attributes, inferred from their values.

use std::collections::{BTreeMap, BTreeSet};

use trestle_item::{AttributeValue, Item};
use trestle_model::{Attribute, AttributeKind, Precision};

use crate::draft::DraftAttribute;
use crate::facts::TableFacts;
use crate::token::is_word;

/// The maximum number of values for which a closed set is proposed,
const ONE_OF_MAX: usize = 8;
/// if each of them has at least this many rows.
const ROWS_PER_VALUE: usize = 5;
/// Whole numbers between these may be seconds since 1970: from 2001 to 2100.
const SECONDS: std::ops::Range<i64> = 1_000_000_000..4_102_444_800;
/// With more attributes than this, their names are data; the rare ones are left out.
const ATTRIBUTES_MAX: usize = 200;

/// The attributes of rows of one kind, without those that are left out, and the number of superfluous ones.
/// Identifying attributes have no closed set of values, because more rows will follow.
pub(crate) fn attributes(
    facts: &TableFacts,
    rows: &[&Item],
    identity: &[&str],
    is_left_out: impl Fn(&str) -> bool,
) -> (BTreeMap<String, DraftAttribute>, usize) {
    let mut values: BTreeMap<&str, Vec<&AttributeValue>> = BTreeMap::new();
    for row in rows {
        for (name, value) in row
            .iter()
            .filter(|(name, _)| !name.is_empty() && !is_left_out(name))
        {
            values.entry(name).or_default().push(value);
        }
    }
    let mut common: Vec<(&str, Vec<&AttributeValue>)> = values.into_iter().collect();
    common.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let too_many = common.len().saturating_sub(ATTRIBUTES_MAX);
    common.truncate(ATTRIBUTES_MAX);
    let drafts = common.into_iter().map(|(name, values)| {
        let open = identity.contains(&name);
        (name.to_owned(), attribute(facts, rows.len(), name, open, &values))
    });
    (drafts.collect(), too_many)
}

fn attribute(
    facts: &TableFacts,
    rows: usize,
    name: &str,
    open: bool,
    values: &[&AttributeValue],
) -> DraftAttribute {
    let (kind, why) = kind(facts.ttl.as_deref() == Some(name), name, values);
    let one_of = match kind {
        AttributeKind::String if !open => closed_set(values),
        _ => Vec::new(),
    };
    let mut evidence = Vec::new();
    if values.len() < rows {
        evidence.push(format!("in {} of {rows} rows", values.len()));
    }
    if !one_of.is_empty() {
        evidence.push(format!("these {} values in {} rows", one_of.len(), values.len()));
    }
    evidence.extend(why);
    DraftAttribute {
        kind,
        optional: values.len() < rows,
        one_of,
        chars: None,
        precision: precision(values.iter().filter_map(|value| value.as_s())),
        evidence: evidence.join("; "),
        doubt: None,
    }
}

/// The precision of all timestamps, if they have the same.
pub(crate) fn precision<'t>(mut texts: impl Iterator<Item = &'t str>) -> Option<Precision> {
    let first = Precision::of(texts.next()?)?;
    texts
        .all(|text| Precision::of(text) == Some(first))
        .then_some(first)
}

fn kind(is_ttl: bool, name: &str, values: &[&AttributeValue]) -> (AttributeKind, Option<String>) {
    let all = |kind: AttributeKind| {
        let attribute = Attribute::new(name, kind);
        values.iter().all(|value| attribute.check(value).is_ok())
    };
    if all(AttributeKind::EpochSeconds) && is_ttl {
        return (
            AttributeKind::EpochSeconds,
            Some("the table's time to live".to_owned()),
        );
    }
    if all(AttributeKind::EpochSeconds)
        && sounds_like_time(name)
        && values.iter().all(|value| is_second(value))
    {
        return (
            AttributeKind::EpochSeconds,
            Some("its numbers are times between 2001 and 2100".to_owned()),
        );
    }
    let order = [
        AttributeKind::Timestamp,
        AttributeKind::Semver,
        AttributeKind::String,
        AttributeKind::Integer,
        AttributeKind::Number,
        AttributeKind::Boolean,
        AttributeKind::Binary,
        AttributeKind::List,
        AttributeKind::Large,
        AttributeKind::Map,
        AttributeKind::StringSet,
        AttributeKind::NumberSet,
        AttributeKind::BinarySet,
    ];
    match order.into_iter().find(|kind| all(*kind)) {
        Some(AttributeKind::Semver) => (
            AttributeKind::Semver,
            Some("all are semantic versions".to_owned()),
        ),
        Some(AttributeKind::Large) => (
            AttributeKind::Large,
            Some("all are references to large values".to_owned()),
        ),
        Some(kind) => (kind, None),
        None => (AttributeKind::Any, Some(format!("of types {}", types(values)))),
    }
}

fn types(values: &[&AttributeValue]) -> String {
    let types: BTreeSet<&str> = values.iter().map(|value| value.type_name()).collect();
    types.into_iter().collect::<Vec<_>>().join(", ")
}

fn is_second(value: &AttributeValue) -> bool {
    let whole = value.as_n().and_then(trestle_item::Number::to_i64);
    whole.is_some_and(|seconds| SECONDS.contains(&seconds))
}

fn sounds_like_time(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let contains = [
        "time", "date", "expir", "ttl", "created", "updated", "until", "since", "deadline",
    ];
    let ends = ["at", "dt", "ts", "on"];
    contains.iter().any(|word| name.contains(word)) || ends.iter().any(|word| name.ends_with(word))
}

/// The values of an attribute, if there are few and each occurs often.
fn closed_set(values: &[&AttributeValue]) -> Vec<String> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for value in values.iter().filter_map(|value| value.as_s()) {
        if !is_word(value) {
            return Vec::new();
        }
        found.insert(value);
        if found.len() > ONE_OF_MAX {
            return Vec::new();
        }
    }
    let closed = found.len() >= 2 && values.len() >= found.len() * ROWS_PER_VALUE;
    found.into_iter().filter(|_| closed).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_item::Item;
    use trestle_model::LargeValue;

    fn typed(values: &[AttributeValue], name: &str) -> DraftAttribute {
        let values: Vec<&AttributeValue> = values.iter().collect();
        attribute(&TableFacts::default(), values.len(), name, false, &values)
    }

    #[test]
    fn a_type_is_the_narrowest_that_holds_every_value() {
        let seconds = AttributeValue::from(1_577_734_334_i64);
        let large = LargeValue {
            id: "0123456789abcdef".to_owned(),
            size: 5,
            parts: 1,
            sha256: "0".repeat(64),
        };
        for (values, name, kind) in [
            (
                vec!["2019-12-30T19:32:14Z".into(), "x".into()],
                "a",
                AttributeKind::String,
            ),
            (vec!["2019-12-30T19:32:14Z".into()], "a", AttributeKind::Timestamp),
            (
                vec!["1.0.0-rc.1".into(), "1.10.0".into()],
                "a",
                AttributeKind::Semver,
            ),
            (vec!["1.0.0".into(), "latest".into()], "a", AttributeKind::String),
            (vec![seconds.clone()], "createdAt", AttributeKind::EpochSeconds),
            (vec![seconds.clone()], "size", AttributeKind::Integer),
            (vec![seconds, "x".into()], "createdAt", AttributeKind::Any),
            (vec![AttributeValue::Null], "a", AttributeKind::Any),
            (vec![large.to_value()], "a", AttributeKind::Large),
            (
                vec![large.to_value(), AttributeValue::M(Item::new())],
                "a",
                AttributeKind::Map,
            ),
        ] {
            assert_eq!(typed(&values, name).kind, kind, "{values:?}");
        }
    }

    #[test]
    fn few_values_in_many_rows_are_a_closed_set_and_few_rows_are_none() {
        let values: Vec<AttributeValue> = (0..20).map(|n| ["open", "paid"][n % 2].into()).collect();
        assert_eq!(typed(&values, "status").one_of, ["open", "paid"]);
        assert!(typed(&values[..9], "status").one_of.is_empty());
    }
}
