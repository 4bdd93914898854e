//! What is known about effects before anything is written: computed once, when the model is loaded.

use std::collections::HashMap;

use super::{copy, counter, entries, head, history, inverse, large_values, unique};
use crate::access::AccessPattern;
use crate::effect::Effect;
use crate::entity::{Entity, Role};
use crate::model::Table;

/// The effects of a write of an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(super) head: Option<head::Step>,
    pub(super) inverses: Vec<inverse::Step>,
    pub(super) counters: Vec<counter::Step>,
    pub(super) uniques: Vec<unique::Step>,
    pub(super) entries: Vec<entries::Step>,
    pub(super) copies: Vec<copy::Step>,
    pub(super) history: Option<history::Step>,
    /// The large values of its rows.
    pub(super) large: Option<large_values::Step>,
    /// The entities whose heads follow its rows.
    pub(super) led: Vec<head::Led>,
    /// The copies that are kept in step with it.
    pub(super) followers: Vec<copy::Follower>,
    /// The length of the chain of originals that its copies come through.
    pub(super) copy_depth: usize,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_none()
            && self.inverses.is_empty()
            && self.counters.is_empty()
            && self.uniques.is_empty()
            && self.entries.is_empty()
            && self.copies.is_empty()
            && self.history.is_none()
            && self.large.is_none()
            && self.led.is_empty()
            && self.followers.is_empty()
    }

    /// The table and index that hold the rows of a head's group, where they are found through an index.
    pub(crate) fn group_index(&self) -> Option<(&str, &str)> {
        self.head.as_ref()?.group.as_ref()?.through_index()
    }
}

/// The model so far, as plans need it.
pub(super) struct Parts<'m> {
    pub(super) tables: &'m [Table],
    pub(super) entities: &'m [Entity],
    pub(super) access: &'m [AccessPattern],
    positions: HashMap<&'m str, usize>,
}

impl Parts<'_> {
    pub(super) fn position(&self, entity: &str) -> Option<usize> {
        self.positions.get(entity).copied()
    }
}

/// One plan for each entity.
pub(crate) fn plans(tables: &[Table], entities: &[Entity], access: &[AccessPattern]) -> Vec<Plan> {
    let positions = entities.iter().enumerate();
    let parts = Parts {
        tables,
        entities,
        access,
        positions: positions.map(|(at, entity)| (entity.name.as_str(), at)).collect(),
    };
    let mut plans: Vec<Plan> = entities.iter().map(|entity| plan(&parts, entity)).collect();
    for (original, follower) in copy::followers(&parts) {
        if let Some(plan) = plans.get_mut(original) {
            plan.followers.push(follower);
        }
    }
    let pointers: Vec<Option<usize>> = plans.iter().map(|plan| plan.head.as_ref()?.pointer).collect();
    for (entity, pointer) in pointers.into_iter().enumerate() {
        if let Some(plan) = pointer.and_then(|pointer| plans.get_mut(pointer)) {
            plan.led.push(head::Led { entity });
        }
    }
    for (other_side, step) in inverse::backs(&parts) {
        if let Some(plan) = plans.get_mut(other_side) {
            plan.inverses.push(step);
        }
    }
    set_copy_depths(&mut plans);
    plans
}

/// A copy is one deeper than its original. The number of entities bounds circles of entities that copy each
/// other.
fn set_copy_depths(plans: &mut [Plan]) {
    for _ in 0..plans.len() {
        let depths: Vec<usize> = plans.iter().map(|plan| plan.copy_depth).collect();
        for plan in plans.iter_mut() {
            let originals = plan.copies.iter().filter_map(|step| depths.get(step.from));
            plan.copy_depth = originals.max().map_or(0, |depth| depth + 1);
        }
    }
}

fn plan(parts: &Parts<'_>, entity: &Entity) -> Plan {
    let mut plan = Plan {
        large: large_values::Step::of(entity),
        ..Plan::default()
    };
    for effect in &entity.effects {
        match effect {
            Effect::Head(head) => plan.head = head::Step::of(parts, entity, head),
            Effect::History(history) => plan.history = history::Step::of(parts, entity, history),
            Effect::Inverse(inverse) => plan.inverses.extend(inverse::Step::of(parts, inverse)),
            Effect::Counter(counter) => plan.counters.extend(counter::Step::of(parts, counter)),
            Effect::Unique(unique) => plan.uniques.extend(unique::Step::of(parts, unique)),
            Effect::Copy(copy) => plan.copies.extend(copy::Step::of(parts, entity, copy)),
            Effect::Entries(entries) => plan.entries.extend(entries::Step::of(parts, entries)),
        }
    }
    plan
}

/// Whether writes to a table have effects, so that deriving alone is not enough.
pub(crate) fn has_effects(table: &Table, entities: &[Entity], plans: &[Plan]) -> bool {
    table.entities.iter().any(|at| {
        let kept = entities
            .get(*at)
            .is_some_and(|entity| entity.role != Role::Declared || !entity.kept.is_empty());
        kept || plans.get(*at).is_some_and(|plan| !plan.is_empty())
    })
}
