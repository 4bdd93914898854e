//! `unique`: a value that no two rows share, kept by a row that only one of them can own.

use trestle_item::Item;

use super::Stopped;
use super::ledger::{At, Ledger};
use super::pairs::key_of_other;
use super::plan::Parts;
use super::settle::Row;
use crate::attribute::plain;
use crate::effect::Unique;
use crate::entity::Entity;
use crate::refusal::Refusal;

/// What is known about a unique value before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) unique: Unique,
    /// Position of the entity that keeps the value.
    pub(super) entity: usize,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, unique: &Unique) -> Option<Self> {
        Some(Step {
            entity: parts.position(&unique.entity)?,
            unique: unique.clone(),
        })
    }

    /// The key of the value's row; `None` for a row that lacks the value.
    pub(super) fn key(&self, keeper: &Entity, item: &Item) -> Result<Option<Item>, Refusal> {
        self.key_for(keeper, keeper, item)
    }

    /// The same; a refusal says that a row of `written` needs it.
    fn key_for(&self, written: &Entity, keeper: &Entity, item: &Item) -> Result<Option<Item>, Refusal> {
        if !self.unique.attributes.iter().all(|name| item.contains_key(name)) {
            return Ok(None);
        }
        let values = self.unique.attributes.iter();
        let values = values.filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
        key_of_other(written, keeper, &values.collect()).map(Some)
    }
}

pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let keeper = ledger.model.known_entity(step.entity)?;
    let before = row.old.and_then(|old| step.key(keeper, old).ok().flatten());
    let after = match new {
        Some(new) => step.key_for(row.entity, keeper, new)?,
        None => None,
    };
    let is_unchanged = before == after;
    if let Some(released) = before.filter(|_| !is_unchanged) {
        let at = ledger.find(keeper, released)?;
        let owned = row.old.zip(ledger.row(at));
        if owned.is_some_and(|(old, kept)| owns(row.entity, old, &kept)) {
            ledger.remove(at);
        }
    }
    let (Some(key), Some(new)) = (after, new) else {
        return Ok(());
    };
    let at = ledger.find(keeper, key)?;
    if let Some(kept) = ledger.row(at)
        && !owns(row.entity, new, &kept)
        && !is_given_up(ledger, step, keeper, row.entity, &kept)?
    {
        // A row that shared the value before the model was applied can still be written; only its value
        // cannot be claimed.
        return match is_unchanged {
            true => Ok(()),
            false => Err(taken(step, row.entity, new, &kept).into()),
        };
    }
    claim(ledger, keeper, at, new);
    Ok(())
}

/// Makes this row the owner of a value.
pub(super) fn claim(ledger: &mut Ledger<'_, '_>, keeper: &Entity, at: At, owner: &Item) {
    let kept = keeper.attributes.iter();
    let kept = kept.filter_map(|attribute| Some((&attribute.name, owner.get(&attribute.name)?.clone())));
    let kept: Item = kept.map(|(name, value)| (name.clone(), value)).collect();
    ledger.put(keeper, at, kept);
}

/// Whether the owner of a value is another row of the request, which no longer has the value.
fn is_given_up(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    keeper: &Entity,
    entity: &Entity,
    kept: &Item,
) -> Result<bool, Stopped> {
    let Ok(key) = entity.key_from(kept) else {
        return Ok(false);
    };
    let at = ledger.find(entity, key)?;
    if !ledger.is_root(at) {
        return Ok(false);
    }
    let has = ledger
        .row(at)
        .and_then(|owner| step.key(keeper, &owner).ok().flatten());
    let value = step.key(keeper, kept).ok().flatten();
    Ok(has != value)
}

/// Whether this row is the owner of a value.
pub(super) fn owns(entity: &Entity, row: &Item, kept: &Item) -> bool {
    entity.identity.iter().all(|name| row.get(name) == kept.get(name))
}

fn taken(step: &Step, entity: &Entity, new: &Item, kept: &Item) -> Refusal {
    let said = |names: &[String], item: &Item| {
        let known = names.iter().filter_map(|name| Some((name, item.get(name)?)));
        let said: Vec<String> = known
            .map(|(name, value)| format!("{name} {:?}", plain(value)))
            .collect();
        said.join(", ")
    };
    Refusal::Taken {
        entity: entity.name.clone(),
        attributes: step.unique.attributes.clone(),
        value: said(&step.unique.attributes, new),
        owner: said(&entity.identity, kept),
    }
}
