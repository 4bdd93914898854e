//! A client's write to a head: it may point it at another row of the group, and change nothing else.

use trestle_item::{AttributeValue, Item};

use super::Step;
use super::follow::stand_for;
use crate::attribute::shown;
use crate::effects::Stopped;
use crate::effects::ledger::{At, Ledger};
use crate::entity::Entity;
use crate::model::Table;
use crate::refusal::Refusal;

/// Points a head at the row that `new` names. The client's change is the difference to the stored head,
/// `old`; other rows of the request may have moved the head since.
pub(in crate::effects) fn point(
    ledger: &mut Ledger<'_, '_>,
    of: At,
    step: &Step,
    entity: &Entity,
    old: Option<&Item>,
    new: &Item,
) -> Result<(), Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let current = ledger.row(of);
    if old == Some(new) && current.as_deref() != old {
        // The client leaves the head as it was, and other rows of the request change it.
        return Ok(());
    }
    let mut given = new.clone();
    for (name, value) in of_head.identify(new).into_iter().flatten() {
        given.insert(name, value);
    }
    let at = target(ledger, step, entity, of_head, old, &given)?;
    let Some(row) = ledger.row(at) else {
        return Err(no_target(step, entity, of_head, &given).into());
    };
    if step.head.rank(&row).is_none() {
        return Err(no_target(step, entity, of_head, &given).into());
    }
    check_given(
        ledger.model.tables.get(of_head.table),
        of_head,
        entity,
        old,
        &row,
        &given,
    )?;
    stand_for(ledger, step, entity, of, current.as_deref(), (at, row))
}

/// The row that the client means: by its identity, by the attributes that make it the newest, or the row that
/// the head had.
fn target(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    of_head: &Entity,
    old: Option<&Item>,
    given: &Item,
) -> Result<At, Stopped> {
    let differs = |names: &[String]| {
        let differing = |name: &String| old.is_none_or(|old| old.get(name) != given.get(name));
        names.iter().all(|name| given.contains_key(name)) && names.iter().any(differing)
    };
    if differs(&entity.identity) {
        return ledger.find(entity, entity.key_from(given)?);
    }
    if differs(&step.head.newest_by) {
        let wanted = step.head.rank(given);
        let rows = match &step.group {
            Some(group) => group.rows(ledger, entity, given)?,
            None => Vec::new(),
        };
        let mut rows = rows.into_iter().filter(|(_, row)| step.head.rank(row) == wanted);
        return match rows.next() {
            Some((at, _)) => Ok(at),
            None => Err(no_target(step, entity, of_head, given).into()),
        };
    }
    match old {
        Some(old) => ledger.find(entity, entity.key_from(old)?),
        None => Err(no_target(step, entity, of_head, given).into()),
    }
}

fn no_target(step: &Step, entity: &Entity, of_head: &Entity, given: &Item) -> Refusal {
    let own = entity
        .identity
        .iter()
        .filter(|name| !of_head.identity.contains(name));
    let mut names: Vec<&String> = own.collect();
    // The attributes that make it the newest find it only where the group can be read.
    if step.group.is_some() {
        names.extend(
            step.head
                .newest_by
                .iter()
                .filter(|name| !entity.identity.contains(name)),
        );
    }
    let shown = |name: &&String| match given.get(name) {
        Some(value) => format!("{name} is {}", shown(value)),
        None => format!("{name} is missing"),
    };
    Refusal::NoTarget {
        head: of_head.name.clone(),
        entity: entity.name.clone(),
        given: names.iter().map(shown).collect(),
    }
}

/// A head has the attributes of its row. Anything else written to it would be lost.
fn check_given(
    table: Option<&Table>,
    of_head: &Entity,
    entity: &Entity,
    old: Option<&Item>,
    row: &Item,
    given: &Item,
) -> Result<(), Refusal> {
    let tag = table.and_then(|table| table.entity_attribute.as_ref());
    let derived = |name: &String| {
        let key = of_head.key_template(name).or_else(|| entity.key_template(name));
        Some(name) == tag || key.is_some_and(|template| !template.is_identity())
    };
    let as_known = |name: &str, value: &AttributeValue| {
        row.get(name) == Some(value) || old.and_then(|old| old.get(name)) == Some(value)
    };
    match given
        .iter()
        .find(|(name, value)| !derived(name) && !as_known(name, value))
    {
        Some((name, _)) => Err(Refusal::Kept {
            entity: of_head.name.clone(),
            of: entity.name.clone(),
            attribute: Some(name.clone()),
        }),
        None => Ok(()),
    }
}

/// A client may remove a head only if its row is gone, or if no query could find the next row. Then the group
/// has no head until a row becomes its newest, or a client writes a head that names a row.
pub(in crate::effects) fn unpoint(
    ledger: &mut Ledger<'_, '_>,
    of: At,
    step: &Step,
    entity: &Entity,
) -> Result<(), Stopped> {
    let Some(old) = ledger.row(of) else {
        return Ok(());
    };
    ledger.remove(of);
    let Ok(key) = entity.key_from(&old) else {
        return Ok(());
    };
    let at = ledger.find(entity, key)?;
    let Some(row) = ledger.row(at) else {
        return Ok(());
    };
    if step.group.is_some() {
        return Err(Refusal::HasRow {
            head: step.head.entity.clone(),
            entity: entity.name.clone(),
        }
        .into());
    }
    let mut demoted = row;
    step.demote(&mut demoted, ledger.now);
    ledger.put(entity, at, demoted);
    Ok(())
}
