//! Heads that follow a row of another entity, the pointer: it names the row of each head. So all of them move
//! in one write, and only with it.

use std::sync::Arc;

use trestle_item::{AttributeValue, Item};

use super::group::{Group, Member};
use super::{Step, mark, points_at, succeed};
use crate::attribute::said;
use crate::effect::Head;
use crate::effects::Stopped;
use crate::effects::ledger::{At, Ledger};
use crate::effects::settle::Row;
use crate::entity::Entity;
use crate::model::Table;
use crate::refusal::Refusal;

/// The most heads that follow one row.
pub(super) const HEADS_MAX: usize = 1_000;

/// An entity whose heads follow rows of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Led {
    /// Its position.
    pub(in crate::effects) entity: usize,
}

/// The attributes that the rows share among which a head finds its own.
pub(super) fn common(pointer: Option<&Entity>, head: &Head, of_head: &Entity) -> Vec<String> {
    match (pointer, &head.follows) {
        (Some(pointer), Some(follows)) => pointer
            .identity
            .iter()
            .chain(&follows.named_by)
            .cloned()
            .collect(),
        _ => of_head.identity.clone(),
    }
}

/// Whether one query finds the rows of an entity that share these attributes.
pub(crate) fn finds_group(table: &Table, entity: &Entity, common: &[String]) -> bool {
    Group::of(table, entity, common).is_some()
}

impl Step {
    /// The row that a pointer names; `None` if an attribute for it is missing.
    fn named<'i>(&self, pointer: &'i Item) -> Option<Vec<&'i AttributeValue>> {
        let follows = self.head.follows.as_ref()?;
        follows.named_by.iter().map(|name| pointer.get(name)).collect()
    }

    /// Whether this is a pointer of a row, and names it.
    pub(in crate::effects) fn is_named(&self, pointer: &Item, row: &Item) -> bool {
        let named = self.named(pointer);
        named.is_some() && named == self.named(row)
    }
}

/// Whether the pointer of a row names it.
pub(super) fn names(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    pointer: usize,
    row: &Item,
) -> Result<bool, Stopped> {
    let pointer = pointer_of(ledger, pointer, row)?;
    Ok(pointer.is_some_and(|pointer| step.is_named(&pointer, row)))
}

fn pointer_of(
    ledger: &mut Ledger<'_, '_>,
    pointer: usize,
    identity: &Item,
) -> Result<Option<Arc<Item>>, Stopped> {
    let pointer = ledger.model.known_entity(pointer)?;
    let Ok(key) = pointer.key_from(identity) else {
        return Ok(None);
    };
    let at = ledger.find(pointer, key)?;
    Ok(ledger.row(at))
}

/// The row that a head should stand for. It is identified by the head's key and its pointer.
fn named_row(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    head: At,
) -> Result<Option<(At, Arc<Item>)>, Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let identity = ledger.key(head).and_then(|key| of_head.identify(key));
    let (Some(pointer), Some(identity)) = (step.pointer, identity) else {
        return Ok(None);
    };
    let Some(pointer) = pointer_of(ledger, pointer, &identity)? else {
        return Ok(None);
    };
    let key = entity.key_where(|name| identity.get(name).or_else(|| pointer.get(name)));
    let Ok(key) = key else {
        return Ok(None);
    };
    let at = ledger.find(entity, key)?;
    Ok(ledger.row(at).map(|row| (at, row)))
}

/// Updates a head from its pointer: it stands for the named row, or is removed if there is none.
pub(in crate::effects) fn align(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    head: At,
) -> Result<(), Stopped> {
    let named = named_row(ledger, step, entity, head)?;
    match (named, ledger.row(head)) {
        (Some(named), current) => stand_for(ledger, step, entity, head, current.as_deref(), named),
        (None, Some(current)) => {
            succeed(ledger, step, entity, &current)?;
            ledger.remove(head);
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

/// Points a head at a row, whatever row it stood for before.
pub(super) fn stand_for(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    head: At,
    current: Option<&Item>,
    (at, row): Member,
) -> Result<(), Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let stands = |head: &Item| ledger.key(at).is_some_and(|key| points_at(entity, head, key));
    let mut promoted = Arc::clone(&row);
    let previous = match current {
        Some(head) if stands(head) => {
            mark(&step.head.promote, &mut promoted);
            step.remembered(head)
        }
        other => {
            step.promote(&mut promoted, Some(&row), ledger.now);
            match other {
                Some(head) => succeed(ledger, step, entity, head)?,
                None => Vec::new(),
            }
        }
    };
    ledger.put(of_head, head, step.content(&promoted, previous));
    ledger.put(entity, at, promoted);
    Ok(())
}

/// A pointer was written: updates all heads of the rows that it named and of those that it names now.
pub(in crate::effects) fn lead(
    ledger: &mut Ledger<'_, '_>,
    led: &Led,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let model = ledger.model;
    let entity = model.known_entity(led.entity)?;
    let step = model.plan_of(entity).and_then(|plan| plan.head.as_ref());
    let Some((step, group)) = step.and_then(|step| Some((step, step.group.as_ref()?))) else {
        return Err(Refusal::defect("an entity follows a row and has no head").into());
    };
    let named = |pointer: Option<&Item>| pointer.and_then(|pointer| step.named(pointer)).is_some();
    let is_same = row.old.and_then(|old| step.named(old)) == new.and_then(|new| step.named(new));
    if is_same {
        return Ok(());
    }
    let mut members = Vec::new();
    if let Some(new) = new.filter(|new| named(Some(new))) {
        members = group.rows(ledger, entity, new)?;
        check_members(step, row.entity, entity, new, members.len())?;
    }
    if let Some(old) = row.old.filter(|old| named(Some(old))) {
        members.extend(group.rows(ledger, entity, old)?);
    }
    let of_head = model.known_entity(step.entity)?;
    for (_, member) in members {
        let head = ledger.find(of_head, of_head.key_from(&member)?)?;
        align(ledger, step, entity, head)?;
    }
    Ok(())
}

/// A pointer may only name existing rows, and not too many of them.
fn check_members(
    step: &Step,
    pointer: &Entity,
    entity: &Entity,
    new: &Item,
    members: usize,
) -> Result<(), Refusal> {
    if members == 0 {
        let names = step.head.follows.iter().flat_map(|follows| &follows.named_by);
        let named = names.filter_map(|name| Some((name.clone(), new.get(name)?.clone())));
        return Err(Refusal::NoTarget {
            head: pointer.name.clone(),
            entity: entity.name.clone(),
            given: vec![said(&named.collect())],
        });
    }
    if members > HEADS_MAX {
        return Err(Refusal::TooManyHeads {
            pointer: pointer.name.clone(),
            entity: entity.name.clone(),
            rows: members,
            most: HEADS_MAX,
        });
    }
    Ok(())
}

/// A client writes a head: only the pointer determines its row. A head without a row may be removed.
pub(in crate::effects) fn keep(
    ledger: &mut Ledger<'_, '_>,
    head: At,
    step: &Step,
    entity: &Entity,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    if ledger.row(head).as_deref() == new {
        return Ok(());
    }
    let is_needed = named_row(ledger, step, entity, head)?.is_some();
    if new.is_some() || is_needed {
        let follows = step.head.follows.as_ref();
        return Err(Refusal::Kept {
            entity: step.head.entity.clone(),
            of: follows.map_or_else(|| entity.name.clone(), |follows| follows.entity.clone()),
            attribute: None,
        }
        .into());
    }
    ledger.remove(head);
    Ok(())
}
