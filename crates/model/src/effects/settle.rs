//! Settling a row: first its own content, then what follows from it.

use std::sync::Arc;

use trestle_hook::By;
use trestle_item::Item;

use super::ledger::{At, Ledger, Waiting, key_in};
use super::plan::Plan;
use super::{Stopped, copy, counter, entries, head, history, inverse, large_values, unique};
use crate::derive::IndexKeys;
use crate::entity::Entity;
use crate::model::{Model, Table};
use crate::refusal::Refusal;
use crate::reindex_version::is_made_of_version;

/// A row as its effects see it.
pub(super) struct Row<'a> {
    pub(super) entity: &'a Entity,
    pub(super) key: &'a Item,
    /// The row as it was when its effects were last applied.
    pub(super) old: Option<&'a Item>,
}

/// Settles rows until none waits.
pub(super) fn settle_all(ledger: &mut Ledger<'_, '_>) -> Result<(), Stopped> {
    while let Some(waiting) = ledger.next()? {
        let at = waiting.at;
        let cause = ledger.cause();
        settle(ledger, waiting).map_err(|stopped| match stopped {
            Stopped::Refused(refusal) if at != cause => Stopped::Refused(Refusal::Following {
                written: ledger.entity_at(cause),
                consequence: ledger.consequence(at),
                cause: Box::new(refusal),
            }),
            stopped => stopped,
        })?;
    }
    Ok(())
}

/// Computes a root's own content before any effect runs, so that the effects of other roots see it.
pub(super) fn prepare(ledger: &mut Ledger<'_, '_>, at: At) -> Result<(), Stopped> {
    ledger.blame(at);
    match ledger.waiting(at) {
        Some(waiting) if waiting.new.is_some() => work(ledger, waiting, Work::Prepare),
        _ => Ok(()),
    }
}

fn settle(ledger: &mut Ledger<'_, '_>, waiting: Waiting) -> Result<(), Stopped> {
    work(ledger, waiting, Work::Settle)
}

/// What is done to a row.
enum Work {
    Prepare,
    Settle,
}

/// Determines the entity of a row, and continues if the row belongs to the model, or did before.
fn work(ledger: &mut Ledger<'_, '_>, waiting: Waiting, work: Work) -> Result<(), Stopped> {
    let model = ledger.model;
    let table = model.known_table(waiting.table)?;
    let (old, new) = (waiting.old, waiting.new);
    let is = match (&new, waiting.entity) {
        (Some(new), Some(known)) => {
            let known = model.known_entity(known)?;
            debug_assert_eq!(model.recognise_in(table, new).ok().flatten(), Some(known));
            Some(known)
        }
        (Some(new), None) => model.recognise_in(table, new)?,
        (None, _) => None,
    };
    let was = match (&old, &new) {
        (Some(old), Some(new)) if Model::are_alike(table, old, new) => is,
        (Some(old), _) => ledger
            .entity_of(waiting.table, old)
            .filter(|was| !is_of_former_version(was, old)),
        (None, _) => None,
    };
    if let (Some(was), Some(is)) = (was, is)
        && was.name != is.name
    {
        return Err(Refusal::OtherEntity {
            stored: was.name.clone(),
            written: is.name.clone(),
        }
        .into());
    }
    let Some(entity) = is.or(was) else {
        ledger.settle(waiting.at, new);
        return Ok(());
    };
    // A row that is no longer of the model is gone for its effects; one that was not before is new.
    let old = old.filter(|_| was.is_some()).map(|old| identified(entity, old));
    let of_model = new.filter(|_| is.is_some());
    let key = key_in(
        table,
        of_model.as_deref().or(old.as_deref()).unwrap_or(&Item::new()),
    );
    let row = Row {
        entity,
        key: &key,
        old: old.as_deref(),
    };
    let none = Plan::default();
    let plan = model.plan_of(entity).unwrap_or(&none);
    let settling = Settling {
        ledger,
        table,
        plan,
        row,
    };
    match work {
        Work::Prepare => settling.prepare(waiting.at, of_model),
        Work::Settle => settling.run(waiting.at, of_model),
    }
}

/// Whether a row only has the tag of an entity whose rows the database writes, because an effect of a former
/// version had that tag.
fn is_of_former_version(was: &Entity, old: &Item) -> bool {
    was.is_derived() && was.identify(old).is_none()
}

/// One row being settled.
struct Settling<'l, 'm, 'r, 'a> {
    ledger: &'l mut Ledger<'m, 'r>,
    table: &'a Table,
    plan: &'a Plan,
    row: Row<'a>,
}

impl Settling<'_, '_, '_, '_> {
    fn prepare(mut self, at: At, new: Option<Arc<Item>>) -> Result<(), Stopped> {
        if let Some(mut new) = new {
            self.complete(at, &mut new)?;
            self.ledger.prepare(at, new);
        }
        Ok(())
    }

    fn run(mut self, at: At, mut new: Option<Arc<Item>>) -> Result<(), Stopped> {
        let standing = match &mut new {
            Some(new) => {
                counter::recall(self.ledger, &self.row, new)?;
                self.own(at, new)?
            }
            None => {
                counter::leave(self.ledger, &self.row)?;
                self.stand(None)?.map(|(standing, _)| standing)
            }
        };
        if new.is_some() || self.ledger.row(at).is_none() {
            self.ledger.settle(at, new.clone());
        } else {
            // It no longer belongs to the model, but it exists.
            let left = self.ledger.row(at);
            self.ledger.settle(at, left);
        }
        self.follow(standing.as_ref(), new.as_deref())
    }

    /// The row's own content: its copies and derived attributes.
    fn complete(&mut self, at: At, item: &mut Arc<Item>) -> Result<(), Stopped> {
        let is_given = self.ledger.take_given(at);
        let is_touched = is_given && self.ledger.by == By::Touch;
        if !self.plan.copies.is_empty() && !is_touched {
            let item = Arc::make_mut(item);
            fill_identity(self.row.entity, item);
            let given = (is_given && self.ledger.by == By::Client).then(|| item.clone());
            for step in &self.plan.copies {
                copy::take(self.ledger, step, &self.row, item)?;
                if let Some(given) = &given {
                    copy::check_given(self.ledger, step, &self.row, given, item)?;
                }
            }
        }
        // Only values that a client gave are compared with those that follow from the attributes.
        let index_keys = match is_given && !is_touched {
            true => IndexKeys::Given,
            false => IndexKeys::Left,
        };
        Ok(self.derive(item, index_keys, is_touched)?)
    }

    /// The row's own content: its copies, derived attributes, and the marks of its place in its group. A row
    /// that needs no change is not copied.
    fn own(&mut self, at: At, item: &mut Arc<Item>) -> Result<Option<head::Standing>, Stopped> {
        self.complete(at, item)?;
        let Some((standing, to_derive)) = self.stand(Some(item))? else {
            return Ok(None);
        };
        if to_derive {
            self.derive(item, IndexKeys::Left, false)?;
        }
        Ok(Some(standing))
    }

    fn stand(&mut self, item: Option<&mut Arc<Item>>) -> Result<Option<(head::Standing, bool)>, Stopped> {
        match &self.plan.head {
            Some(step) => head::stand(self.ledger, step, &self.row, item),
            None => Ok(None),
        }
    }

    fn derive(&self, item: &mut Arc<Item>, index_keys: IndexKeys, is_touched: bool) -> Result<(), Refusal> {
        let (entity, now) = (self.row.entity, self.ledger.now);
        let mut derived = self.ledger.model.derive_as(
            self.table,
            entity,
            self.row.old,
            item,
            index_keys,
            Some(now.as_millis()),
        )?;
        if self.ledger.keeps_times {
            let kept = |name: &str| entity.updated.as_deref() == Some(name) && item.contains_key(name);
            derived.set.retain(|(name, _)| !kept(name));
        }
        if is_touched {
            derived.keep_only(|name| is_made_of_version(entity, name));
        }
        if !derived.is_empty() {
            derived.apply(Arc::make_mut(item));
        }
        Ok(())
    }

    /// What follows from the row.
    fn follow(&mut self, standing: Option<&head::Standing>, new: Option<&Item>) -> Result<(), Stopped> {
        let row = &self.row;
        if let (Some(step), Some(standing)) = (&self.plan.head, standing) {
            head::follow(self.ledger, step, standing, row, new)?;
        }
        for led in &self.plan.led {
            head::lead(self.ledger, led, row, new)?;
        }
        if let Some(step) = &self.plan.history {
            history::run(self.ledger, step, row, new)?;
        }
        if let Some(step) = &self.plan.large {
            large_values::run(self.ledger, step, row, new)?;
        }
        for step in &self.plan.inverses {
            inverse::run(self.ledger, step, row, new)?;
        }
        for step in &self.plan.counters {
            counter::run(self.ledger, step, row, new)?;
        }
        for step in &self.plan.uniques {
            unique::run(self.ledger, step, row, new)?;
        }
        for step in &self.plan.entries {
            entries::run(self.ledger, step, row, new)?;
        }
        let model = self.ledger.model;
        if let Some(refusal) = entries::too_many_go(model, &self.plan.entries, row, new) {
            return Err(refusal.into());
        }
        if let Some(new) = new.filter(|new| row.old != Some(*new))
            && let Some(refusal) = entries::too_many_together(model, &self.plan.entries, row.entity, new)
        {
            return Err(refusal.into());
        }
        for follower in &self.plan.followers {
            copy::lead(self.ledger, follower, row, new)?;
        }
        Ok(())
    }
}

/// Rows that are older than the model may have their identity only in their key.
pub(super) fn identified(entity: &Entity, mut row: Arc<Item>) -> Arc<Item> {
    if entity.identity.iter().any(|name| !row.contains_key(name)) {
        fill_identity(entity, Arc::make_mut(&mut row));
    }
    row
}

pub(super) fn fill_identity(entity: &Entity, item: &mut Item) {
    if entity.identity.iter().all(|name| item.contains_key(name)) {
        return;
    }
    // A row whose key is not computed yet contains its whole identity, or is refused when it is derived.
    for (name, value) in entity.identify(item).into_iter().flatten() {
        if !item.contains_key(&name) {
            item.insert(name, value);
        }
    }
}
