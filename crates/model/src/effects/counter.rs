//! `counter`: a count of rows, each once.

use std::sync::Arc;

use trestle_item::{AttributeValue, Item, Number};

use super::Stopped;
use super::ledger::Ledger;
use super::members::joined;
use super::pairs::related;
use super::plan::Parts;
use super::settle::Row;
use crate::attribute::plain;
use crate::effect::{Amount, Counter, Once};
use crate::entity::Entity;
use crate::refusal::Refusal;

/// What is known about a counter before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) counter: Counter,
    /// Position of the entity that counts.
    pub(super) entity: usize,
}

/// What one row counts, and where.
struct Count {
    identity: Item,
    key: Item,
    amount: Number,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, counter: &Counter) -> Option<Self> {
        Some(Step {
            entity: parts.position(&counter.entity)?,
            counter: counter.clone(),
        })
    }

    /// `None` for a row that does not count.
    fn count(&self, other: &Entity, item: &Item) -> Result<Option<Count>, Refusal> {
        if !self.applies_to(item) {
            return Ok(None);
        }
        let Some(identity) = related(other, &self.counter.with, item) else {
            return Ok(None);
        };
        Ok(Some(Count {
            key: other.key_from(&identity)?,
            identity,
            amount: self.amount(item),
        }))
    }

    /// Whether a row is one of those that count.
    pub(super) fn applies_to(&self, item: &Item) -> bool {
        let mut only = self.counter.only.iter();
        only.all(|(name, value)| item.get(name) == Some(value))
    }

    /// How much a row counts. One without the attribute counts nothing.
    pub(super) fn amount(&self, item: &Item) -> Number {
        match &self.counter.by {
            Amount::Fixed(amount) => Number::from(*amount),
            Amount::Attribute(name) => item
                .get(name)
                .and_then(AttributeValue::as_n)
                .copied()
                .unwrap_or_default(),
        }
    }

    /// What a counting row counts from.
    pub(super) fn base(&self, other: &Entity) -> Number {
        let attribute = other.attribute(&self.counter.attribute);
        let default = attribute.and_then(|attribute| attribute.default.as_ref()?.as_n());
        default.copied().unwrap_or_default()
    }

    fn refused(&self, other: &Entity, reason: impl Into<String>) -> Refusal {
        Refusal::Unfit {
            entity: other.name.clone(),
            attribute: self.counter.attribute.clone(),
            reason: reason.into(),
        }
    }

    pub(super) fn add(&self, other: &Entity, item: &mut Item, amount: &Number) -> Result<(), Refusal> {
        let stored = match item.get(&self.counter.attribute) {
            None => self.base(other),
            Some(AttributeValue::N(number)) => *number,
            Some(_) => return Err(self.refused(other, "is no number, and a counter counts in it")),
        };
        let sum = stored.checked_add(amount);
        let sum = sum.map_err(|_| self.refused(other, "cannot count any further"))?;
        item.insert(self.counter.attribute.clone(), sum);
        Ok(())
    }
}

pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    match &step.counter.once {
        Once::Row => count_rows(ledger, step, row.old, new),
        Once::Event { attributes, seen } => count_events(ledger, step, attributes, seen, row.old, new),
    }
}

fn count_rows(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let Some(other) = ledger.model.entities.get(step.entity) else {
        return Ok(());
    };
    // What could never be counted was not.
    let before = old.and_then(|old| step.count(other, old).ok().flatten());
    let after = match new {
        Some(new) => step.count(other, new)?,
        None => None,
    };
    let same = match (&before, &after) {
        (Some(before), Some(after)) => before.key == after.key && before.amount == after.amount,
        _ => false,
    };
    if same {
        return Ok(());
    }
    if let Some(before) = before {
        let at = ledger.find(other, before.key)?;
        // A count that is not there was not of this row.
        if let Some(counting) = ledger.row(at) {
            let mut item = (*counting).clone();
            let taken = Number::default().checked_sub(&before.amount);
            let taken = taken.map_err(|_| step.refused(other, "cannot count any further"))?;
            step.add(other, &mut item, &taken)?;
            ledger.put(other, at, item);
        }
    }
    if let Some(after) = after {
        let at = ledger.find(other, after.key)?;
        let mut item = ledger.row(at).map_or(after.identity, |row| (*row).clone());
        step.add(other, &mut item, &after.amount)?;
        ledger.put(other, at, item);
    }
    Ok(())
}

/// An event counts when it is first seen. That its row goes or changes does not make it unseen: a redelivery after
/// that would count again.
pub(super) fn count_events(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    attributes: &[String],
    seen: &str,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let Some(other) = ledger.model.entities.get(step.entity) else {
        return Ok(());
    };
    let Some((new, event)) = new.and_then(|new| Some((new, event(attributes, new)?))) else {
        return Ok(());
    };
    let Some(count) = step.count(other, new)? else {
        return Ok(());
    };
    let before = old.and_then(|old| step.count(other, old).ok().flatten());
    let known = before.is_some_and(|before| before.key == count.key);
    if known && old.and_then(|old| self::event(attributes, old)).as_ref() == Some(&event) {
        return Ok(());
    }
    let at = ledger.find(other, count.key)?;
    let row = ledger.row(at);
    if let Some(events) = joined(row.as_deref(), seen, &event) {
        let mut item = row.map_or(count.identity, Arc::unwrap_or_clone);
        item.insert(seen, events);
        step.add(other, &mut item, &count.amount)?;
        ledger.put(other, at, item);
    }
    Ok(())
}

/// What an event is remembered by; `None` if the row lacks an attribute of it. One attribute stands for itself; several
/// are joined so that two events never have the same text.
pub(super) fn event(attributes: &[String], item: &Item) -> Option<String> {
    if let [only] = attributes {
        return item.get(only).map(plain).filter(|text| !text.is_empty());
    }
    let part = |name: &String| {
        let text = plain(item.get(name)?);
        Some(text.replace('%', "%25").replace('#', "%23"))
    };
    let parts: Option<Vec<String>> = attributes.iter().map(part).collect();
    parts.map(|parts| parts.join("#"))
}
