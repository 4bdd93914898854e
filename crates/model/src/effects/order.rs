//! The order in which the rows of a request are settled. It depends on the rows alone, so that the order of a
//! transaction's items makes no difference.

use std::cmp::Ordering;

use trestle_item::Item;

use super::ledger::{At, Ledger};
use super::{Stopped, head};
use crate::effect::Effect;
use crate::entity::Entity;

/// A row of the request.
pub(super) struct Ordered<'a> {
    pub(super) at: At,
    pub(super) entity: Option<&'a Entity>,
    pub(super) new: Option<&'a Item>,
    /// Whether a head stands for it.
    pub(super) leads: bool,
}

/// Originals come before their copies, and removed rows before new ones. Within a group, the row of the head
/// comes first, so that no other row demotes it before its own change is known; then older rows before newer
/// ones, so that the head remembers its direct predecessor.
pub(super) fn order(ledger: &mut Ledger<'_, '_>, rows: &mut [Ordered<'_>]) -> Result<(), Stopped> {
    if rows.len() < 2 {
        return Ok(());
    }
    for row in rows.iter_mut() {
        if let Some(step) = row
            .entity
            .and_then(|entity| ledger.model.plan_of(entity)?.head.as_ref())
        {
            row.leads = head::leads(ledger, step, row.entity, row.at)?;
        }
    }
    let depth = |row: &Ordered<'_>| {
        let plan = row.entity.and_then(|entity| ledger.model.plan_of(entity));
        plan.map_or(0, |plan| plan.copy_depth)
    };
    rows.sort_by_cached_key(|row| (depth(row), !row.leads, row.new.is_some(), ledger.place(row.at)));
    // Ranks of different types have no total order, which the sort of the standard library needs.
    for end in 1..rows.len() {
        let mut at = end;
        while at > 0 && is_newer(rows.get(at - 1), rows.get(at)) {
            rows.swap(at - 1, at);
            at -= 1;
        }
    }
    Ok(())
}

/// Whether one of two rows of an entity is newer than the other.
fn is_newer(one: Option<&Ordered<'_>>, two: Option<&Ordered<'_>>) -> bool {
    let newer = |one: &Ordered<'_>, two: &Ordered<'_>| {
        let (entity, other) = (one.entity?, two.entity?);
        let same = entity.position == other.position && !one.leads && !two.leads;
        let head = entity.effects.iter().find_map(|effect| match effect {
            Effect::Head(head) if same => Some(head),
            _ => None,
        })?;
        Some(
            match (
                head.is_newer(entity, one.new?, two.new?),
                head.is_newer(entity, two.new?, one.new?),
            ) {
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => Ordering::Equal,
            },
        )
    };
    one.zip(two)
        .and_then(|(one, two)| newer(one, two))
        .is_some_and(Ordering::is_gt)
}
