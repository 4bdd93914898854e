//! Updates of top-level attributes: what they mean, and how they are written for the engine.

use std::collections::BTreeSet;

use trestle_item::{AttributeValue, Item};

use super::Refusal;
use super::condition::Writer;

/// A change of one attribute. No two changes of one update touch the same attribute.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) attribute: String,
    pub(crate) how: How,
}

#[derive(Clone, Debug)]
pub(crate) enum How {
    Set(AttributeValue),
    SetIfMissing(AttributeValue),
    /// `SET a = b + n`, which needs `b` to be a number.
    SetSum(String, i64),
    /// `SET a = list_append(if_not_exists(a, []), [x])`.
    Append(AttributeValue),
    Remove,
    AddNumber(i64),
    AddMembers(Vec<String>),
    DeleteMembers(Vec<String>),
}

/// Whether there are changes and each takes something away: that makes no item where none is.
pub(crate) fn only_removes(changes: &[Change]) -> bool {
    let removes = |change: &Change| matches!(change.how, How::Remove | How::DeleteMembers(_));
    !changes.is_empty() && changes.iter().all(removes)
}

/// The item after all changes, each of which sees the item as it was.
pub(crate) fn apply(changes: &[Change], before: &Item) -> Result<Item, Refusal> {
    let mut after = before.clone();
    for Change { attribute, how } in changes {
        let current = before.get(attribute);
        let new = match how {
            How::Set(value) => Some(value.clone()),
            How::SetIfMissing(value) => Some(current.unwrap_or(value).clone()),
            How::SetSum(other, number) => Some(sum(before.get(other), *number, None)?),
            How::Append(value) => match current {
                None => Some(AttributeValue::L(vec![value.clone()])),
                Some(AttributeValue::L(list)) => {
                    let mut list = list.clone();
                    list.push(value.clone());
                    Some(AttributeValue::L(list))
                }
                Some(_) => return Err(Refusal::validation()),
            },
            How::Remove => None,
            How::AddNumber(number) => Some(sum(current, *number, Some(0))?),
            How::AddMembers(members) => {
                let all = set(current)?.into_iter().chain(members.iter().cloned()).collect();
                members_value(all)
            }
            How::DeleteMembers(members) => {
                let left = set(current)?
                    .into_iter()
                    .filter(|member| !members.contains(member))
                    .collect();
                members_value(left)
            }
        };
        match new {
            Some(value) => after.insert(attribute.clone(), value),
            None => after.remove(attribute),
        };
    }
    Ok(after)
}

fn sum(
    current: Option<&AttributeValue>,
    number: i64,
    missing: Option<i64>,
) -> Result<AttributeValue, Refusal> {
    let current = match current {
        Some(AttributeValue::N(current)) => current.to_i64(),
        Some(_) => None,
        None => missing,
    };
    let current = current.ok_or_else(Refusal::validation)?;
    Ok(AttributeValue::from(current + number))
}

fn set(current: Option<&AttributeValue>) -> Result<BTreeSet<String>, Refusal> {
    match current {
        None => Ok(BTreeSet::new()),
        Some(AttributeValue::Ss(members)) => Ok(members.iter().cloned().collect()),
        Some(_) => Err(Refusal::validation()),
    }
}

fn members_value(members: BTreeSet<String>) -> Option<AttributeValue> {
    AttributeValue::string_set(members.into_iter().collect()).ok()
}

/// The update as an expression.
pub(crate) fn write(changes: &[Change], writer: &mut Writer) -> String {
    let mut clauses: [(&str, Vec<String>); 4] = [
        ("SET", Vec::new()),
        ("REMOVE", Vec::new()),
        ("ADD", Vec::new()),
        ("DELETE", Vec::new()),
    ];
    let strings = |members: &[String]| AttributeValue::string_set(members.to_vec()).unwrap();
    for Change { attribute, how } in changes {
        let name = writer.name(attribute);
        let (clause, text) = match how {
            How::Set(value) => (0, format!("{name} = {}", writer.value(value.clone()))),
            How::SetIfMissing(value) => (
                0,
                format!("{name} = if_not_exists({name}, {})", writer.value(value.clone())),
            ),
            How::SetSum(other, number) => (
                0,
                format!("{name} = {} + {}", writer.name(other), writer.value(*number)),
            ),
            How::Append(value) => {
                let empty = writer.value(Vec::<AttributeValue>::new());
                let more = writer.value(vec![value.clone()]);
                (
                    0,
                    format!("{name} = list_append(if_not_exists({name}, {empty}), {more})"),
                )
            }
            How::Remove => (1, name),
            How::AddNumber(number) => (2, format!("{name} {}", writer.value(*number))),
            How::AddMembers(members) => (2, format!("{name} {}", writer.value(strings(members)))),
            How::DeleteMembers(members) => (3, format!("{name} {}", writer.value(strings(members)))),
        };
        clauses[clause].1.push(text);
    }
    let used = clauses.iter().filter(|(_, actions)| !actions.is_empty());
    used.map(|(keyword, actions)| format!("{keyword} {}", actions.join(", ")))
        .collect::<Vec<_>>()
        .join(" ")
}
