//! The rows of a request: the roots of everything that follows. All of them are in the ledger before any
//! effect runs, so that an effect sees the new state of each.

use std::sync::Arc;

use trestle_hook::{Becomes, By, Change, Rows, Verdict};
use trestle_item::Item;

use super::ledger::{Ledger, key_in};
use super::order::{Ordered, order};
use super::settle::{prepare, settle_all};
use super::{Blamed, Plan, Stopped, counter, kept, large_values};
use crate::entity::{Entity, Role};
use crate::model::{Model, Table};
use crate::refusal::Refusal;

/// A row of the request that the model knows.
pub(super) struct Root<'m> {
    /// The position of its change.
    pub(super) position: usize,
    /// The position of its table.
    at: usize,
    pub(super) table: &'m Table,
    pub(super) entity: Option<&'m Entity>,
    is_followed: bool,
}

impl Root<'_> {
    /// Whether anything can follow from the row.
    pub(super) fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// The entity of a row that the database keeps, if a client writes it.
    fn kept(&self, by: By) -> Option<&Entity> {
        self.entity
            .filter(|entity| entity.role != Role::Declared && matches!(by, By::Client | By::SecondLook))
    }
}

/// The rows of the request.
pub(super) fn of<'m>(model: &'m Model, changes: &[Change<'_>]) -> Result<Vec<Root<'m>>, Blamed> {
    let mut roots = Vec::with_capacity(changes.len());
    for (position, change) in changes.iter().enumerate() {
        let root = root(model, position, change).map_err(|refusal| Blamed {
            at: position,
            why: refusal.into(),
        })?;
        roots.extend(root);
    }
    Ok(roots)
}

fn root<'m>(model: &'m Model, position: usize, change: &Change<'_>) -> Result<Option<Root<'m>>, Refusal> {
    let Some((at, table)) = model
        .table_at(change.table)
        .and_then(|at| Some((at, model.tables.get(at)?)))
    else {
        return Ok(None);
    };
    let entity = match (change.new, change.old) {
        (Some(new), _) => model.recognise_in(table, new),
        // A row of any kind may be removed.
        (None, Some(old)) => Ok(model.recognise_in(table, old).ok().flatten()),
        (None, None) => return Ok(None),
    };
    let entity = entity?;
    let is_plain = entity.is_some_and(|entity| {
        entity.role == Role::Declared
            && entity.kept.is_empty()
            && model.plan_of(entity).is_none_or(Plan::is_empty)
    });
    Ok(Some(Root {
        position,
        at,
        table,
        entity,
        is_followed: table.has_effects && !is_plain,
    }))
}

/// The new rows of the request, and what follows from them.
pub(super) fn follow(
    model: &Model,
    changes: &[Change<'_>],
    roots: &[Root<'_>],
    rows: &dyn Rows,
) -> Result<Verdict, Blamed> {
    let Some(first) = changes.first() else {
        return Ok(Verdict::default());
    };
    let mut ledger = Ledger::new(model, rows, first.now, first.by);
    let carried_out = carry_out(&mut ledger, changes, roots);
    carried_out.map_err(|why| Blamed {
        at: roots.get(ledger.cause()).map_or(0, |root| root.position),
        why,
    })?;
    let mut becomes = vec![Becomes::AsWritten; changes.len()];
    for (at, root) in roots.iter().enumerate() {
        let written = changes.get(root.position).and_then(|change| change.new);
        if let Some(slot) = becomes.get_mut(root.position) {
            *slot = become_of(written, ledger.row(at));
        }
    }
    Ok(Verdict {
        rows: becomes,
        companions: ledger.companions(roots.len()),
    })
}

fn become_of(written: Option<&Arc<Item>>, settled: Option<Arc<Item>>) -> Becomes {
    match (written, settled) {
        (Some(_), None) => Becomes::Removed,
        (written, Some(item)) if written != Some(&item) => Becomes::Item(item),
        _ => Becomes::AsWritten,
    }
}

fn carry_out(ledger: &mut Ledger<'_, '_>, changes: &[Change<'_>], roots: &[Root<'_>]) -> Result<(), Stopped> {
    for root in roots {
        let Some(change) = changes.get(root.position) else {
            continue;
        };
        let Some(given) = change.new.or(change.old) else {
            continue;
        };
        let at = ledger.enter(root.at, key_in(root.table, given), change.old.cloned());
        ledger.make_root(at);
        if root.kept(change.by).is_none() {
            ledger.blame(at);
            let given = as_given(ledger, root, change)?;
            ledger.give(at, root.entity, given);
        }
    }
    let written = in_order(ledger, changes, roots, false)?;
    if roots.len() > 1 {
        for at in &written {
            prepare(ledger, *at)?;
        }
    }
    // A row that is written unchanged is settled, too: its time of change is new.
    for at in written {
        ledger.blame(at);
        ledger.wait(at);
    }
    settle_all(ledger)?;
    // A client's writes to rows that the database keeps are compared with what follows from the other rows.
    for at in in_order(ledger, changes, roots, true)? {
        let change = roots.get(at).and_then(|root| changes.get(root.position));
        let kept = roots.get(at).and_then(|root| root.entity);
        if let (Some(change), Some(kept)) = (change, kept) {
            ledger.blame(at);
            kept::write(ledger, at, kept, change)?;
        }
        ledger.wait(at);
    }
    settle_all(ledger)?;
    large_values::finish(ledger)
}

/// The row as it is written. Attributes that the database keeps cannot be given other values.
fn as_given(
    ledger: &mut Ledger<'_, '_>,
    root: &Root<'_>,
    change: &Change<'_>,
) -> Result<Option<Arc<Item>>, Stopped> {
    let mut new = change.new.cloned();
    if let (Some(new), Some(entity), By::Client) = (&mut new, root.entity, change.by) {
        let old = change.old.map(|old| &**old);
        if !entity.kept.is_empty() {
            if old.is_none() {
                counter::leave_out_recalled(ledger, entity, new)?;
            }
            entity.with_kept(old, Arc::make_mut(new))?;
        }
        entity.check_created(old, new)?;
        ledger.model.check_version(entity, old, new)?;
    }
    Ok(new)
}

/// The roots that the database keeps, or the others, in an order that does not depend on that of the request.
fn in_order(
    ledger: &mut Ledger<'_, '_>,
    changes: &[Change<'_>],
    roots: &[Root<'_>],
    is_kept: bool,
) -> Result<Vec<usize>, Stopped> {
    let mut ordered: Vec<Ordered<'_>> = Vec::with_capacity(roots.len());
    for (at, root) in roots.iter().enumerate() {
        let Some(change) = changes.get(root.position) else {
            continue;
        };
        if root.kept(change.by).is_some() == is_kept {
            ordered.push(Ordered {
                at,
                entity: root.entity,
                new: change.new.map(|new| &**new),
                leads: false,
            });
        }
    }
    order(ledger, &mut ordered)?;
    Ok(ordered.into_iter().map(|root| root.at).collect())
}
