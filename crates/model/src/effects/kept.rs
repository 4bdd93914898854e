//! A client's write to a row that the database keeps: a head, a row that keeps a value unique, or an entry.

use trestle_hook::Change;
use trestle_item::Item;

use super::ledger::{At, Ledger};
use super::{Stopped, entries, head, history, unique};
use crate::entity::{Entity, Role};
use crate::refusal::Refusal;

/// Writes a root of the ledger, if that is allowed. The effects of all other roots have been applied.
pub(super) fn write(
    ledger: &mut Ledger<'_, '_>,
    at: At,
    kept: &Entity,
    change: &Change<'_>,
) -> Result<(), Stopped> {
    let Some(of) = kept.role.follows() else {
        return Ok(());
    };
    let model = ledger.model;
    let Some(entity) = model.entity(of) else {
        return Err(
            Refusal::defect("a row that the database keeps follows an entity that the model lacks").into(),
        );
    };
    let plan = model.plan_of(entity);
    let (old, new) = (change.old.map(|old| &**old), change.new.map(|new| &**new));
    match (&kept.role, plan.and_then(|plan| plan.head.as_ref()), new) {
        (Role::Head { .. }, Some(step), new) if step.pointer.is_some() => {
            head::keep(ledger, at, step, entity, new)
        }
        (Role::Head { .. }, Some(step), Some(new)) => head::point(ledger, at, step, entity, old, new),
        (Role::Head { .. }, Some(step), None) => head::unpoint(ledger, at, step, entity),
        (Role::History { .. }, ..) => history::keep(ledger, at, kept, entity, new),
        (Role::Entry { .. }, ..) => write_entry(ledger, at, kept, entity, new),
        _ => write_unique(ledger, at, kept, entity, new),
    }
}

/// A row that keeps a value unique changes only with its row. It may be removed when no row has the value.
fn write_unique(
    ledger: &mut Ledger<'_, '_>,
    at: At,
    kept: &Entity,
    entity: &Entity,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let old = ledger.row(at);
    if old.as_deref() == new {
        return Ok(());
    }
    let owner = match old.as_ref().and_then(|old| entity.key_from(old).ok()) {
        Some(key) => {
            let owner = ledger.find(entity, key)?;
            ledger.row(owner)
        }
        None => None,
    };
    let owned = old.zip(owner).is_some_and(|(old, owner)| {
        unique::owns(entity, &owner, &old) && kept.key_from(&owner).ok().as_ref() == ledger.key(at)
    });
    remove_unowned(ledger, at, kept, entity, new.is_some() || owned)
}

/// An entry changes only with its row. It may be removed when its row does not have the member.
fn write_entry(
    ledger: &mut Ledger<'_, '_>,
    at: At,
    kept: &Entity,
    entity: &Entity,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    if ledger.row(at).as_deref() == new {
        return Ok(());
    }
    let wanted = entries::wanted(ledger, kept, entity, at)?;
    remove_unowned(ledger, at, kept, entity, new.is_some() || wanted.is_some())
}

/// Removes a row that is not needed; refuses any other write.
fn remove_unowned(
    ledger: &mut Ledger<'_, '_>,
    at: At,
    kept: &Entity,
    entity: &Entity,
    is_refused: bool,
) -> Result<(), Stopped> {
    if is_refused {
        return Err(Refusal::Kept {
            entity: kept.name.clone(),
            of: entity.name.clone(),
            attribute: None,
        }
        .into());
    }
    ledger.remove(at);
    Ok(())
}
