//! `head`: a row that always holds the newest of a group.

mod follow;
mod group;
mod point;
mod rank;

use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_hook::By;
use trestle_item::{AttributeValue, Item, Number};

pub(super) use self::group::Group;
use self::group::Member;
use super::Stopped;
use super::ledger::{At, Ledger};
use super::plan::Parts;
use super::settle::Row;
use crate::effect::{Edit, Head};
use crate::entity::Entity;
use crate::model::Table;
use crate::refusal::Refusal;

pub(crate) use follow::finds_group;
pub(super) use follow::{Led, align, keep, lead};
pub(super) use point::{point, unpoint};

/// What is known about a head before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) head: Head,
    /// Position of the head's entity.
    pub(super) entity: usize,
    /// Attributes of a row that its head lacks.
    pub(super) left_out: Vec<String>,
    /// The attribute with the time at which a row expires.
    ttl: Option<String>,
    /// How one query finds the rows of a group, if possible. For a head that follows a row: the rows that
    /// this row may name.
    pub(super) group: Option<Group>,
    /// Position of the entity of the pointers that name the head's row.
    pub(super) pointer: Option<usize>,
    /// Whether demoting undoes a mark of promoting, so that no two rows ever have it.
    marks: bool,
    /// Whether a row that was promoted or demoted must be derived again.
    derives: bool,
}

/// The relation of a row to the head of its group.
pub(super) struct Standing {
    /// The head's row in the ledger.
    head: At,
    place: HeadPlacement,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadPlacement {
    Apart,
    Is,
    Becomes,
    StepsDown,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, entity: &Entity, head: &Head) -> Option<Self> {
        let position = parts.position(&head.entity)?;
        let of_head = parts.entities.get(position)?;
        let table = parts.tables.get(entity.table)?;
        let keys = entity.table_key.iter().chain(&entity.index_keys);
        let keys = keys.filter(|template| !template.is_identity());
        let mut left_out: Vec<String> = keys.map(|template| template.attribute.clone()).collect();
        left_out.extend(head.omit.iter().cloned());
        left_out.extend(table.entity_attribute.clone());
        // A head is removed with its group, not before.
        left_out.extend(parts.tables.get(of_head.table)?.ttl.clone());
        left_out.extend(
            head.previous
                .iter()
                .map(|remembered| remembered.attribute.clone()),
        );
        let undone = |(name, value): (&String, &AttributeValue)| {
            head.demote.remove.contains(name) || head.demote.set.get(name).is_some_and(|other| other != value)
        };
        let pointer = match &head.follows {
            Some(follows) => Some(parts.position(&follows.entity)?),
            None => None,
        };
        let common = follow::common(pointer.and_then(|at| parts.entities.get(at)), head, of_head);
        Some(Step {
            entity: position,
            pointer,
            left_out,
            ttl: table.ttl.clone(),
            group: Group::of(table, entity, &common),
            marks: head.promote.set.iter().any(undone),
            derives: changed_by(head, table).any(|name| is_derived_from(entity, name)),
            head: head.clone(),
        })
    }

    /// The other rows of a row's group that could be its newest.
    fn others(
        &self,
        ledger: &mut Ledger<'_, '_>,
        group: &Group,
        row: &Row<'_>,
        head: &Item,
    ) -> Result<Vec<Member>, Stopped> {
        let mut rows = group.rows(ledger, row.entity, head)?;
        rows.retain(|(at, item)| {
            let takes_part = self.head.rank(item).is_some() && !self.expires(item, ledger.now);
            takes_part && ledger.key(*at) != Some(row.key)
        });
        Ok(rows)
    }

    /// Whether a row precedes another as the successor of a head.
    fn comes_before(&self, entity: &Entity, head: &Item, one: &Item, other: &Item) -> bool {
        let is_ahead = |item: &Item| self.head.is_newer(entity, item, head);
        match (is_ahead(one), is_ahead(other)) {
            (false, true) => true,
            (true, false) => false,
            _ => self.head.is_newer(entity, one, other),
        }
    }

    /// Whether a row has the marks of a promoted row.
    pub(super) fn is_marked(&self, item: &Item) -> bool {
        let mut set = self.head.promote.set.iter();
        self.marks && set.all(|(name, value)| item.get(name) == Some(value))
    }

    pub(super) fn expires(&self, item: &Item, now: Timestamp) -> bool {
        let seconds = self.ttl.as_ref().and_then(|name| item.get(name)?.as_n());
        seconds.is_some_and(|seconds| *seconds <= Number::from(now.as_secs()))
    }

    /// Makes a row the newest. Returns whether anything changed.
    pub(super) fn promote(&self, item: &mut Arc<Item>, old: Option<&Item>, now: Timestamp) -> bool {
        // A row that was demoted before no longer expires. A new row keeps its own time to live.
        let stays = match &self.ttl {
            Some(ttl)
                if self.head.demote.expire_after_seconds.is_some()
                    && old.is_some_and(|old| old.get(ttl) == item.get(ttl)) =>
            {
                remove(item, ttl)
            }
            _ => false,
        };
        self.edit(&self.head.promote, item, now) || stays
    }

    /// Makes a row one that is no longer the newest. Returns whether anything changed.
    fn demote(&self, item: &mut Arc<Item>, now: Timestamp) -> bool {
        self.edit(&self.head.demote, item, now)
    }

    fn edit(&self, edit: &Edit, item: &mut Arc<Item>, now: Timestamp) -> bool {
        let marked = mark(edit, item);
        let expires = match (&self.ttl, edit.expire_after_seconds) {
            (Some(ttl), Some(seconds)) => set(item, ttl, &now.as_secs().saturating_add(seconds).into()),
            _ => false,
        };
        marked || expires
    }

    /// The head of a row, with room for derived attributes.
    pub(super) fn content(&self, row: &Item, previous: Vec<(String, AttributeValue)>) -> Item {
        let mut head = Item::with_capacity(row.len() + previous.len());
        let own = row.iter().filter(|(name, _)| !self.left_out.contains(name));
        for (name, value) in own {
            head.insert(name.clone(), value.clone());
        }
        for (name, value) in previous {
            head.insert(name, value);
        }
        head
    }

    /// What the head already remembers.
    fn remembered(&self, head: &Item) -> Vec<(String, AttributeValue)> {
        let names = self.head.previous.iter().map(|remembered| &remembered.attribute);
        let values = names.filter_map(|name| Some((name.clone(), head.get(name)?.clone())));
        values.collect()
    }

    /// What the head will remember of the row that was newest before.
    fn to_remember(&self, predecessor: &Item) -> Vec<(String, AttributeValue)> {
        let previous = self.head.previous.iter();
        let values = previous.filter_map(|remembered| {
            Some((
                remembered.attribute.clone(),
                predecessor.get(&remembered.of)?.clone(),
            ))
        });
        values.collect()
    }

    /// Whether the head itself has everything that its successor will remember, so that its row need not be
    /// read.
    fn knows_enough(&self) -> bool {
        let omitted = |name: &String| self.left_out.contains(name);
        self.head.demote.is_empty()
            && !self
                .head
                .previous
                .iter()
                .any(|remembered| omitted(&remembered.of))
    }
}

/// The attributes that promoting or demoting may change.
fn changed_by<'h>(head: &'h Head, table: &'h Table) -> impl Iterator<Item = &'h String> {
    let edits = [&head.promote, &head.demote].into_iter();
    let named = edits.flat_map(|edit| edit.set.keys().chain(&edit.remove));
    named.chain(&table.ttl)
}

/// Whether derived attributes, or whether the row is complete, depend on an attribute.
fn is_derived_from(entity: &Entity, name: &str) -> bool {
    let mut keys = entity.index_keys.iter();
    keys.any(|template| !template.is_identity() && template.fields().contains(&name))
        || entity
            .attribute(name)
            .is_some_and(|attribute| attribute.immutable || !attribute.optional)
}

fn mark(edit: &Edit, item: &mut Arc<Item>) -> bool {
    let mut changed = false;
    for (name, value) in &edit.set {
        changed |= set(item, name, value);
    }
    for name in &edit.remove {
        changed |= remove(item, name);
    }
    changed
}

/// Sets an attribute unless it already has the value, so that a shared row is not copied needlessly.
fn set(item: &mut Arc<Item>, name: &str, value: &AttributeValue) -> bool {
    let changes = item.get(name) != Some(value);
    if changes {
        let item = Arc::make_mut(item);
        item.reserve(1);
        item.insert(name, value.clone());
    }
    changes
}

fn remove(item: &mut Arc<Item>, name: &str) -> bool {
    let changes = item.contains_key(name);
    if changes {
        Arc::make_mut(item).remove(name);
    }
    changes
}

/// The relation of a row to its head, the resulting changes of the row, and whether it must be derived again.
/// `item` is the row as it will be.
pub(super) fn stand(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    item: Option<&mut Arc<Item>>,
) -> Result<Option<(Standing, bool)>, Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let Some(any) = item.as_deref().map(|item| &**item).or(row.old) else {
        return Ok(None);
    };
    let key = match of_head.key_from(any) {
        Ok(key) => key,
        // A row that never had a head may always be removed.
        Err(_) if item.is_none() => return Ok(None),
        Err(refusal) => return Err(refusal.into()),
    };
    let at = ledger.find(of_head, key)?;
    let head = ledger.row(at);
    let is_head = head
        .as_ref()
        .is_some_and(|head| points_at(row.entity, head, row.key));
    let is_named = match step.pointer {
        Some(pointer) => Some(follow::names(ledger, step, pointer, any)?),
        None => None,
    };
    let place = match (&item, is_head) {
        (Some(_), true) if is_named == Some(true) => HeadPlacement::Is,
        (Some(_), false) if is_named == Some(true) => HeadPlacement::Becomes,
        (_, false) if is_named.is_some() => HeadPlacement::Apart,
        (_, true) if is_named.is_some() => HeadPlacement::StepsDown,
        (Some(item), true) if keeps_its_place(ledger, step, row, head.as_deref(), item)? => HeadPlacement::Is,
        (_, true) => HeadPlacement::StepsDown,
        (Some(item), false) if competes(step, row.old, item, ledger) => match &head {
            Some(head) if !step.head.is_newer(row.entity, item, head) => HeadPlacement::Apart,
            _ => HeadPlacement::Becomes,
        },
        _ => HeadPlacement::Apart,
    };
    let to_derive = item.is_some_and(|item| edit_own(step, place, head.is_some(), row, item, ledger.now));
    Ok(Some((Standing { head: at, place }, to_derive)))
}

/// Whether the head of its group stands for a row.
pub(super) fn leads(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: Option<&Entity>,
    at: At,
) -> Result<bool, Stopped> {
    let of_head = ledger.model.entities.get(step.entity);
    let (Some(of_head), Some(entity), Some(stored)) = (of_head, entity, ledger.settled(at)) else {
        return Ok(false);
    };
    let Ok(key) = of_head.key_from(&stored) else {
        return Ok(false);
    };
    let head = ledger.find(of_head, key)?;
    let head = ledger.row(head);
    Ok(head
        .zip(ledger.key(at))
        .is_some_and(|(head, key)| points_at(entity, &head, key)))
}

/// Whether this write may make a row the newest: its rank is new, it had expired and no longer does, or the
/// head was computed without it.
fn competes(step: &Step, old: Option<&Item>, new: &Item, ledger: &Ledger<'_, '_>) -> bool {
    let rank = step.head.rank(new);
    let stays = !step.expires(new, ledger.now);
    let stays_again = || old.is_some_and(|old| step.expires(old, ledger.now)) && stays;
    let was_missed = ledger.by == By::SecondLook && stays;
    rank.is_some() && (was_missed || old.and_then(|old| step.head.rank(old)) != rank || stays_again())
}

/// Whether the newest row stays the newest after the write. If its rank falls, another row may be newer;
/// where the group cannot be read, it stays the newest.
fn keeps_its_place(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    head: Option<&Item>,
    item: &Item,
) -> Result<bool, Stopped> {
    if step.head.rank(item).is_none() {
        return Ok(false);
    }
    let (Some(head), Some(group)) = (head, &step.group) else {
        return Ok(true);
    };
    if !step.head.is_newer(row.entity, head, item) {
        return Ok(true);
    }
    let overtakes = |other: &Item| {
        step.head.is_newer(row.entity, other, item) && !step.head.is_newer(row.entity, other, head)
    };
    let others = step.others(ledger, group, row, head)?;
    Ok(!others.iter().any(|(_, other)| overtakes(other)))
}

/// Whether a head stands for the row with this key.
pub(super) fn points_at(entity: &Entity, head: &Item, key: &Item) -> bool {
    entity.key_from(head).is_ok_and(|its| its == *key)
}

/// Applies the row's relation to the head to the row. Returns whether it must be derived again.
fn edit_own(
    step: &Step,
    place: HeadPlacement,
    has_head: bool,
    row: &Row<'_>,
    item: &mut Arc<Item>,
    now: Timestamp,
) -> bool {
    let changed = match place {
        HeadPlacement::Becomes => step.promote(item, row.old, now),
        // Whatever is written, it stays marked while it is the newest.
        HeadPlacement::Is => mark(&step.head.promote, item),
        HeadPlacement::StepsDown => step.demote(item, now),
        // A row that is not the newest must not be marked as such. Where there is no head, a mark that is
        // older than the model stays.
        HeadPlacement::Apart
            if step.is_marked(item) && (has_head || !row.old.is_some_and(|old| step.is_marked(old))) =>
        {
            step.demote(item, now)
        }
        HeadPlacement::Apart => false,
    };
    step.derives && changed
}

/// Applies the row's relation to the head to the head and to other rows of its group.
pub(super) fn follow(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    standing: &Standing,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let at = standing.head;
    if step.pointer.is_some() {
        return match standing.place {
            HeadPlacement::Apart => Ok(()),
            _ => align(ledger, step, row.entity, at),
        };
    }
    let head = ledger.row(at);
    match (standing.place, new, head) {
        (HeadPlacement::Is, Some(new), Some(head)) => {
            let content = step.content(new, step.remembered(&head));
            ledger.put(of_head, at, content);
        }
        (HeadPlacement::Becomes, Some(new), head) => {
            let previous = match head {
                Some(head) => succeed(ledger, step, row.entity, &head)?,
                None => Vec::new(),
            };
            ledger.put(of_head, at, step.content(new, previous));
        }
        (HeadPlacement::StepsDown, _, Some(head)) => fall_back(ledger, step, row, at, &head)?,
        _ => {}
    }
    Ok(())
}

/// Demotes the row of a head. Returns what is to be remembered of it.
pub(super) fn succeed(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    head: &Item,
) -> Result<Vec<(String, AttributeValue)>, Stopped> {
    if step.knows_enough() {
        return Ok(step.to_remember(head));
    }
    let Ok(key) = entity.key_from(head) else {
        return Ok(Vec::new());
    };
    let at = ledger.find(entity, key)?;
    let Some(predecessor) = ledger.row(at) else {
        return Ok(step.to_remember(head));
    };
    let previous = step.to_remember(&predecessor);
    let mut demoted = predecessor;
    step.demote(&mut demoted, ledger.now);
    ledger.put(entity, at, demoted);
    Ok(previous)
}

/// Which row is the newest after the previous newest row.
pub(super) enum Successor {
    Row(At),
    NoRow,
    Unknown,
}

fn fall_back(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    at: At,
    head: &Item,
) -> Result<(), Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let found = match &step.group {
        Some(group) => newest_of_group(ledger, step, group, row, head)?,
        None => remembered_row(ledger, step, row.entity, head)?,
    };
    match found {
        Successor::Row(successor) => {
            let Some(stored) = ledger.row(successor) else {
                return Ok(());
            };
            let mut promoted = stored;
            let before = ledger.settled(successor);
            step.promote(&mut promoted, before.as_deref(), ledger.now);
            ledger.put(of_head, at, step.content(&promoted, Vec::new()));
            ledger.put(row.entity, successor, promoted);
        }
        Successor::Unknown if ledger.by != By::TimeToLive => {
            return Err(Refusal::NoSuccessor {
                entity: row.entity.name.clone(),
                head: of_head.name.clone(),
            }
            .into());
        }
        Successor::NoRow | Successor::Unknown => ledger.remove(at),
    }
    Ok(())
}

/// The newest row that is not newer than the demoted one, so that a head that was set back does not advance
/// again; if there is none, the newest of all.
fn newest_of_group(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    group: &Group,
    row: &Row<'_>,
    head: &Item,
) -> Result<Successor, Stopped> {
    let mut newest: Option<Member> = None;
    for (at, item) in step.others(ledger, group, row, head)? {
        if newest
            .as_ref()
            .is_none_or(|(_, best)| step.comes_before(row.entity, head, &item, best))
        {
            newest = Some((at, item));
        }
    }
    Ok(newest.map_or(Successor::NoRow, |(at, _)| Successor::Row(at)))
}

/// The previous row, if what the head remembers identifies it.
pub(super) fn remembered_row(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    entity: &Entity,
    head: &Item,
) -> Result<Successor, Stopped> {
    let of_head = ledger.model.known_entity(step.entity)?;
    let key = entity.key_where(|name| {
        let mut previous = step.head.previous.iter();
        match previous.find(|remembered| remembered.of == name) {
            Some(remembered) => head.get(&remembered.attribute),
            None => head
                .get(name)
                .filter(|_| of_head.identity.iter().any(|own| own == name)),
        }
    });
    let Ok(key) = key else {
        return Ok(Successor::Unknown);
    };
    let at = ledger.find(entity, key)?;
    let takes_part = ledger
        .row(at)
        .is_some_and(|item| step.head.rank(&item).is_some() && !step.expires(&item, ledger.now));
    Ok(if takes_part {
        Successor::Row(at)
    } else {
        Successor::Unknown
    })
}
