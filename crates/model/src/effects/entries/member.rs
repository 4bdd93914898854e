//! Members of an attribute, in the row and in an entry.

use std::borrow::Cow;

use trestle_item::AttributeValue;

use crate::attribute::{self, AttributeKind, plain};
use crate::effect::{Member, MemberPart};
use crate::entity::Entity;

/// The attributes of an entry that hold its member.
pub(super) type Held = Vec<(String, AttributeValue)>;

/// A member in the row.
pub(super) enum RawMember<'i> {
    Element(Cow<'i, AttributeValue>),
    Pair(&'i str, &'i AttributeValue),
}

impl<'i> RawMember<'i> {
    /// The members of an attribute. An attribute without members is refused where types are checked.
    pub(super) fn all(value: Option<&'i AttributeValue>) -> Vec<Self> {
        let owned = |value: AttributeValue| Self::Element(Cow::Owned(value));
        match value {
            Some(AttributeValue::L(list)) => list
                .iter()
                .map(|value| Self::Element(Cow::Borrowed(value)))
                .collect(),
            Some(AttributeValue::Ss(set)) => set.iter().map(|text| owned(text.as_str().into())).collect(),
            Some(AttributeValue::Ns(set)) => set
                .iter()
                .map(|number| owned(AttributeValue::N(*number)))
                .collect(),
            Some(AttributeValue::M(map)) => map.iter().map(|(name, value)| Self::Pair(name, value)).collect(),
            _ => Vec::new(),
        }
    }

    /// The member of an attribute that an entry holds as this value. No other member is examined.
    pub(super) fn held_as(value: Option<&'i AttributeValue>, held: &AttributeValue) -> Option<Self> {
        match (value?, held) {
            (AttributeValue::L(list), _) => {
                let found = list.iter().find(|one| is_held_as(one, held))?;
                Some(Self::Element(Cow::Borrowed(found)))
            }
            (AttributeValue::Ss(set), AttributeValue::S(text)) => {
                let found = set.contains(text);
                found.then(|| Self::Element(Cow::Owned(held.clone())))
            }
            (AttributeValue::Ns(set), _) => {
                let mut numbers = set.iter().map(|number| AttributeValue::N(*number));
                let found = numbers.find(|number| is_held_as(number, held))?;
                Some(Self::Element(Cow::Owned(found)))
            }
            (AttributeValue::M(map), AttributeValue::S(text)) => {
                let (name, value) = map.iter().find(|(name, _)| *name == text)?;
                Some(Self::Pair(name, value))
            }
            _ => None,
        }
    }

    /// The text that distinguishes it from other members, and what an entry holds of it. The error completes
    /// a sentence about it.
    pub(super) fn hold(&self, member: &Member, entry: &Entity) -> Result<(String, Held), String> {
        match (member, self) {
            (Member::Element(part), Self::Element(value)) => {
                let held = hold(part, value, entry)?;
                Ok((plain(&held), vec![(part.attribute.clone(), held)]))
            }
            (Member::Pair { name, value }, Self::Pair(own_name, own_value)) => {
                let held = hold(name, &(*own_name).into(), entry)?;
                let mut all = vec![(name.attribute.clone(), held)];
                if let Some(part) = value {
                    all.push((part.attribute.clone(), hold(part, own_value, entry)?));
                }
                Ok(((*own_name).to_owned(), all))
            }
            (Member::Element(_), Self::Pair(..)) => {
                Err("is a pair of a map, and no map is declared".to_owned())
            }
            (Member::Pair { .. }, Self::Element(_)) => Err("is no pair, and a map is declared".to_owned()),
        }
    }

    /// Its name in a message.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Element(value) => shown(value),
            Self::Pair(name, value) => format!("{name:?} with {}", shown(value)),
        }
    }
}

/// A part of a member as the attribute of an entry.
fn hold(part: &MemberPart, value: &AttributeValue, entry: &Entity) -> Result<AttributeValue, String> {
    let value = as_kind(value, part.kind)?;
    match entry.attribute(&part.attribute) {
        Some(attribute) => attribute.check(&value)?,
        None => debug_assert!(false, "an entry lacks the attribute of its member"),
    }
    Ok(value)
}

/// A scalar as a value of this type. A string holds the text of any scalar.
fn as_kind(value: &AttributeValue, kind: AttributeKind) -> Result<AttributeValue, String> {
    match (value, kind) {
        (AttributeValue::N(_) | AttributeValue::Bool(_), AttributeKind::String) => {
            Ok(AttributeValue::S(plain(value)))
        }
        (AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::Bool(_), _) => Ok(value.clone()),
        _ => Err("is neither a string nor a number nor a boolean".to_owned()),
    }
}

/// Whether an entry with this value holds a scalar: the scalar itself, or its text.
fn is_held_as(value: &AttributeValue, held: &AttributeValue) -> bool {
    match (value, held) {
        (AttributeValue::N(_) | AttributeValue::Bool(_), AttributeValue::S(text)) => plain(value) == *text,
        _ => value == held,
    }
}

/// A member in a message.
pub(super) fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::Bool(_) => attribute::shown(value),
        other => format!("a value of type {}", other.type_name()),
    }
}
