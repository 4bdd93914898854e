//! Entities that look like entries: a row for each member of a list, set or map of another row. Only
//! suggested.

use std::collections::BTreeMap;

use trestle_item::{AttributeValue, Item};
use trestle_model::{AttributeKind, Model};

use crate::draft::{Draft, Suggestion};
use crate::head::identity_text;
use crate::row::text_of;
use crate::write::{capitalised, key, quoted};

/// Fewer rows may be a coincidence.
const ROWS_MIN: usize = 2;

/// For each draft, the entries that it may be.
pub(crate) fn suggestions(drafts: &[Draft], rows: &[Item], model: &Model) -> Vec<Option<Suggestion>> {
    let suggest = |entries: &Draft| {
        let mut others = drafts.iter().filter(|other| other.name != entries.name);
        others.find_map(|of| suggestion(entries, of, rows, model))
    };
    drafts.iter().map(suggest).collect()
}

/// The possible source of a draft's entries.
struct Found<'d> {
    /// The attribute with the members.
    of: &'d str,
    is_map: bool,
    /// The attribute of an entry that contains the member.
    member: &'d str,
    /// Rows that are entries.
    count: usize,
}

fn suggestion(entries: &Draft, of: &Draft, rows: &[Item], model: &Model) -> Option<Suggestion> {
    let owner = of.identity();
    let identity = entries.identity();
    let extra: Vec<&str> = identity
        .iter()
        .copied()
        .filter(|name| !owner.contains(name))
        .collect();
    if owner.is_empty() || !owner.iter().all(|name| identity.contains(name)) {
        return None;
    }
    let mut owners = BTreeMap::new();
    for row in of.rows.iter().filter_map(|at| rows.get(*at)) {
        owners.insert(identity_text(of, &owner, row, model)?, row);
    }
    // An entry contains other attributes of its row, and one member.
    let can_be_member = |name: &&&str| {
        extra
            .iter()
            .all(|one| one == *name || of.attributes.contains_key(*one))
    };
    let members = extra.iter().filter(can_be_member);
    let pairs = members.flat_map(|member| collections(of).map(move |attribute| (*member, attribute)));
    let found = pairs.filter_map(|(member, attribute)| {
        let count = count(entries, (&owner, &owners), (member, attribute.0), rows, model);
        let enough = count >= ROWS_MIN && count * 2 >= entries.rows.len();
        enough.then_some(Found {
            of: attribute.0,
            is_map: attribute.1 == AttributeKind::Map,
            member,
            count,
        })
    });
    let found = found.max_by_key(|found| found.count)?;
    let short = format!(
        "perhaps entries of `{}`: {} of {} rows are of a row whose `{}` has the member",
        of.name,
        found.count,
        entries.rows.len(),
        found.of
    );
    Some(Suggestion {
        comments: comments(&short, entries, of, &found),
        short,
    })
}

/// The attributes that have members.
fn collections(of: &Draft) -> impl Iterator<Item = (&str, AttributeKind)> {
    of.attributes.iter().filter_map(|(name, attribute)| {
        let has_members = matches!(
            attribute.kind,
            AttributeKind::List | AttributeKind::Map | AttributeKind::StringSet | AttributeKind::NumberSet
        );
        has_members.then_some((name.as_str(), attribute.kind))
    })
}

/// How many rows have a source row with their member.
fn count(
    entries: &Draft,
    (owner, owners): (&[&str], &BTreeMap<String, &Item>),
    (member, attribute): (&str, &str),
    rows: &[Item],
    model: &Model,
) -> usize {
    let is_entry = |row: &&Item| {
        let of = identity_text(entries, owner, row, model).and_then(|text| owners.get(&text));
        let entity = model.entity(&entries.name);
        let said = entity.and_then(|entity| entity.identify(row));
        let text = said.and_then(|said| said.get(member).and_then(text_of));
        of.zip(text)
            .is_some_and(|(of, text)| has_member(of.get(attribute), &text))
    };
    entries
        .rows
        .iter()
        .filter_map(|at| rows.get(*at))
        .filter(is_entry)
        .count()
}

fn has_member(value: Option<&AttributeValue>, text: &str) -> bool {
    let is_it = |value: &AttributeValue| text_of(value).is_some_and(|one| one == text);
    match value {
        Some(AttributeValue::L(list)) => list.iter().any(is_it),
        Some(AttributeValue::Ss(set)) => set.iter().any(|one| one == text),
        Some(AttributeValue::Ns(set)) => set.iter().any(|one| one.to_string() == text),
        Some(AttributeValue::M(map)) => map.contains_key(text),
        _ => false,
    }
}

fn comments(short: &str, entries: &Draft, of: &Draft, found: &Found<'_>) -> Vec<String> {
    let mut lines = vec![
        format!("{}.", capitalised(short)),
        "If the database shall keep them, put this in the place of the entity:".to_owned(),
        format!(
            "  [entity.{}.entries.{}]",
            key(&of.name),
            key(&format!("by_{}", found.member))
        ),
        format!("  of = {}", quoted(found.of)),
        member_line(entries, found),
    ];
    for own in entries.keys.iter().chain(&entries.index_keys) {
        lines.push(format!(
            "  key.{} = {}",
            key(&own.attribute),
            quoted(&own.source())
        ));
    }
    let identity = entries.identity();
    let carried = entries.attributes.keys().filter(|name| {
        *name != found.member && !identity.contains(&name.as_str()) && of.attributes.contains_key(*name)
    });
    let carried: Vec<String> = carried.map(|name| quoted(name)).collect();
    if !carried.is_empty() {
        lines.push(format!("  project = [{}]", carried.join(", ")));
    }
    lines
}

/// The attribute that contains the member, with its type unless it is a string.
fn member_line(entries: &Draft, found: &Found<'_>) -> String {
    let word = if found.is_map { "name" } else { "member" };
    let kind = entries
        .attributes
        .get(found.member)
        .map(|attribute| attribute.kind);
    match kind {
        Some(kind) if kind != AttributeKind::String => {
            format!("  {word}.{} = {}", key(found.member), quoted(kind.name()))
        }
        _ => format!("  {word} = {}", quoted(found.member)),
    }
}
