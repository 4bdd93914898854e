//! A client's write to a row that the database keeps: a head, or what keeps a value unique.

use trestle_item::Item;

use super::ledger::{Ledger, ROOT};
use super::{Rows, Stopped, head, unique};
use crate::entity::{Entity, Role};
use crate::refusal::Refusal;

/// Writes the root of the ledger, if that is allowed.
pub(super) fn write<R: Rows>(
    ledger: &mut Ledger<'_, '_, R>,
    kept: &Entity,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), Stopped<R::Error>> {
    let (Role::Head { of } | Role::Unique { of }) = &kept.role else {
        return Ok(());
    };
    let model = ledger.model;
    let Some(entity) = model.entity(of) else {
        return Ok(());
    };
    let plan = model.plan_of(entity);
    match (&kept.role, plan.and_then(|plan| plan.head.as_ref()), old, new) {
        (Role::Head { .. }, Some(step), old, Some(new)) => head::point(ledger, step, entity, old, new),
        (Role::Head { .. }, Some(step), Some(old), None) => {
            ledger.remove(ROOT);
            head::unpoint(ledger, step, entity, old)
        }
        _ => write_unique(ledger, kept, entity, old, new),
    }
}

/// What keeps a value unique changes with its row only. It may go when it is nobody's.
fn write_unique<R: Rows>(
    ledger: &mut Ledger<'_, '_, R>,
    kept: &Entity,
    entity: &Entity,
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), Stopped<R::Error>> {
    if old == new {
        return Ok(());
    }
    let owner = match old.and_then(|old| entity.key_from(old).ok()) {
        Some(key) => {
            let at = ledger.find(entity, key)?;
            ledger.row(at)
        }
        None => None,
    };
    let owned = old.zip(owner).is_some_and(|(old, owner)| {
        unique::owns(entity, &owner, old) && kept.key_from(&owner).ok().as_ref() == ledger.key(ROOT)
    });
    if new.is_some() || owned {
        return Err(Refusal::Kept {
            entity: kept.name.clone(),
            of: entity.name.clone(),
            attribute: None,
        }
        .into());
    }
    ledger.remove(ROOT);
    Ok(())
}
