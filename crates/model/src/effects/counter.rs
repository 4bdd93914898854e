//! `counter`: a count of rows, each once.

use std::sync::Arc;

use trestle_item::{AttributeValue, Item, Number};

use super::Stopped;
use super::ledger::{At, Ledger};
use super::members::joined;
use super::pairs::{key_of_other, related};
use super::plan::Parts;
use super::settle::{Row, identified};
use crate::attribute::{plain, said};
use crate::effect::{Amount, Counter, Once};
use crate::entity::Entity;
use crate::recognise::stands_alone;
use crate::refusal::Refusal;

const OUT_OF_BOUNDS: &str = "cannot count any further";

/// What is known about a counter before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) counter: Counter,
    /// Position of the entity that counts.
    pub(super) entity: usize,
    /// Whether the counting row can be created from its identity alone.
    pub(super) stands_alone: bool,
}

/// What one row counts, and where.
struct Count {
    identity: Item,
    key: Item,
    amount: Number,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, counter: &Counter) -> Option<Self> {
        let entity = parts.position(&counter.entity)?;
        Some(Step {
            entity,
            stands_alone: parts.entities.get(entity).is_some_and(stands_alone),
            counter: counter.clone(),
        })
    }

    /// `None` for a row that does not count.
    fn count(&self, entity: &Entity, other: &Entity, item: &Item) -> Result<Option<Count>, Refusal> {
        if !self.applies_to(item) {
            return Ok(None);
        }
        let Some(identity) = related(other, &self.counter.with, item) else {
            return Ok(None);
        };
        Ok(Some(Count {
            key: key_of_other(entity, other, &identity)?,
            identity,
            amount: self.amount(item),
        }))
    }

    /// Whether a row counts.
    pub(super) fn applies_to(&self, item: &Item) -> bool {
        let mut only = self.counter.only.iter();
        only.all(|(name, value)| item.get(name) == Some(value))
    }

    /// How much a row counts. Without the attribute it counts as zero.
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

    /// The initial value of a count.
    pub(super) fn base(&self, other: &Entity) -> Number {
        other.count_base(&self.counter.attribute)
    }

    fn refused(&self, other: &Entity, reason: &str) -> Refusal {
        unfit(other, &self.counter.attribute, reason)
    }

    /// Counts in a row.
    pub(super) fn add(&self, other: &Entity, item: &mut Item, amount: &Number) -> Result<(), Refusal> {
        add(other, &self.counter.attribute, item, amount)
    }

    /// Counts in a row of the ledger.
    fn count_in(
        &self,
        ledger: &mut Ledger<'_, '_>,
        other: &Entity,
        at: At,
        mut item: Item,
        amount: &Number,
    ) -> Result<(), Refusal> {
        self.add(other, &mut item, amount)?;
        ledger.put(other, at, item);
        Ok(())
    }

    fn no_parent(&self, entity: &Entity, other: &Entity, identity: &Item) -> Refusal {
        Refusal::NoParent {
            entity: entity.name.clone(),
            counter: self.counter.name.clone(),
            parent: other.name.clone(),
            identity: said(identity),
        }
    }
}

pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    match &step.counter.once {
        Once::Row => count_rows(ledger, step, row, new),
        Once::Event { attributes, seen } => count_events(ledger, step, attributes, seen, row, new),
    }
}

fn count_rows(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let old = row.old;
    let other = ledger.model.known_entity(step.entity)?;
    // A value that cannot be counted never was.
    let before = old.and_then(|old| step.count(row.entity, other, old).ok().flatten());
    let after = match new {
        Some(new) => step.count(row.entity, other, new)?,
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
        let taken = Number::default().checked_sub(&before.amount);
        let taken = taken.map_err(|_| step.refused(other, OUT_OF_BOUNDS))?;
        let at = ledger.find(other, before.key)?;
        match ledger.row(at) {
            Some(row) => step.count_in(ledger, other, at, Arc::unwrap_or_clone(row), &taken)?,
            None => add_to_orphan(ledger, other, &step.counter.attribute, &before.identity, &taken)?,
        }
    }
    if let Some(after) = after {
        let at = ledger.find(other, after.key)?;
        let refers =
            || old.and_then(|old| related(other, &step.counter.with, old)) == Some(after.identity.clone());
        match ledger.row(at) {
            Some(row) => step.count_in(ledger, other, at, Arc::unwrap_or_clone(row), &after.amount)?,
            None if step.stands_alone => step.count_in(ledger, other, at, after.identity, &after.amount)?,
            None if refers() => {
                add_to_orphan(
                    ledger,
                    other,
                    &step.counter.attribute,
                    &after.identity,
                    &after.amount,
                )?;
            }
            None => return Err(step.no_parent(row.entity, other, &after.identity).into()),
        }
    }
    Ok(())
}

/// A new counting row restores what was counted while it was missing.
pub(super) fn recall(
    ledger: &mut Ledger<'_, '_>,
    row: &Row<'_>,
    item: &mut Arc<Item>,
) -> Result<(), Stopped> {
    let counts = row.entity.row_counts();
    if row.old.is_some() || counts.is_empty() {
        return Ok(());
    }
    let identity = identified(row.entity, Arc::clone(item));
    for attribute in counts {
        let orphan = ledger.orphan_count(row.entity, attribute, &identity)?;
        let count = std::mem::take(&mut orphan.count);
        if count != Number::default() {
            add(row.entity, attribute, Arc::make_mut(item), &count)?;
        }
    }
    Ok(())
}

/// A client may give a new row the counts that will be restored. They are left out here, because [`recall`]
/// adds them; another count is refused with an error that names the right one.
pub(super) fn leave_out_recalled(
    ledger: &mut Ledger<'_, '_>,
    entity: &Entity,
    item: &mut Arc<Item>,
) -> Result<(), Stopped> {
    for attribute in entity.row_counts() {
        let base = entity.count_base(attribute);
        let given = item.get(attribute).and_then(AttributeValue::as_n).copied();
        let Some(given) = given.filter(|given| *given != base) else {
            continue;
        };
        let identity = identified(entity, Arc::clone(item));
        let orphan = ledger.orphan_count(entity, attribute, &identity)?;
        let count = base.checked_add(&orphan.count);
        let count = count.map_err(|_| unfit(entity, attribute, OUT_OF_BOUNDS))?;
        if given != count {
            return Err(entity.other_count(attribute, given, count).into());
        }
        Arc::make_mut(item).remove(attribute);
    }
    Ok(())
}

/// A counting row is removed: its counts are kept while the counted rows exist.
pub(super) fn leave(ledger: &mut Ledger<'_, '_>, row: &Row<'_>) -> Result<(), Stopped> {
    let Some(old) = row.old else { return Ok(()) };
    for attribute in row.entity.row_counts() {
        let Some(counted) = old.get(attribute).and_then(AttributeValue::as_n) else {
            continue;
        };
        let count = counted.checked_sub(&row.entity.count_base(attribute));
        let count = count.map_err(|_| unfit(row.entity, attribute, OUT_OF_BOUNDS))?;
        if count != Number::default() {
            add_to_orphan(ledger, row.entity, attribute, old, &count)?;
        }
    }
    Ok(())
}

pub(super) fn add_to_orphan(
    ledger: &mut Ledger<'_, '_>,
    other: &Entity,
    attribute: &str,
    identity: &Item,
    amount: &Number,
) -> Result<(), Stopped> {
    let orphan = ledger.orphan_count(other, attribute, identity)?;
    let sum = orphan.count.checked_add(amount);
    orphan.count = sum.map_err(|_| unfit(other, attribute, OUT_OF_BOUNDS))?;
    Ok(())
}

/// Counts in an attribute of a row.
fn add(entity: &Entity, attribute: &str, item: &mut Item, amount: &Number) -> Result<(), Refusal> {
    let stored = match item.get(attribute) {
        None => entity.count_base(attribute),
        Some(AttributeValue::N(number)) => *number,
        Some(_) => {
            return Err(unfit(
                entity,
                attribute,
                "is no number, and a counter counts in it",
            ));
        }
    };
    let sum = stored.checked_add(amount);
    item.insert(
        attribute,
        sum.map_err(|_| unfit(entity, attribute, OUT_OF_BOUNDS))?,
    );
    Ok(())
}

fn unfit(entity: &Entity, attribute: &str, reason: &str) -> Refusal {
    Refusal::Unfit {
        entity: entity.name.clone(),
        attribute: attribute.to_owned(),
        reason: reason.to_owned(),
    }
}

/// An event counts when it is first seen, and stays seen when its row is changed or removed: otherwise a
/// redelivery would count again.
pub(super) fn count_events(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    attributes: &[String],
    seen: &str,
    counted: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let old = counted.old;
    let other = ledger.model.known_entity(step.entity)?;
    let Some((new, event)) = new.and_then(|new| Some((new, event(attributes, new)?))) else {
        return Ok(());
    };
    let Some(count) = step.count(counted.entity, other, new)? else {
        return Ok(());
    };
    let before = old.and_then(|old| step.count(counted.entity, other, old).ok().flatten());
    let known = before.is_some_and(|before| before.key == count.key);
    if known && old.and_then(|old| self::event(attributes, old)).as_ref() == Some(&event) {
        return Ok(());
    }
    let at = ledger.find(other, count.key)?;
    let row = ledger.row(at);
    if row.is_none() && !step.stands_alone {
        return Err(step.no_parent(counted.entity, other, &count.identity).into());
    }
    if let Some(events) = joined(row.as_deref(), seen, &event) {
        let mut item = row.map_or(count.identity, Arc::unwrap_or_clone);
        item.insert(seen, events);
        step.count_in(ledger, other, at, item, &count.amount)?;
    }
    Ok(())
}

/// The text by which an event is remembered; `None` if the row lacks one of its attributes. The text of a
/// single attribute is used as it is; several are joined so that two events never have the same text.
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
