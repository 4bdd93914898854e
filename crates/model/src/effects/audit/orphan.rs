//! Orphan counts: the other place of a count.

use trestle_item::Item;

use super::Audit;
use super::relation::{Relation, rendered};
use super::sums::Fact;
use crate::effects::orphans::OrphanCount;

/// A row of the table of orphan counts that belongs to a counter of the model.
pub(super) struct Orphan<'a> {
    pub(super) count: OrphanCount,
    pub(super) relation: &'a Relation<'a>,
    at: usize,
    /// The key of the missing row.
    pub(super) key: Item,
}

impl<'a> Orphan<'a> {
    /// `None` for rows of other models, and of counters that the model no longer has.
    pub(super) fn of(audit: &'a Audit<'a>, row: &Item) -> Option<Self> {
        let count = OrphanCount::from_item(row).filter(|count| count.model == audit.model.name)?;
        let (at, relation) = audit.relations.counting(&count.entity, &count.attribute)?;
        let key = relation.other.key_from(&count.identity).ok()?;
        Some(Orphan {
            count,
            relation,
            at,
            key,
        })
    }

    /// It exists as if its row counted it.
    pub(super) fn fact(&self, bytes: &mut Vec<u8>, take: &mut dyn FnMut(&mut Fact<'_>)) {
        bytes.clear();
        if rendered(self.relation.other, |name| self.count.identity.get(name), bytes) {
            take(&mut Fact {
                amount: Some(self.count.count),
                ..Fact::new(self.at, false, bytes)
            });
        }
    }
}
