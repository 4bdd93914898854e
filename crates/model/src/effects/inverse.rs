//! `inverse`: the other direction of a relation, as a set on the other side or as a row for each row.

use std::collections::BTreeSet;
use std::sync::Arc;

use trestle_item::{AttributeValue, Item};

use super::Stopped;
use super::ledger::Ledger;
use super::members::{joined, without};
use super::pairs::{key_of_other, related};
use super::plan::Parts;
use super::settle::Row;
use crate::effect::{Effect, Inverse, InverseForm, Pair};
use crate::entity::Entity;

/// What is known about an inverse before anything is written. A relation gives two inverses: one for each
/// side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Its name.
    pub(super) name: String,
    /// Position of the other side.
    pub(super) entity: usize,
    pub(super) form: Form,
    /// Whether this side declares it.
    pub(super) declared: bool,
    /// Whether rows of the other side hold nothing but such sets, so that a row without members is removed.
    only_sets: bool,
}

/// How one side of a relation keeps the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Identities {
        /// This side's attribute with identities of the other.
        of: String,
        /// This side's identifying attribute.
        own: String,
        /// The other side's attribute with identities of this one.
        theirs: String,
        /// Whether that attribute is a set.
        many: bool,
    },
    Rows {
        with: Vec<Pair>,
        /// The same pairs from the other side.
        back: Vec<Pair>,
    },
}

impl Step {
    /// The side that declares the relation.
    pub(super) fn of(parts: &Parts<'_>, inverse: &Inverse) -> Option<Self> {
        let entity = parts.position(&inverse.entity)?;
        let other = parts.entities.get(entity)?;
        let form = match &inverse.form {
            InverseForm::Set { of, member, set, .. } => Form::Identities {
                of: of.clone(),
                own: member.clone(),
                theirs: set.clone(),
                many: true,
            },
            InverseForm::Row { with } => Form::Rows {
                with: with.clone(),
                back: flipped(with),
            },
        };
        Some(Step {
            name: inverse.name.clone(),
            entity,
            form,
            declared: true,
            only_sets: has_only_sets(parts, other),
        })
    }

    /// The other side, which keeps the relation as well. Rows that clients wrote on the declaring side stay.
    fn back(entity: usize, other: &Entity, inverse: &Inverse) -> Option<Self> {
        let form = match &inverse.form {
            InverseForm::Set { of, many, set, .. } => Form::Identities {
                of: set.clone(),
                own: other.identity.first()?.clone(),
                theirs: of.clone(),
                many: *many,
            },
            InverseForm::Row { with } => Form::Rows {
                with: flipped(with),
                back: with.clone(),
            },
        };
        Some(Step {
            name: inverse.name.clone(),
            entity,
            form,
            declared: false,
            only_sets: false,
        })
    }
}

fn flipped(pairs: &[Pair]) -> Vec<Pair> {
    let pairs = pairs.iter().map(|pair| Pair {
        theirs: pair.ours.clone(),
        ours: pair.theirs.clone(),
    });
    pairs.collect()
}

/// For sides that declare nothing: the position of each, and its step.
pub(super) fn backs(parts: &Parts<'_>) -> Vec<(usize, Step)> {
    let mut backs = Vec::new();
    for (at, entity) in parts.entities.iter().enumerate() {
        for inverse in inverses(entity) {
            let position = parts.position(&inverse.entity);
            let other = position.and_then(|position| Some((position, parts.entities.get(position)?)));
            let Some((position, other)) = other else { continue };
            if !inverses(other).any(|declared| is_back(declared, entity, inverse)) {
                backs.extend(Step::back(at, other, inverse).map(|step| (position, step)));
            }
        }
    }
    backs
}

fn inverses(entity: &Entity) -> impl Iterator<Item = &Inverse> {
    entity.effects.iter().filter_map(|effect| match effect {
        Effect::Inverse(inverse) => Some(inverse),
        _ => None,
    })
}

/// Whether the other side declares the same relation itself.
fn is_back(declared: &Inverse, entity: &Entity, inverse: &Inverse) -> bool {
    let same = match (&declared.form, &inverse.form) {
        (
            InverseForm::Set {
                of: their_of,
                set: their_set,
                ..
            },
            InverseForm::Set { of, set, .. },
        ) => their_of == set && their_set == of,
        (InverseForm::Row { .. }, InverseForm::Row { .. }) => true,
        _ => false,
    };
    same && declared.entity == entity.name
}

/// Whether an entity has only its identity, sets that other rows keep, times and defaults.
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

/// Whether an attribute alone is no reason to keep a row.
fn is_empty_without(entity: &Entity, name: &String) -> bool {
    let of_its_own = entity
        .attribute(name)
        .is_some_and(|attribute| attribute.default.is_some());
    of_its_own
        || entity.identity.contains(name)
        || entity.created.as_ref() == Some(name)
        || entity.updated.as_ref() == Some(name)
        || entity.reindex_version.as_ref() == Some(name)
}

pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let other = ledger.model.known_entity(step.entity)?;
    match &step.form {
        Form::Identities { of, own, .. } => {
            let (before, after) = (identities(row.old, of), identities(new, of));
            let own = new.or(row.old).and_then(|item| item.get(own)?.as_s());
            let Some(own) = own else { return Ok(()) };
            for theirs in before.difference(&after) {
                leave(ledger, step, other, theirs, own)?;
            }
            for theirs in after.difference(&before) {
                join(ledger, step, (row.entity, other), theirs, own)?;
            }
            Ok(())
        }
        Form::Rows { with, back } => mirror(ledger, other, with, back, row, new),
    }
}

/// The identities in an attribute: one, or a set of them.
pub(super) fn identities<'i>(item: Option<&'i Item>, of: &str) -> BTreeSet<&'i str> {
    match item.and_then(|item| item.get(of)) {
        Some(AttributeValue::S(one)) => BTreeSet::from([one.as_str()]),
        Some(AttributeValue::Ss(several)) => several.iter().map(String::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

pub(super) fn join(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    (entity, other): (&Entity, &Entity),
    theirs: &str,
    own: &str,
) -> Result<(), Stopped> {
    let identity = identity(other, theirs);
    let at = ledger.find(other, key_of_other(entity, other, &identity)?)?;
    let row = ledger.row(at);
    if let Some((name, members)) = step.form.with_member(row.as_deref(), own) {
        let before = row
            .as_deref()
            .and_then(|row| row.get(name)?.as_s().map(str::to_owned));
        let mut item = row.map_or(identity, Arc::unwrap_or_clone);
        item.insert(name, members);
        ledger.put(other, at, item);
        if let Some(before) = before {
            give_up(ledger, step, entity, &before, theirs)?;
        }
    }
    Ok(())
}

/// A row of the other side that belongs to one row only now belongs to another one. Its former row is updated
/// immediately, because a row that is reassigned twice before it is settled would seem unchanged.
fn give_up(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    before: &str,
    theirs: &str,
) -> Result<(), Stopped> {
    let (Form::Identities { of, .. }, Ok(key)) = (&step.form, entity.key_from(&identity(entity, before)))
    else {
        return Ok(());
    };
    let at = ledger.find(entity, key)?;
    let Some(row) = ledger.row(at) else {
        return Ok(());
    };
    if let Some(others) = without(&row, of, theirs) {
        let mut item = Arc::unwrap_or_clone(row);
        match others {
            Some(others) => item.insert(of.as_str(), others),
            None => item.remove(of),
        };
        ledger.put(entity, at, item);
    }
    Ok(())
}

pub(super) fn leave(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    other: &Entity,
    theirs: &str,
    own: &str,
) -> Result<(), Stopped> {
    let Ok(key) = other.key_from(&identity(other, theirs)) else {
        return Ok(());
    };
    let at = ledger.find(other, key)?;
    let Some(row) = ledger.row(at) else {
        return Ok(());
    };
    let Some((name, others)) = step.form.without_member(&row, own) else {
        return Ok(());
    };
    let mut item = Arc::unwrap_or_clone(row);
    match others {
        Some(others) => item.insert(name, others),
        None => item.remove(name),
    };
    if step.only_sets && is_nothing(ledger, other, &item) {
        ledger.remove(at);
    } else {
        ledger.put(other, at, item);
    }
    Ok(())
}

pub(super) fn identity(other: &Entity, theirs: &str) -> Item {
    let names = other.identity.iter();
    names.map(|name| (name.as_str(), theirs)).collect()
}

impl Form {
    /// The other side's attribute, and its new value; `None` if it has the member already.
    fn with_member(&self, row: Option<&Item>, member: &str) -> Option<(&str, AttributeValue)> {
        let Form::Identities { theirs, many, .. } = self else {
            return None;
        };
        let value = if *many {
            joined(row, theirs, member)
        } else {
            let only = row.and_then(|row| row.get(theirs)?.as_s());
            (only != Some(member)).then(|| member.into())
        };
        Some((theirs, value?))
    }

    /// The other side's attribute, and its value without the member; `None` if it was no member.
    fn without_member(&self, row: &Item, member: &str) -> Option<(&str, Option<AttributeValue>)> {
        let Form::Identities { theirs, many, .. } = self else {
            return None;
        };
        let left = if *many {
            without(row, theirs, member)?
        } else {
            let only = row.get(theirs).and_then(AttributeValue::as_s);
            only.filter(|only| *only == member)?;
            None
        };
        Some((theirs, left))
    }
}

fn is_nothing(ledger: &Ledger<'_, '_>, other: &Entity, item: &Item) -> bool {
    let table = ledger.model.tables.get(other.table);
    let tag = table.and_then(|table| table.entity_attribute.as_ref());
    item.keys()
        .all(|name| is_empty_without(other, name) || other.key_template(name).is_some() || Some(name) == tag)
}

/// One row of the other side for each row of this one.
pub(super) fn mirror(
    ledger: &mut Ledger<'_, '_>,
    other: &Entity,
    with: &[Pair],
    back: &[Pair],
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let before = row.old.and_then(|old| related(other, with, old));
    let before = before.and_then(|identity| other.key_from(&identity).ok());
    let after = match new.and_then(|new| related(other, with, new)) {
        Some(identity) => Some(key_of_other(row.entity, other, &identity)?),
        None => None,
    };
    if let Some(gone) = before.filter(|before| after.as_ref() != Some(before)) {
        let at = ledger.find(other, gone)?;
        if ledger
            .row(at)
            .is_some_and(|theirs| stands_for(row, back, &theirs))
        {
            ledger.remove(at);
        }
    }
    let (Some(key), Some(new)) = (after, new) else {
        return Ok(());
    };
    let at = ledger.find(other, key)?;
    let mut item = ledger.row(at).map(Arc::unwrap_or_clone).unwrap_or_default();
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

/// Whether a row of the other side still belongs to this row: it may belong to another one by now.
fn stands_for(row: &Row<'_>, back: &[Pair], theirs: &Item) -> bool {
    let identity = related(row.entity, back, theirs);
    let key = identity.and_then(|identity| row.entity.key_from(&identity).ok());
    key.as_ref() == Some(row.key)
}
