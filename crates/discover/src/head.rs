//! Entities that look like heads: a row beside versions, with the attributes of one of them. Only suggested.

use std::collections::BTreeMap;

use trestle_item::{AttributeValue, Item};
use trestle_model::Model;

use crate::draft::{Draft, Suggestion};
use crate::row::text_of;
use crate::write::{capitalised, key, quoted};

/// The number of rows of each version group that are compared.
const VERSIONS_MAX: usize = 100;

/// For each draft, the head that it may be.
pub(crate) fn suggestions(drafts: &[Draft], rows: &[Item], model: &Model) -> Vec<Option<Suggestion>> {
    let suggest = |head: &Draft| {
        let mut others = drafts.iter().filter(|other| other.name != head.name);
        others.find_map(|versions| suggestion(head, versions, rows, model))
    };
    drafts.iter().map(suggest).collect()
}

fn suggestion(head: &Draft, versions: &Draft, rows: &[Item], model: &Model) -> Option<Suggestion> {
    let group = head.identity();
    let identity = versions.identity();
    let extra: Vec<&str> = identity
        .iter()
        .copied()
        .filter(|name| !group.contains(name))
        .collect();
    if group.is_empty() || extra.is_empty() || !group.iter().all(|name| identity.contains(name)) {
        return None;
    }
    let newest_by = extra.iter().find(|name| sorts(versions, name))?;
    let by_group = grouped(versions, &group, rows, model)?;
    let keys = versions.keys.iter().map(|key| key.attribute.as_str());
    let aside: Vec<&str> = identity.iter().copied().chain(keys).collect();
    let beside = head.rows.iter().filter_map(|at| rows.get(*at)).filter(|row| {
        let its = identity_text(head, &group, row, model);
        let beside = its.and_then(|its| by_group.get(&its));
        beside.is_some_and(|versions| versions.iter().any(|version| resembles(row, version, &aside)))
    });
    let count = beside.count();
    if count == 0 || count * 2 < head.rows.len() {
        return None;
    }
    let short = format!(
        "perhaps the head of `{}`: {count} of {} rows lie beside a `{}` with the same attributes",
        versions.name,
        head.rows.len(),
        versions.name
    );
    Some(Suggestion {
        comments: comments(&short, head, versions, newest_by),
        short,
    })
}

fn comments(short: &str, head: &Draft, versions: &Draft, newest_by: &str) -> Vec<String> {
    let mut lines = vec![
        format!("{}.", capitalised(short)),
        "If the database shall keep it, put this in the place of the entity:".to_owned(),
        format!("  [entity.{}.head]", key(&versions.name)),
    ];
    for (own, other) in head.keys.iter().zip(&versions.keys) {
        if own != other {
            lines.push(format!(
                "  key.{} = {}",
                key(&own.attribute),
                quoted(&own.source())
            ));
        }
    }
    lines.push(format!("  newest_by = {}", quoted(newest_by)));
    lines
}

/// Whether versions can be ordered by an attribute.
fn sorts(versions: &Draft, name: &str) -> bool {
    let found = versions.attributes.get(name);
    let ordered = |kind: trestle_model::AttributeKind| {
        kind.is_numeric()
            || matches!(
                kind,
                trestle_model::AttributeKind::Timestamp | trestle_model::AttributeKind::Semver
            )
    };
    let lower = name.to_ascii_lowercase();
    found.is_some_and(|found| ordered(found.kind)) || lower.contains("version") || lower.contains("vrsn")
}

fn grouped<'r>(
    versions: &Draft,
    group: &[&str],
    rows: &'r [Item],
    model: &Model,
) -> Option<BTreeMap<String, Vec<&'r Item>>> {
    let mut by_group: BTreeMap<String, Vec<&Item>> = BTreeMap::new();
    for row in versions.rows.iter().filter_map(|at| rows.get(*at)) {
        let of_group = by_group
            .entry(identity_text(versions, group, row, model)?)
            .or_default();
        if of_group.len() < VERSIONS_MAX {
            of_group.push(row);
        }
    }
    Some(by_group)
}

/// The identifying attributes of a group as one text.
pub(crate) fn identity_text(draft: &Draft, group: &[&str], row: &Item, model: &Model) -> Option<String> {
    let found = model.entity(&draft.name)?.identify(row)?;
    let texts: Option<Vec<String>> = group
        .iter()
        .map(|name| found.get(name).and_then(text_of).map(|text| format!("{text:?}")))
        .collect();
    texts.map(|texts| texts.join(","))
}

/// Whether most attributes of both rows are equal, except keys, their parts, and values that were dropped
/// when the row was read.
fn resembles(row: &Item, version: &Item, aside: &[&str]) -> bool {
    let shared: Vec<(&AttributeValue, &AttributeValue)> = row
        .iter()
        .filter(|(name, value)| !aside.contains(&name.as_str()) && text_of(value).is_some())
        .filter_map(|(name, value)| Some((value, version.get(name)?)))
        .collect();
    let equal = shared.iter().filter(|(one, two)| one == two).count();
    equal > 0 && equal * 10 >= shared.len() * 5
}
