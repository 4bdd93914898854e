//! `inverse`: the other direction of a relation, as a set on the other side or as a row for each row.

use std::collections::BTreeSet;
use std::rc::Rc;

use trestle_item::{AttributeValue, Item};

use super::ledger::Ledger;
use super::members::{joined, without};
use super::pairs::related;
use super::plan::Parts;
use super::settle::Row;
use super::{Rows, Stopped};
use crate::effect::{Effect, Inverse, InverseForm, Pair};
use crate::entity::Entity;

/// What is known about an inverse before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Position of the other side.
    entity: usize,
    form: InverseForm,
    /// Whether rows of the other side hold nothing but such sets, so that one without members is nothing.
    only_sets: bool,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, inverse: &Inverse) -> Option<Self> {
        let entity = parts.position(&inverse.entity)?;
        Some(Step {
            entity,
            form: inverse.form.clone(),
            only_sets: parts
                .entities
                .get(entity)
                .is_some_and(|other| has_only_sets(parts, other)),
        })
    }
}

/// Whether all an entity has are its identity, sets that others keep, times and defaults.
fn has_only_sets(parts: &Parts<'_>, other: &Entity) -> bool {
    let is_kept = |name: &String| {
        let mut effects = parts.entities.iter().flat_map(|entity| &entity.effects);
        effects.any(|effect| match effect {
            Effect::Inverse(Inverse {
                entity,
                form: InverseForm::Set { set, .. },
                ..
            }) => *entity == other.name && set == name,
            _ => false,
        })
    };
    let mut attributes = other.attributes.iter();
    attributes.all(|attribute| is_empty_without(other, &attribute.name) || is_kept(&attribute.name))
}

/// Whether an attribute says nothing about a row that has no other.
fn is_empty_without(entity: &Entity, name: &String) -> bool {
    let of_its_own = entity
        .attribute(name)
        .is_some_and(|attribute| attribute.default.is_some());
    of_its_own
        || entity.identity.contains(name)
        || entity.created.as_ref() == Some(name)
        || entity.updated.as_ref() == Some(name)
}

pub(super) fn run<R: Rows>(
    ledger: &mut Ledger<'_, '_, R>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped<R::Error>> {
    let Some(other) = ledger.model.entities.get(step.entity) else {
        return Ok(());
    };
    match &step.form {
        InverseForm::Set { of, member, set, .. } => {
            let (before, after) = (identities(row.old, of), identities(new, of));
            let own = new.or(row.old).and_then(|item| item.get(member)?.as_s());
            let Some(own) = own else { return Ok(()) };
            for theirs in before.difference(&after) {
                leave(ledger, step, other, theirs, set, own)?;
            }
            for theirs in after.difference(&before) {
                join(ledger, other, theirs, set, own)?;
            }
            Ok(())
        }
        InverseForm::Row { with } => mirror(ledger, other, with, row.old, new),
    }
}

/// The identities that an attribute holds: one, or a set of them.
fn identities<'i>(item: Option<&'i Item>, of: &str) -> BTreeSet<&'i str> {
    match item.and_then(|item| item.get(of)) {
        Some(AttributeValue::S(one)) => BTreeSet::from([one.as_str()]),
        Some(AttributeValue::Ss(several)) => several.iter().map(String::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

fn join<R: Rows>(
    ledger: &mut Ledger<'_, '_, R>,
    other: &Entity,
    theirs: &str,
    set: &str,
    own: &str,
) -> Result<(), Stopped<R::Error>> {
    let identity: Item = other
        .identity
        .iter()
        .map(|name| (name.as_str(), theirs))
        .collect();
    let at = ledger.find(other, other.key_from(&identity)?)?;
    let row = ledger.row(at);
    if let Some(members) = joined(row.as_deref(), set, own) {
        let mut item = row.map_or(identity, Rc::unwrap_or_clone);
        item.insert(set, members);
        ledger.put(other, at, item);
    }
    Ok(())
}

fn leave<R: Rows>(
    ledger: &mut Ledger<'_, '_, R>,
    step: &Step,
    other: &Entity,
    theirs: &str,
    set: &str,
    own: &str,
) -> Result<(), Stopped<R::Error>> {
    let identity: Item = other
        .identity
        .iter()
        .map(|name| (name.as_str(), theirs))
        .collect();
    let Ok(key) = other.key_from(&identity) else {
        return Ok(());
    };
    let at = ledger.find(other, key)?;
    let Some(row) = ledger.row(at) else {
        return Ok(());
    };
    let Some(others) = without(&row, set, own) else {
        return Ok(());
    };
    let mut item = Rc::unwrap_or_clone(row);
    match others {
        Some(others) => item.insert(set, others),
        None => item.remove(set),
    };
    if step.only_sets && is_nothing(ledger, other, &item) {
        ledger.remove(at);
    } else {
        ledger.put(other, at, item);
    }
    Ok(())
}

fn is_nothing<R: Rows>(ledger: &Ledger<'_, '_, R>, other: &Entity, item: &Item) -> bool {
    let table = ledger.model.tables.get(other.table);
    let tag = table.and_then(|table| table.entity_attribute.as_ref());
    item.keys()
        .all(|name| is_empty_without(other, name) || other.key_template(name).is_some() || Some(name) == tag)
}

/// One row of the other side for each row of this one.
fn mirror<R: Rows>(
    ledger: &mut Ledger<'_, '_, R>,
    other: &Entity,
    with: &[Pair],
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), Stopped<R::Error>> {
    let before = old.and_then(|old| related(other, with, old));
    let before = before.and_then(|identity| other.key_from(&identity).ok());
    let after = match new.and_then(|new| related(other, with, new)) {
        Some(identity) => Some(other.key_from(&identity)?),
        None => None,
    };
    if let Some(gone) = before.filter(|before| after.as_ref() != Some(before)) {
        let at = ledger.find(other, gone)?;
        ledger.remove(at);
    }
    let (Some(key), Some(new)) = (after, new) else {
        return Ok(());
    };
    let at = ledger.find(other, key)?;
    let mut item = ledger.row(at).map(|row| (*row).clone()).unwrap_or_default();
    for pair in with {
        match new.get(&pair.ours) {
            Some(value) => {
                item.insert(pair.theirs.clone(), value.clone());
            }
            None => {
                item.remove(&pair.theirs);
            }
        }
    }
    ledger.put(other, at, item);
    Ok(())
}
