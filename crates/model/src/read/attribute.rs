//! `attributes = { rgn = "string", dplySts = { type = "string", optional = true } }`.

use trestle_item::{AttributeValue, Map};

use super::section::{Section, Value, described, integer, scalar, text};
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::chars::CharSet;
use crate::draft::Name;
use crate::fields;
use crate::problem::{Placed, Problems, suggestion};

/// The attributes that can be read; the names of the others are added to `unread`.
pub(super) fn read(
    entity: &Section<'_>,
    unread: &mut Vec<String>,
    problems: &mut Problems<'_>,
) -> Vec<Placed<Attribute>> {
    let mut attributes = Vec::new();
    for (name, value) in entity.entries("attributes", problems) {
        let what = format!("{}: attribute `{}`", entity.what, name.value);
        match attribute(&what, &name, value, problems) {
            Some(attribute) => attributes.push(Placed::new(attribute, name.at)),
            None => unread.push(name.value),
        }
    }
    attributes
}

pub(super) fn attribute(
    what: &str,
    name: &Name,
    value: &Value<'_>,
    problems: &mut Problems<'_>,
) -> Option<Attribute> {
    if let Some(word) = text(value) {
        return Some(Attribute::new(name.value.clone(), kind(what, &word, problems)?));
    }
    let Some(table) = value.get_ref().as_table() else {
        let message = format!("{what} is {}", described(value));
        problems.error(
            value.span().start,
            message,
            "write a type, such as \"string\", or `{ type = \"string\", optional = true }`",
        );
        return None;
    };
    let section = Section::open(what.to_owned(), name.at, table, fields::ATTRIBUTE, problems);
    let word = section.text("type", problems)?;
    let mut attribute = Attribute::new(name.value.clone(), kind(what, &word, problems)?);
    attribute.optional = section.is_set("optional", problems);
    attribute.immutable = section.is_set("immutable", problems);
    read_text_rules(&section, &mut attribute, problems);
    read_precision(&section, &mut attribute, problems);
    read_values(&section, &mut attribute, problems);
    Some(attribute)
}

fn kind(what: &str, word: &Name, problems: &mut Problems<'_>) -> Option<AttributeKind> {
    let kind = AttributeKind::from_name(&word.value);
    if kind.is_none() {
        let message = format!("{what} has the unknown type {:?}", word.value);
        problems.error(word.at, message, suggestion(&word.value, fields::kinds()));
    }
    kind
}

fn read_text_rules(section: &Section<'_>, attribute: &mut Attribute, problems: &mut Problems<'_>) {
    let chars = section.text("chars", problems);
    let length = section.value("length");
    let at = chars
        .as_ref()
        .map(|chars| chars.at)
        .or(length.map(|value| value.span().start));
    if let Some(at) = at
        && attribute.kind != AttributeKind::String
    {
        let message = format!("{} is of type {}", section.what, attribute.kind.name());
        problems.error(
            at,
            message,
            "`chars` and `length` are for strings only; leave them out",
        );
        return;
    }
    if let Some(chars) = chars {
        match CharSet::parse(&chars.value) {
            Ok(set) => {
                attribute.set = Some(set);
                attribute.chars = Some(chars.value);
            }
            Err(reason) => problems.error(
                chars.at,
                format!("{}: `chars` {reason}", section.what),
                "write characters and ranges, such as \"0-9a-f-\"",
            ),
        }
    }
    if let Some(value) = length {
        attribute.length = bounds(value);
        if attribute.length.is_none() {
            let message = format!("{}: `length` is no length", section.what);
            problems.error(
                value.span().start,
                message,
                "write a number of characters, such as 7, or bounds, such as \"1..36\"",
            );
        }
    }
}

fn read_precision(section: &Section<'_>, attribute: &mut Attribute, problems: &mut Problems<'_>) {
    let Some(name) = section.choice("precision", Precision::NAMES, problems) else {
        return;
    };
    if attribute.kind == AttributeKind::Timestamp {
        attribute.precision = Precision::from_name(name);
        return;
    }
    let at = section
        .value("precision")
        .map_or(section.at, |value| value.span().start);
    let message = format!("{} is of type {}", section.what, attribute.kind.name());
    problems.error(at, message, "`precision` is for timestamps only; leave it out");
}

fn bounds(value: &Value<'_>) -> Option<(usize, usize)> {
    let (min, max) = match value.get_ref().as_str() {
        Some(text) => {
            let (min, max) = text.split_once("..")?;
            (min.parse().ok()?, max.parse().ok()?)
        }
        None => {
            let length = usize::try_from(integer(value)?).ok()?;
            (length, length)
        }
    };
    (1..=max).contains(&min).then_some((min, max))
}

fn read_values(section: &Section<'_>, attribute: &mut Attribute, problems: &mut Problems<'_>) {
    if let Some(value) = section.value("one_of") {
        attribute.one_of = one_of(section, attribute, value, problems);
    }
    let Some(value) = section.value("default") else {
        return;
    };
    if attribute.optional {
        problems.error(
            value.span().start,
            format!("{} has a default and is optional", section.what),
            "with a default it is never missing; remove `optional` or `default`",
        );
    }
    attribute.default = checked(section, attribute, "default", value, problems);
}

fn one_of(
    section: &Section<'_>,
    attribute: &Attribute,
    value: &Value<'_>,
    problems: &mut Problems<'_>,
) -> Vec<AttributeValue> {
    let members: Vec<_> = value
        .get_ref()
        .as_array()
        .map(|list| list.iter().collect())
        .unwrap_or_default();
    if members.is_empty() {
        let message = format!("{}: `one_of` names no values", section.what);
        problems.error(value.span().start, message, "list the values it may have");
    }
    members
        .into_iter()
        .filter_map(|member| checked(section, attribute, "one_of", member, problems))
        .collect()
}

fn checked(
    section: &Section<'_>,
    attribute: &Attribute,
    field: &str,
    value: &Value<'_>,
    problems: &mut Problems<'_>,
) -> Option<AttributeValue> {
    let found = scalar(value).map(|found| found.value);
    let reason = match found.or_else(|| empty(value)) {
        None => format!("is {}", described(value)),
        Some(found) => match attribute.check(&found) {
            Ok(()) => return Some(found),
            Err(reason) => reason,
        },
    };
    problems.error(
        value.span().start,
        format!("{}: `{field}` {reason}", section.what),
        format!("write a value of type {}", attribute.kind.name()),
    );
    None
}

/// `{}` and `[]`: a map in which entries can be set, and a list to which elements can be added.
fn empty(value: &Value<'_>) -> Option<AttributeValue> {
    let value = value.get_ref();
    match (value.as_table(), value.as_array()) {
        (Some(table), _) if table.is_empty() => Some(AttributeValue::M(Map::new())),
        (_, Some(list)) if list.is_empty() => Some(AttributeValue::L(Vec::new())),
        _ => None,
    }
}
