//! `entries`: a row for each member of a list, set or map, so that rows are found by their members.

use std::collections::BTreeMap;

use trestle_item::key::{self, HASH_BYTES_MAX, RANGE_BYTES_MAX};
use trestle_item::{AttributeValue, Item, size};

use super::Stopped;
use super::ledger::{At, Ledger};
use super::plan::Parts;
use super::settle::{Row, identified};
use crate::attribute::{AttributeKind, plain};
use crate::effect::{Entries, Member, MemberPart};
use crate::entity::Entity;
use crate::refusal::Refusal;
use crate::template::RenderError;

/// The most entries of one row under one name. All of them may be replaced in one write, beside those of other rows of
/// the request: far fewer rows than may follow from a request.
pub(crate) const ENTRIES_MAX: usize = 1_000;
/// The most bytes of those entries together: as much as a transaction of DynamoDB may write.
const ENTRIES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is known about entries before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) entries: Entries,
    /// Position of the entity of the entries.
    pub(super) entity: usize,
    /// Attributes of the row that an entry has.
    carried: Vec<String>,
}

/// An entry as it must be.
pub(super) struct Entry {
    pub(super) key: Item,
    /// Without its key and its tag.
    pub(super) content: Item,
}

/// The entries of a row by the bytes of their keys.
pub(super) type EntryRows = BTreeMap<Vec<u8>, Entry>;

impl Step {
    pub(super) fn of(parts: &Parts<'_>, entries: &Entries) -> Option<Self> {
        let entity = parts.position(&entries.entity)?;
        let attributes = parts.entities.get(entity)?.attributes.iter();
        let is_member = |name: &str| entries.member.parts().any(|part| part.attribute == name);
        let carried = attributes.filter(|attribute| !is_member(&attribute.name));
        Some(Step {
            entity,
            carried: carried.map(|attribute| attribute.name.clone()).collect(),
            entries: entries.clone(),
        })
    }

    /// Whether two states of a row have the same entries for sure.
    fn is_unchanged(&self, old: &Item, new: &Item) -> bool {
        let mut names = std::iter::once(&self.entries.of).chain(&self.carried);
        names.all(|name| old.get(name) == new.get(name))
    }

    /// The entries of a row. A row that lacks an attribute of their key has none.
    pub(super) fn rows(&self, of: &Entity, entry: &Entity, row: &Item) -> Result<EntryRows, Refusal> {
        let members = self.members(of, entry, row)?;
        let mut rows = EntryRows::new();
        let needed = entry.identity.iter().filter(|name| self.carried.contains(name));
        if !needed.into_iter().all(|name| row.contains_key(name)) {
            return Ok(rows);
        }
        let mut total = 0;
        for member in members.into_values() {
            let made = self.entry(entry, row, &member);
            let made = made.map_err(|error| self.refused(of, &member, error))?;
            total += size::of_item(&made.content);
            if total > ENTRIES_BYTES_MAX {
                return Err(self.too_large(of));
            }
            rows.insert(bytes(entry, &made.key)?, made);
        }
        Ok(rows)
    }

    /// The members of a row by their texts: one that is there twice is one entry.
    fn members(
        &self,
        of: &Entity,
        entry: &Entity,
        row: &Item,
    ) -> Result<BTreeMap<String, Vec<(String, AttributeValue)>>, Refusal> {
        let mut members = BTreeMap::new();
        for raw in raw_members(row.get(&self.entries.of)) {
            let held = self.held(entry, &raw);
            let held = held.map_err(|reason| self.unfit(of, &raw.shown(), &reason))?;
            let text = held.first().map(|(_, value)| plain(value)).unwrap_or_default();
            members.insert(text, held);
        }
        if members.len() > ENTRIES_MAX {
            return Err(Refusal::Unfit {
                entity: of.name.clone(),
                attribute: self.entries.of.clone(),
                reason: format!(
                    "has {} members, and entries {} makes at most {ENTRIES_MAX} rows of one; keep fewer members in one row",
                    members.len(),
                    self.entries.name
                ),
            });
        }
        Ok(members)
    }

    /// The attributes of an entry that hold a member. The error is the rest of a sentence about the member.
    fn held(&self, entry: &Entity, raw: &RawMember<'_>) -> Result<Vec<(String, AttributeValue)>, String> {
        let hold = |part: &MemberPart, value: &AttributeValue| -> Result<_, String> {
            let value = as_kind(value, part.kind)?;
            match entry.attribute(&part.attribute) {
                Some(attribute) => attribute.check(&value)?,
                None => debug_assert!(false, "an entry lacks the attribute of its member"),
            }
            Ok((part.attribute.clone(), value))
        };
        match (&self.entries.member, raw) {
            (Member::Element(part), RawMember::Element(value)) => Ok(vec![hold(part, value)?]),
            (Member::Pair { name, value }, RawMember::Pair(own_name, own_value)) => {
                let mut held = vec![hold(name, &(*own_name).into())?];
                if let Some(part) = value {
                    held.push(hold(part, own_value)?);
                }
                Ok(held)
            }
            // The attribute is of another type than the model says, which is refused for that reason.
            _ => Err("is of another type than the model says".to_owned()),
        }
    }

    fn entry(
        &self,
        entry: &Entity,
        row: &Item,
        member: &[(String, AttributeValue)],
    ) -> Result<Entry, RenderError> {
        let carried = self.carried.iter();
        let carried = carried.filter_map(|name| Some((name.clone(), row.get(name)?.clone())));
        let content: Item = carried.chain(member.iter().cloned()).collect();
        let mut key = Item::with_capacity(entry.table_key.len());
        for (at, template) in entry.table_key.iter().enumerate() {
            let value = template.render(&content)?;
            self.check_length(at, &value)?;
            key.insert(template.attribute.clone(), value);
        }
        Ok(Entry { key, content })
    }

    /// The member is what makes one entry's key longer than another's.
    fn check_length(&self, at: usize, value: &AttributeValue) -> Result<(), RenderError> {
        let (what, most) = match at {
            0 => ("partition", HASH_BYTES_MAX),
            _ => ("sort", RANGE_BYTES_MAX),
        };
        match value.as_s() {
            Some(text) if text.len() > most => Err(RenderError::Unfit {
                attribute: self.entries.member.identifying().attribute.clone(),
                reason: format!(
                    "gives its entry a {what} key of {} bytes, and {most} are the most",
                    text.len()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Why there can be no entry, said about the row that was written.
    fn refused(&self, of: &Entity, member: &[(String, AttributeValue)], error: RenderError) -> Refusal {
        match error {
            RenderError::Unfit { attribute, reason } => {
                match member.iter().find(|(name, _)| *name == attribute) {
                    Some((_, value)) => self.unfit(of, &shown(value), &reason),
                    None => Refusal::Unfit {
                        entity: of.name.clone(),
                        attribute,
                        reason,
                    },
                }
            }
            RenderError::Missing { .. } => Refusal::defect("an entry lacks an attribute of its key"),
        }
    }

    fn too_large(&self, of: &Entity) -> Refusal {
        Refusal::Unfit {
            entity: of.name.clone(),
            attribute: self.entries.of.clone(),
            reason: format!(
                "has so many members that the entries {} of the row would have more than {ENTRIES_BYTES_MAX} bytes; project \
                 less into them, or keep fewer members in one row",
                self.entries.name
            ),
        }
    }

    fn unfit(&self, of: &Entity, member: &str, reason: &str) -> Refusal {
        Refusal::Unfit {
            entity: of.name.clone(),
            attribute: self.entries.of.clone(),
            reason: format!(
                "has a member of which no entry {} can be made: {member} {reason}",
                self.entries.name
            ),
        }
    }
}

/// A member as the row has it.
enum RawMember<'i> {
    Element(std::borrow::Cow<'i, AttributeValue>),
    Pair(&'i str, &'i AttributeValue),
}

impl RawMember<'_> {
    /// Its name in a message.
    fn shown(&self) -> String {
        match self {
            Self::Element(value) => shown(value),
            Self::Pair(name, value) => format!("{name:?} with {}", shown(value)),
        }
    }
}

fn raw_members(value: Option<&AttributeValue>) -> Vec<RawMember<'_>> {
    use std::borrow::Cow::{Borrowed, Owned};
    match value {
        Some(AttributeValue::L(list)) => list
            .iter()
            .map(|value| RawMember::Element(Borrowed(value)))
            .collect(),
        Some(AttributeValue::Ss(set)) => set
            .iter()
            .map(|text| RawMember::Element(Owned(text.as_str().into())))
            .collect(),
        Some(AttributeValue::Ns(set)) => set
            .iter()
            .map(|number| RawMember::Element(Owned(AttributeValue::N(*number))))
            .collect(),
        Some(AttributeValue::M(map)) => map
            .iter()
            .map(|(name, value)| RawMember::Pair(name, value))
            .collect(),
        _ => Vec::new(),
    }
}

/// A member as an attribute of this type. A string holds the text of any scalar.
fn as_kind(value: &AttributeValue, kind: AttributeKind) -> Result<AttributeValue, String> {
    match (value, kind) {
        (AttributeValue::N(_) | AttributeValue::Bool(_), AttributeKind::String) => {
            Ok(AttributeValue::S(plain(value)))
        }
        (AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::Bool(_), _) => Ok(value.clone()),
        _ => Err("is neither a string nor a number nor a boolean".to_owned()),
    }
}

/// A member in a message.
fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::Bool(_) => {
            crate::attribute::shown(value)
        }
        other => format!("a value of type {}", other.type_name()),
    }
}

/// The bytes of an entry's key, as audits have them.
pub(super) fn bytes(entry: &Entity, key: &Item) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(64);
    for template in &entry.table_key {
        let value = key.get(&template.attribute);
        let encoded = value.and_then(|value| key::encode_component(value, &mut bytes));
        encoded.ok_or_else(|| Refusal::defect("the key of an entry is no key"))?;
    }
    Ok(bytes)
}

pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    if row
        .old
        .zip(new)
        .is_some_and(|(old, new)| step.is_unchanged(old, new))
    {
        return Ok(());
    }
    let entry = ledger.model.known_entity(step.entity)?;
    // A row from before the model may have members of which no entries can be made.
    let before = row.old.and_then(|old| step.rows(row.entity, entry, old).ok());
    let before = before.unwrap_or_default();
    let after = match new {
        Some(new) => step.rows(row.entity, entry, new)?,
        None => EntryRows::new(),
    };
    for (bytes, gone) in &before {
        if !after.contains_key(bytes) {
            let at = ledger.find(entry, gone.key.clone())?;
            ledger.remove(at);
        }
    }
    for (bytes, made) in after {
        if before
            .get(&bytes)
            .is_none_or(|known| known.content != made.content)
        {
            let at = ledger.find(entry, made.key)?;
            ledger.put(entry, at, made.content);
        }
    }
    Ok(())
}

/// What the entry at a place must be; `None` if there must be none.
pub(super) fn wanted(
    ledger: &mut Ledger<'_, '_>,
    entry: &Entity,
    of: &Entity,
    at: At,
) -> Result<Option<Item>, Stopped> {
    let steps = ledger.model.plan_of(of).map_or(&[][..], |plan| &plan.entries);
    let Some(step) = steps.iter().find(|step| step.entity == entry.position) else {
        return Err(Refusal::defect("an entry follows from no effect").into());
    };
    // The key of an entry says which row it is of.
    let key = ledger.key(at).cloned().unwrap_or_default();
    let Some(owner) = entry.identify(&key).and_then(|said| of.key_from(&said).ok()) else {
        return Ok(None);
    };
    let owner = ledger.find(of, owner)?;
    let Some(row) = ledger.row(owner).map(|row| identified(of, row)) else {
        return Ok(None);
    };
    let rows = step.rows(of, entry, &row).ok();
    let made = rows.and_then(|mut rows| rows.remove(&bytes(entry, &key).ok()?));
    Ok(made.map(|made| made.content))
}
