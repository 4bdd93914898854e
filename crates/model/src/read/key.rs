//! `key = ["pk", "sk"]`, `key = ["id", { name = "at", type = "number" }]`, `key = [["a", "b"], "c"]`.

use trestle_item::ScalarType;

use super::section::{Section, Value, text};
use crate::draft::{DraftKey, DraftKeyAttribute};
use crate::problem::{Problems, suggestion};

const FORM: &str = "write `key = [\"pk\"]` or `key = [\"pk\", \"sk\"]`";

/// The key of a table or index, with at most `max` attributes for each of hash and range.
pub(super) fn read(section: &Section<'_>, max: usize, problems: &mut Problems<'_>) -> DraftKey {
    let Some(value) = section.value("key") else {
        return DraftKey::default();
    };
    let sides: Vec<&Value<'_>> = value
        .get_ref()
        .as_array()
        .map(|list| list.iter().collect())
        .unwrap_or_default();
    match sides.as_slice() {
        [hash] => DraftKey {
            hash: side(section, hash, max, problems),
            range: Vec::new(),
        },
        [hash, range] => DraftKey {
            hash: side(section, hash, max, problems),
            range: side(section, range, max, problems),
        },
        _ => {
            let message = format!("{}: `key` is not one or two key attributes", section.what);
            problems.error(value.span().start, message, FORM);
            DraftKey::default()
        }
    }
}

fn side(
    section: &Section<'_>,
    value: &Value<'_>,
    max: usize,
    problems: &mut Problems<'_>,
) -> Vec<DraftKeyAttribute> {
    let members: Vec<&Value<'_>> = match value.get_ref().as_array() {
        Some(list) => list.iter().collect(),
        None => vec![value],
    };
    if members.is_empty() || members.len() > max {
        let message = format!(
            "{}: a side of `key` has {} attributes",
            section.what,
            members.len()
        );
        let help = if max == 1 {
            "a table's key has one attribute on each side; only an index may have up to four".to_owned()
        } else {
            format!("write one to {max} attributes")
        };
        problems.error(value.span().start, message, help);
    }
    members
        .into_iter()
        .filter_map(|member| attribute(section, member, problems))
        .collect()
}

fn attribute(
    section: &Section<'_>,
    value: &Value<'_>,
    problems: &mut Problems<'_>,
) -> Option<DraftKeyAttribute> {
    if let Some(name) = text(value) {
        return Some(DraftKeyAttribute { name, kind: None });
    }
    let table = value.get_ref().as_table();
    let name = table.and_then(|table| text(table.get("name")?));
    let (Some(table), Some(name)) = (table, name) else {
        let message = format!("{}: a key attribute has no name", section.what);
        problems.error(
            value.span().start,
            message,
            "write \"pk\" or `{ name = \"at\", type = \"number\" }`",
        );
        return None;
    };
    let kind = table.get("type").map(|kind| (kind, text(kind)));
    let kind = match kind {
        None => None,
        Some((at, word)) => {
            let word = word.map(|word| word.value).unwrap_or_default();
            let known = match word.as_str() {
                "string" => Some(ScalarType::S),
                "number" => Some(ScalarType::N),
                "binary" => Some(ScalarType::B),
                _ => None,
            };
            if known.is_none() {
                let message = format!(
                    "{}: key attribute `{}` has no key's type",
                    section.what, name.value
                );
                problems.error(
                    at.span().start,
                    message,
                    suggestion(&word, ["string", "number", "binary"]),
                );
            }
            known
        }
    };
    Some(DraftKeyAttribute { name, kind })
}
