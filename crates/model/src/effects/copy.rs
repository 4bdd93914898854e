//! `copy`: attributes taken from a row of another entity, once or in step with it.

use trestle_hook::RowQuery;
use trestle_item::Item;

use super::Stopped;
use super::copy_note::CopyNote;
use super::ledger::{Ledger, SETTLED_MAX};
use super::pairs::{key_of_other, related};
use super::plan::Parts;
use super::settle::Row;
use crate::access::{AccessPattern, Bound};
use crate::attribute::{said, shown};
use crate::effect::{Copy, Effect};
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::{Follows, Given, Keeps, Refusal};

/// What is known about a copy before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) copy: Copy,
    /// Position of the entity it is copied from.
    pub(super) from: usize,
    /// Whether the original may be missing.
    optional: bool,
}

/// A copy from the original's side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Follower {
    pub(super) copy: Copy,
    /// Position of the entity that has the copy.
    pub(super) entity: usize,
    /// The query that finds the rows that have it.
    pub(super) finder: AccessPattern,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, entity: &Entity, copy: &Copy) -> Option<Self> {
        let mut copied = copy.attributes.iter();
        Some(Step {
            from: parts.position(&copy.from)?,
            optional: copied.all(|pair| {
                let attribute = entity.attribute(&pair.ours);
                attribute.is_none_or(|attribute| attribute.optional || attribute.default.is_some())
            }),
            copy: copy.clone(),
        })
    }
}

/// The position of each original, and its followers.
pub(super) fn followers(parts: &Parts<'_>) -> Vec<(usize, Follower)> {
    let mut followers = Vec::new();
    for (entity, effect) in parts
        .entities
        .iter()
        .enumerate()
        .flat_map(|(at, entity)| entity.effects.iter().map(move |effect| (at, effect)))
    {
        let Effect::Copy(copy) = effect else { continue };
        let finder = copy
            .in_step
            .as_ref()
            .and_then(|name| parts.access.iter().find(|pattern| pattern.name == *name));
        if let (Some(finder), Some(original)) = (finder, parts.position(&copy.from)) {
            let follower = Follower {
                copy: copy.clone(),
                entity,
                finder: finder.clone(),
            };
            followers.push((original, follower));
        }
    }
    followers
}

/// Fills in the attributes that a row copies. Values of a copy that is not in step stay.
pub(super) fn take(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    item: &mut Item,
) -> Result<(), Stopped> {
    let from = ledger.model.known_entity(step.from)?;
    let Some(identity) = related(from, &step.copy.with, item) else {
        return Ok(());
    };
    let referred = row.old.and_then(|old| related(from, &step.copy.with, old));
    let stored = row.old.filter(|_| referred.as_ref() == Some(&identity));
    let has_copy = |stored: &&Item| {
        let mut copied = step.copy.attributes.iter();
        copied.any(|pair| stored.contains_key(&pair.ours))
    };
    if let Some(stored) = stored.filter(has_copy).filter(|_| step.copy.in_step.is_none()) {
        copy_from(
            stored,
            item,
            step.copy.attributes.iter().map(|pair| (&pair.ours, &pair.ours)),
        );
        return Ok(());
    }
    let at = ledger.find(from, key_of_other(row.entity, from, &identity)?)?;
    let theirs = step.copy.attributes.iter().map(|pair| (&pair.theirs, &pair.ours));
    match (ledger.row(at), stored) {
        (Some(original), _) => copy_from(&original, item, theirs),
        // The original is gone; its copies stay.
        (None, Some(stored)) => {
            copy_from(
                stored,
                item,
                step.copy.attributes.iter().map(|pair| (&pair.ours, &pair.ours)),
            );
        }
        (None, None) if step.optional => copy_from(&Item::new(), item, theirs),
        (None, None) => return Err(no_original(step, row.entity, from, &identity).into()),
    }
    Ok(())
}

/// A copy equals its original. A value that a client gives must be the same, or the stored one.
pub(super) fn check_given(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    given: &Item,
    item: &Item,
) -> Result<(), Stopped> {
    let mut copied = step.copy.attributes.iter();
    let other = copied.find(|pair| {
        let value = given.get(&pair.ours);
        let stored = row.old.and_then(|old| old.get(&pair.ours));
        value.is_some() && value != item.get(&pair.ours) && value != stored
    });
    let Some(pair) = other else { return Ok(()) };
    let from = ledger.model.known_entity(step.from)?;
    let identity = related(from, &step.copy.with, item);
    let identity = identity.ok_or_else(|| Refusal::defect("a row has a copy and refers to no original"))?;
    let original = ledger.find(from, key_of_other(row.entity, from, &identity)?)?;
    let follows = match (&step.copy.in_step, ledger.row(original)) {
        (None, _) => Follows::FirstWrite,
        (Some(_), Some(_)) => Follows::Original,
        (Some(_), None) => Follows::Missing,
    };
    let value = |item: &Item| item.get(&pair.ours).map_or("missing".to_owned(), shown);
    Err(Refusal::Given(Box::new(Given {
        entity: row.entity.name.clone(),
        attribute: pair.ours.clone(),
        why: Keeps::Copy {
            of: pair.theirs.clone(),
            entity: from.name.clone(),
            identity: said(&identity),
            follows,
        },
        stored: value(item),
        given: value(given),
    }))
    .into())
}

fn copy_from<'n>(source: &Item, item: &mut Item, names: impl Iterator<Item = (&'n String, &'n String)>) {
    for (theirs, ours) in names {
        match source.get(theirs) {
            Some(value) if item.get(ours) == Some(value) => {}
            Some(value) => {
                item.insert(ours.clone(), value.clone());
            }
            None => {
                item.remove(ours);
            }
        }
    }
}

fn no_original(step: &Step, entity: &Entity, from: &Entity, identity: &Item) -> Refusal {
    Refusal::NoOriginal {
        entity: entity.name.clone(),
        copy: step.copy.name.clone(),
        from: from.name.clone(),
        original: said(identity),
    }
}

/// Updates the copies of a row, in this commit or in the background. Copies of a removed row stay unchanged.
pub(super) fn lead(
    ledger: &mut Ledger<'_, '_>,
    follower: &Follower,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let Some(new) = new else { return Ok(()) };
    let mut copied = follower.copy.attributes.iter();
    // A new row may have copies that an earlier row with its identity left; they are not known.
    let is_same = row
        .old
        .is_some_and(|old| copied.all(|pair| old.get(&pair.theirs) == new.get(&pair.theirs)));
    if is_same {
        return Ok(());
    }
    if follower.copy.background {
        return note(ledger, follower, row, new);
    }
    let found = copies(ledger, follower, row, new)?;
    let copies = referring(ledger, follower, (row.entity, row.key), found)?;
    if copies.len() > SETTLED_MAX {
        return Err(too_many(ledger.model, follower, row, new, copies.len())?.into());
    }
    bring(ledger, follower, new, copies)
}

/// Writes a note that copies are to be updated in the background, if there are any.
fn note(ledger: &mut Ledger<'_, '_>, follower: &Follower, row: &Row<'_>, new: &Item) -> Result<(), Stopped> {
    let entity = ledger.model.known_entity(follower.entity)?;
    let has_copies = match bound(&follower.finder, new)? {
        Some(Bound::Get { key, .. }) => {
            let at = ledger.find(entity, key)?;
            ledger.row(at).is_some()
        }
        Some(found) => match query(found) {
            Some(query) => ledger.finds_any(entity.table, query)?,
            None => false,
        },
        None => false,
    };
    if !has_copies {
        return Ok(());
    }
    let identity = row.entity.identity_in(new);
    ledger.note(CopyNote::new(ledger.model, entity, &follower.copy, identity))
}

/// Those found rows that have the copy and refer to the original with this key.
pub(super) fn referring(
    ledger: &Ledger<'_, '_>,
    follower: &Follower,
    (from, key): (&Entity, &Item),
    mut found: Vec<usize>,
) -> Result<Vec<usize>, Refusal> {
    let entity = ledger.model.known_entity(follower.entity)?;
    found.retain(|at| {
        let Some(stored) = ledger.row(*at) else {
            return false;
        };
        let recognised = ledger.entity_of(entity.table, &stored);
        let referred = related(from, &follower.copy.with, &stored);
        recognised.is_some_and(|recognised| recognised.name == entity.name)
            && referred.is_some_and(|identity| from.key_from(&identity).ok().as_ref() == Some(key))
    });
    Ok(found)
}

/// Copies the attributes of their original to rows that have the copy.
pub(super) fn bring(
    ledger: &mut Ledger<'_, '_>,
    follower: &Follower,
    original: &Item,
    copies: Vec<usize>,
) -> Result<(), Stopped> {
    let entity = ledger.model.known_entity(follower.entity)?;
    for at in copies {
        let Some(stored) = ledger.row(at) else { continue };
        let mut item = (*stored).clone();
        let names = follower.copy.attributes.iter();
        copy_from(original, &mut item, names.map(|pair| (&pair.theirs, &pair.ours)));
        ledger.put(entity, at, item);
    }
    Ok(())
}

/// The rows that may have copies, found by the original's old and new attributes.
fn copies(
    ledger: &mut Ledger<'_, '_>,
    follower: &Follower,
    row: &Row<'_>,
    new: &Item,
) -> Result<Vec<usize>, Stopped> {
    let entity = ledger.model.known_entity(follower.entity)?;
    let after = bound(&follower.finder, new)?;
    let before = match row.old {
        Some(old) => bound(&follower.finder, old)?.filter(|before| after.as_ref() != Some(before)),
        None => None,
    };
    let mut found = Vec::new();
    for request in [after, before].into_iter().flatten() {
        if let Bound::Get { key, .. } = request {
            found.push(ledger.find(entity, key)?);
        } else if let Some(query) = query(request) {
            found.extend(ledger.query(entity.table, &query)?);
        }
    }
    Ok(found)
}

/// A bound finder as a query over the commit's rows.
fn query(bound: Bound) -> Option<RowQuery> {
    match bound {
        Bound::Query {
            table_name,
            index,
            key_condition,
            filter,
            ..
        } => Some(RowQuery {
            table: table_name,
            index,
            key_condition,
            filter,
            limit: None,
            is_guarded: false,
        }),
        Bound::Get { .. } | Bound::Scan { .. } => None,
    }
}

fn too_many(
    model: &Model,
    follower: &Follower,
    row: &Row<'_>,
    new: &Item,
    rows: usize,
) -> Result<Refusal, Refusal> {
    Ok(Refusal::TooManyCopies {
        entity: row.entity.name.clone(),
        original: said(&row.entity.identity_in(new)),
        copy: follower.copy.name.clone(),
        of: model.known_entity(follower.entity)?.name.clone(),
        rows,
        most: SETTLED_MAX,
    })
}

/// The finder with the original's attributes; `None` if it lacks one of them.
pub(super) fn bound(finder: &AccessPattern, original: &Item) -> Result<Option<Bound>, Refusal> {
    let parameters: Option<Item> = finder
        .parameters
        .iter()
        .map(|parameter| Some((parameter.name.clone(), original.get(&parameter.name)?.clone())))
        .collect();
    parameters.map(|parameters| finder.bind(&parameters)).transpose()
}
