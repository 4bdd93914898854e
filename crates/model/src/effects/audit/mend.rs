//! Repairs findings of an audit, over the rows of the commit that writes the repair. Each finding is checked
//! again there, because the rows may have changed since.

use std::sync::Arc;

use trestle_item::{AttributeValue, Item, Number};

use super::Finding;
use super::finding::Cure;
use super::head::takes_part;
use super::single::events_sum;
use crate::effect::{Amount, Once};
use crate::effects::head::Successor;
use crate::effects::inverse::{Form, identities, identity, join, leave, mirror};
use crate::effects::ledger::{At, Ledger};
use crate::effects::pairs::related;
use crate::effects::plan::Plan;
use crate::effects::settle::{Row, identified, settle_all};
use crate::effects::{Stopped, counter, entries, head, inverse, large_values, plain, unique};
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;
use trestle_env::Timestamp;
use trestle_hook::{By, Companion, Rows};

impl Model {
    /// The rows to write to repair a finding of this model: complete rows, with everything that follows from
    /// them. None where the rows agree by now.
    ///
    /// A second repair changes nothing, except for [`FindingKind::Counter`](super::FindingKind::Counter):
    /// later writes do not change the error of a sum, so it is added once, and the next audit finds what is
    /// left of it.
    pub fn mend(
        &self,
        finding: &Finding,
        rows: &dyn Rows,
        now: Timestamp,
    ) -> Result<Vec<Companion>, Stopped> {
        let mut ledger = Ledger::new(self, rows, now, By::Companion);
        ledger.keeps_times = true;
        run(&mut ledger, &finding.cure)?;
        settle_all(&mut ledger).map_err(plain)?;
        large_values::finish(&mut ledger).map_err(plain)?;
        Ok(ledger.companions(0))
    }
}

fn run(ledger: &mut Ledger<'_, '_>, cure: &Cure) -> Result<(), Stopped> {
    let model = ledger.model;
    match cure {
        Cure::None => Ok(()),
        Cure::Row { entity, key } => renew(ledger, model.known_entity(*entity)?, key),
        Cure::Head {
            entity,
            key,
            candidate,
            forward,
        } => {
            let (of, step) = effect(model, *entity, |plan| plan.head.as_ref())?;
            mend_head(ledger, of, step, key, candidate.as_ref(), *forward)
        }
        Cure::Keeper {
            entity,
            step,
            key,
            owners,
        } => {
            let (of, step) = effect(model, *entity, |plan| plan.uniques.get(*step))?;
            mend_keeper(ledger, of, step, key, owners)
        }
        Cure::Entry { entity, step, key } => {
            let (of, step) = effect(model, *entity, |plan| plan.entries.get(*step))?;
            mend_entry(ledger, of, step, key)
        }
        Cure::Entries { entity, step, row } => {
            let (of, step) = effect(model, *entity, |plan| plan.entries.get(*step))?;
            make_entries(ledger, of, step, row)
        }
        Cure::Member {
            entity,
            step,
            own,
            theirs,
            fill,
        } => {
            let (of, step) = effect(model, *entity, |plan| plan.inverses.get(*step))?;
            mend_member(ledger, of, step, (own, theirs), *fill)
        }
        Cure::Mirror {
            entity,
            step,
            row,
            mirror,
            fill,
        } => {
            let (of, step) = effect(model, *entity, |plan| plan.inverses.get(*step))?;
            mend_mirror(ledger, of, step, row.as_ref(), mirror, *fill)
        }
        Cure::Orphan {
            entity,
            attribute,
            identity,
        } => clear_orphan(ledger, model.known_entity(*entity)?, attribute, identity),
        Cure::Count { entity, step, .. }
        | Cure::Event { entity, step, .. }
        | Cure::Events { entity, step, .. } => {
            let (of, step) = effect(model, *entity, |plan| plan.counters.get(*step))?;
            mend_counter(ledger, of, step, cure)
        }
    }
}

/// An entity and one of its effects. A finding is repaired with the audited model, so both exist.
fn effect<'m, S>(
    model: &'m Model,
    entity: usize,
    step: impl FnOnce(&'m Plan) -> Option<&'m S>,
) -> Result<(&'m Entity, &'m S), Refusal> {
    let of = model.known_entity(entity)?;
    let step = model.plan_of(of).and_then(step);
    match step {
        Some(step) => Ok((of, step)),
        None => Err(Refusal::defect(
            "a finding is about an effect that the model does not have",
        )),
    }
}

/// A row with its identity, which may be only in its key.
fn whole(ledger: &Ledger<'_, '_>, entity: &Entity, at: At) -> Option<Arc<Item>> {
    ledger.row(at).map(|row| identified(entity, row))
}

/// Settles a row as it is.
fn renew(ledger: &mut Ledger<'_, '_>, entity: &Entity, key: &Item) -> Result<(), Stopped> {
    let at = ledger.find(entity, key.clone())?;
    if ledger.row(at).is_some() {
        ledger.wait(at);
    }
    Ok(())
}

fn mend_head(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &head::Step,
    key: &Item,
    candidate: Option<&Item>,
    forward: bool,
) -> Result<(), Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let at = ledger.find(of_head, key.clone())?;
    if step.pointer.is_some() {
        return head::align(ledger, step, of, at);
    }
    let head = ledger.row(at);
    let stands_for = match head.as_ref().and_then(|head| of.key_from(head).ok()) {
        Some(row) => member(ledger, of, step, of_head, key, &row)?,
        None => None,
    };
    let candidate = match candidate {
        Some(candidate) => member(ledger, of, step, of_head, key, candidate)?,
        None => None,
    };
    match (head, stands_for, candidate) {
        (Some(head), Some(row), candidate) => {
            let newer = candidate.filter(|candidate| {
                forward
                    && whole(ledger, of, *candidate)
                        .is_some_and(|newer| step.head.is_newer(of, &newer, &head))
            });
            match newer {
                Some(newer) => {
                    let previous = head::succeed(ledger, step, of, &head)?;
                    promote(ledger, (of, of_head), step, at, newer, previous);
                }
                None => ledger.wait(row),
            }
        }
        (None, _, Some(candidate)) => promote(ledger, (of, of_head), step, at, candidate, Vec::new()),
        (None, _, None) => {}
        (Some(head), None, _) => match successor(ledger, of, step, &head, key)? {
            Some(row) => promote(ledger, (of, of_head), step, at, row, Vec::new()),
            None => ledger.remove(at),
        },
    }
    Ok(())
}

/// A row, if it takes part in the group of a head.
fn member(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &head::Step,
    of_head: &Entity,
    head_key: &Item,
    key: &Item,
) -> Result<Option<At>, Stopped> {
    let at = ledger.find(of, key.clone())?;
    let Some(row) = whole(ledger, of, at) else {
        return Ok(None);
    };
    let is_member = takes_part(step, &row) && of_head.key_from(&row).ok().as_ref() == Some(head_key);
    Ok(is_member.then_some(at))
}

/// The row that a head without a row should stand for.
fn successor(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &head::Step,
    head: &Item,
    head_key: &Item,
) -> Result<Option<At>, Stopped> {
    let Some(group) = &step.group else {
        return Ok(match head::remembered_row(ledger, step, of, head)? {
            Successor::Row(at) => Some(at),
            Successor::NoRow | Successor::Unknown => None,
        });
    };
    // The group follows from the key, whatever the head's attributes are.
    let mut named = head.clone();
    if let Some(of_head) = ledger.model.entities.get(step.entity) {
        for (name, value) in of_head.identify(head_key).unwrap_or_default() {
            named.insert(name, value);
        }
    }
    let mut newest: Option<(At, Arc<Item>)> = None;
    for (at, row) in group.rows(ledger, of, &named)? {
        let competes = takes_part(step, &row) && !step.expires(&row, ledger.now);
        let is_newest = newest
            .as_ref()
            .is_none_or(|(_, best)| step.head.is_newer(of, &row, best));
        if competes && is_newest {
            newest = Some((at, row));
        }
    }
    Ok(newest.map(|(at, _)| at))
}

fn promote(
    ledger: &mut Ledger<'_, '_>,
    (of, of_head): (&Entity, &Entity),
    step: &head::Step,
    head: At,
    row: At,
    previous: Vec<(String, AttributeValue)>,
) {
    let Some(stored) = whole(ledger, of, row) else {
        return;
    };
    let mut promoted = Arc::clone(&stored);
    step.promote(&mut promoted, Some(&stored), ledger.now);
    ledger.put(of_head, head, step.content(&promoted, previous));
    ledger.put(of, row, promoted);
    // A row that is already marked may lack derived attributes.
    ledger.wait(row);
}

fn mend_keeper(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &unique::Step,
    key: &Item,
    owners: &[Item],
) -> Result<(), Stopped> {
    let keeper = ledger.model.known_entity(step.entity)?;
    let at = ledger.find(keeper, key.clone())?;
    let named = ledger.row(at).and_then(|kept| of.key_from(&kept).ok());
    for owner in named.iter().chain(owners) {
        let owner = ledger.find(of, owner.clone())?;
        if let Some(row) = whole(ledger, of, owner)
            && step.key(keeper, &row).ok().flatten().as_ref() == Some(key)
        {
            unique::claim(ledger, keeper, at, &row);
            return Ok(());
        }
    }
    ledger.remove(at);
    Ok(())
}

fn mend_entry(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &entries::Step,
    key: &Item,
) -> Result<(), Stopped> {
    let entry = ledger.model.known_entity(step.entity)?;
    let at = ledger.find(entry, key.clone())?;
    match entries::wanted(ledger, entry, of, at)? {
        Some(content) => ledger.put(entry, at, content),
        None => ledger.remove(at),
    }
    Ok(())
}

fn make_entries(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &entries::Step,
    key: &Item,
) -> Result<(), Stopped> {
    let at = ledger.find(of, key.clone())?;
    match whole(ledger, of, at) {
        Some(row) => {
            let first = Row {
                entity: of,
                key,
                old: None,
            };
            entries::run(ledger, step, &first, Some(&row))
        }
        None => Ok(()),
    }
}

/// The declaring side of a relation is authoritative. Where rows are filled in, both sides are.
fn mend_member(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &inverse::Step,
    (own, theirs): (&str, &str),
    fill: bool,
) -> Result<(), Stopped> {
    let other = ledger.model.known_entity(step.entity)?;
    let Form::Identities {
        of: ours,
        theirs: set,
        ..
    } = &step.form
    else {
        return Err(Refusal::defect("a member is missing in a relation of rows").into());
    };
    let row = row_of(ledger, of, own)?;
    let other_row = row_of(ledger, other, theirs)?;
    let wanted = identities(row.as_deref(), ours).contains(theirs);
    let had = identities(other_row.as_deref(), set).contains(own);
    match (wanted, had) {
        (true, false) => join(ledger, step, (of, other), theirs, own),
        (false, true) => {
            let is_free = !matches!(
                row.as_ref().and_then(|row| row.get(ours)),
                Some(AttributeValue::S(_))
            );
            let back = back_step(ledger.model, of, other, (ours, set)).filter(|_| fill && is_free);
            match back {
                Some(back) => join(ledger, back, (other, of), own, theirs),
                None => leave(ledger, step, other, theirs, own),
            }
        }
        _ => Ok(()),
    }
}

fn row_of(ledger: &mut Ledger<'_, '_>, entity: &Entity, named: &str) -> Result<Option<Arc<Item>>, Stopped> {
    let Ok(key) = entity.key_from(&identity(entity, named)) else {
        return Ok(None);
    };
    let at = ledger.find(entity, key)?;
    Ok(ledger.row(at))
}

/// What the other side of a relation keeps.
fn back_step<'m>(
    model: &'m Model,
    of: &Entity,
    other: &Entity,
    (ours, set): (&str, &str),
) -> Option<&'m inverse::Step> {
    let mut steps = model.plan_of(other)?.inverses.iter();
    steps.find(|step| {
        let same = match &step.form {
            Form::Identities { of, theirs, .. } => of == set && theirs == ours,
            Form::Rows { .. } => false,
        };
        same && step.entity == of.position
    })
}

fn mend_mirror(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &inverse::Step,
    row: Option<&Item>,
    key: &Item,
    fill: bool,
) -> Result<(), Stopped> {
    let other = ledger.model.known_entity(step.entity)?;
    let Form::Rows { with, back } = &step.form else {
        return Err(Refusal::defect("a mirror is missing in a relation of members").into());
    };
    let at = ledger.find(other, key.clone())?;
    let theirs = whole(ledger, other, at);
    let named = theirs
        .as_ref()
        .and_then(|theirs| of.key_from(&related(of, back, theirs)?).ok());
    for own in row.into_iter().chain(&named) {
        let own_at = ledger.find(of, own.clone())?;
        let Some(item) = whole(ledger, of, own_at) else {
            continue;
        };
        let wants = related(other, with, &item).and_then(|identity| other.key_from(&identity).ok());
        if wants.as_ref() == Some(key) {
            let first = Row {
                entity: of,
                key: own,
                old: None,
            };
            return mirror(ledger, other, with, back, &first, Some(&item));
        }
    }
    match theirs {
        Some(theirs) if fill => {
            let first = Row {
                entity: other,
                key,
                old: None,
            };
            mirror(ledger, of, back, with, &first, Some(&theirs))
        }
        Some(_) => {
            ledger.remove(at);
            Ok(())
        }
        None => Ok(()),
    }
}

fn mend_counter(
    ledger: &mut Ledger<'_, '_>,
    of: &Entity,
    step: &counter::Step,
    cure: &Cure,
) -> Result<(), Stopped> {
    let other = ledger.model.known_entity(step.entity)?;
    match (cure, &step.counter.once) {
        (
            Cure::Count {
                identity,
                error,
                fill,
                ..
            },
            Once::Row,
        ) => add_error(ledger, other, step, identity, error, *fill),
        (Cure::Event { key, .. }, Once::Event { attributes, seen }) => {
            let at = ledger.find(of, key.clone())?;
            match whole(ledger, of, at) {
                Some(row) => {
                    let first = Row {
                        entity: of,
                        key,
                        old: None,
                    };
                    counter::count_events(ledger, step, attributes, seen, &first, Some(&row))
                }
                None => Ok(()),
            }
        }
        (Cure::Events { key, .. }, Once::Event { seen, .. }) => {
            let at = ledger.find(other, key.clone())?;
            if let (Some(row), Amount::Fixed(amount)) = (ledger.row(at), &step.counter.by) {
                let mut item = Arc::unwrap_or_clone(row);
                item.insert(step.counter.attribute.clone(), step.base(other));
                let sum = events_sum(&item, seen, *amount);
                step.add(other, &mut item, &sum)?;
                ledger.put(other, at, item);
            }
            Ok(())
        }
        _ => Err(Refusal::defect("a count is mended by another rule than it is kept by").into()),
    }
}

/// Adds the error of a sum to the count: in its row, or to the orphan count if the row is missing. Where rows
/// are filled in, a missing row is created if its identity is enough.
fn add_error(
    ledger: &mut Ledger<'_, '_>,
    other: &Entity,
    step: &counter::Step,
    identity: &Item,
    error: &Number,
    fill: bool,
) -> Result<(), Stopped> {
    let at = ledger.find(other, other.key_from(identity)?)?;
    let row = ledger.row(at);
    if row.is_none() && !(fill && step.stands_alone) {
        return counter::add_to_orphan(ledger, other, &step.counter.attribute, identity, error);
    }
    let mut item = row.map_or_else(|| identity.clone(), Arc::unwrap_or_clone);
    step.add(other, &mut item, error)?;
    ledger.put(other, at, item);
    Ok(())
}

fn clear_orphan(
    ledger: &mut Ledger<'_, '_>,
    other: &Entity,
    attribute: &str,
    identity: &Item,
) -> Result<(), Stopped> {
    let at = ledger.find(other, other.key_from(identity)?)?;
    if ledger.row(at).is_some() {
        ledger.orphan_count(other, attribute, identity)?.count = Number::ZERO;
    }
    Ok(())
}
