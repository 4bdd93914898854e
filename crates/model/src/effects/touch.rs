//! A reindex raises the version of a row: derived rows are written, and the row is unchanged otherwise.

use std::sync::Arc;

use trestle_hook::{Becomes, Change, Edits, Rows, Verdict};
use trestle_item::Item;

use super::roots::{self, Root};
use super::{Blamed, Stopped};
use crate::derive::IndexKeys;
use crate::entity::{Entity, Role};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::reindex_version::{check_touched, is_made_of_version};

/// The row with the raised version, and what follows from it.
pub(super) fn change(model: &Model, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Blamed> {
    let roots = roots::of(model, changes)?;
    let ([change], [root]) = (changes, roots.as_slice()) else {
        return match roots.is_empty() {
            true => Ok(Verdict::default()),
            false => Err(blamed(Refusal::defect("rows are touched one by one"))),
        };
    };
    let (Some(old), Some(new), Some(entity)) = (change.old, change.new, root.entity) else {
        return Ok(Verdict::default());
    };
    if entity.role != Role::Declared {
        // It follows the row that it is made of.
        return Ok(becomes(Becomes::Item(Arc::clone(old))));
    }
    check_touched(root.table, entity, &Edits::between(old, new)).map_err(blamed)?;
    if !root.is_followed() {
        return alone(model, root, entity, old, new).map_err(blamed);
    }
    let verdict = roots::follow(model, changes, &roots, rows)?;
    let row = verdict.row(0).clone().apply(Some(Arc::clone(new)));
    check_rest(entity, new, row.as_deref()).map_err(blamed)?;
    Ok(verdict)
}

/// A row from which nothing follows.
fn alone(
    model: &Model,
    root: &Root<'_>,
    entity: &Entity,
    old: &Item,
    new: &Item,
) -> Result<Verdict, Refusal> {
    let mut derived = model.derive_as(root.table, entity, Some(old), new, IndexKeys::Left, None)?;
    derived.keep_only(|name| is_made_of_version(entity, name));
    Ok(match derived.is_empty() {
        true => Verdict::default(),
        false => becomes(Becomes::Edited(derived.into_edits())),
    })
}

/// Refuses a touch that would change anything else in the row.
fn check_rest(entity: &Entity, new: &Item, row: Option<&Item>) -> Result<(), Refusal> {
    let empty = Item::new();
    let edits = Edits::between(new, row.unwrap_or(&empty));
    let mut changed = edits.set.iter().map(|(name, _)| name).chain(&edits.remove);
    match changed.find(|name| !is_made_of_version(entity, name)) {
        Some(attribute) => Err(Refusal::ChangesWithTouch {
            entity: entity.name.clone(),
            attribute: attribute.clone(),
        }),
        None => Ok(()),
    }
}

fn becomes(row: Becomes) -> Verdict {
    Verdict {
        rows: vec![row],
        ..Verdict::default()
    }
}

fn blamed(refusal: Refusal) -> Blamed {
    Blamed {
        at: 0,
        why: Stopped::Refused(refusal),
    }
}
