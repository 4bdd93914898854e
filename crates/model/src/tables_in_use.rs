//! The tables and indexes that effects need: deleting a table must not affect derived rows of another table,
//! and an index that finds rows for an effect must stay.

use std::fmt;

use crate::effect::{Copy, Effect};
use crate::entity::Entity;
use crate::model::Model;

/// An effect by its name in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectName<'m> {
    /// The entity that has it.
    pub entity: &'m str,
    /// Its kind: `head`, `inverse`, `counter`, `unique`, `copy` or `entries`.
    pub kind: &'static str,
    /// Its name; a head has none.
    pub name: Option<&'m str>,
}

/// An effect from rows of one table to rows of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcrossTables<'m> {
    /// The effect.
    pub effect: EffectName<'m>,
    /// The other table, by its name in the database.
    pub other_table: &'m str,
}

impl fmt::Display for EffectName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        if let Some(name) = self.name {
            write!(f, " {name}")?;
        }
        write!(f, " of entity {}", self.entity)
    }
}

impl<'m> EffectName<'m> {
    /// The name of an effect of an entity.
    #[must_use]
    pub fn of(entity: &'m Entity, effect: &'m Effect) -> Self {
        let (kind, name) = match effect {
            Effect::Head(_) => ("head", None),
            Effect::History(_) => ("history", None),
            Effect::Inverse(inverse) => ("inverse", Some(inverse.name.as_str())),
            Effect::Counter(counter) => ("counter", Some(counter.name.as_str())),
            Effect::Unique(unique) => ("unique", Some(unique.name.as_str())),
            Effect::Copy(copy) => ("copy", Some(copy.name.as_str())),
            Effect::Entries(entries) => ("entries", Some(entries.name.as_str())),
        };
        EffectName {
            entity: &entity.name,
            kind,
            name,
        }
    }
}

impl Model {
    /// The first effect that would be wrong, or would fail, in another table if this table were deleted.
    #[must_use]
    pub fn depends_across(&self, table_name: &str) -> Option<AcrossTables<'_>> {
        let table = self.table_at(table_name)?;
        let mut sides = self.effects().flat_map(|(entity, effect)| {
            let names = std::iter::once(related(effect)).chain(followed(effect));
            names.map(move |name| (entity, effect, name))
        });
        sides.find_map(|(entity, effect, name)| {
            let related = self.entity(name)?;
            let other = match (entity.table == table, related.table == table) {
                (true, false) if !stays_right_without_its_rows(effect) => related,
                (false, true) => entity,
                _ => return None,
            };
            Some(AcrossTables {
                effect: EffectName::of(entity, effect),
                other_table: &self.table_of(other)?.table_name,
            })
        })
    }

    /// The first effect that finds rows through this index.
    #[must_use]
    pub fn effect_through(&self, table_name: &str, index: &str) -> Option<EffectName<'_>> {
        let mut effects = self.effects();
        let (entity, effect) = effects.find(|(entity, effect)| match effect {
            Effect::Copy(copy) => self.finds_copies_through(copy, table_name, index),
            Effect::Head(_) => self.finds_group_through(entity, table_name, index),
            Effect::Inverse(_)
            | Effect::Counter(_)
            | Effect::Unique(_)
            | Effect::Entries(_)
            | Effect::History(_) => false,
        })?;
        Some(EffectName::of(entity, effect))
    }

    fn effects(&self) -> impl Iterator<Item = (&Entity, &Effect)> {
        let entities = self.entities.iter();
        entities.flat_map(|entity| entity.effects.iter().map(move |effect| (entity, effect)))
    }

    fn finds_copies_through(&self, copy: &Copy, table_name: &str, index: &str) -> bool {
        let finder = copy.in_step.as_ref().and_then(|name| self.access(name));
        finder.is_some_and(|finder| finder.table_name == table_name && finder.index() == Some(index))
    }

    fn finds_group_through(&self, entity: &Entity, table_name: &str, index: &str) -> bool {
        let plan = self.plan_of(entity);
        plan.and_then(|plan| plan.group_index()) == Some((table_name, index))
    }
}

/// The entity on the other side of an effect.
fn related(effect: &Effect) -> &str {
    match effect {
        Effect::Head(head) => &head.entity,
        Effect::Inverse(inverse) => &inverse.entity,
        Effect::Counter(counter) => &counter.entity,
        Effect::Unique(unique) => &unique.entity,
        Effect::Copy(copy) => &copy.from,
        Effect::Entries(entries) => &entries.entity,
        Effect::History(history) => &history.entity,
    }
}

/// The entity of the pointers that the heads of an effect follow.
fn followed(effect: &Effect) -> Option<&str> {
    match effect {
        Effect::Head(head) => head.follows.as_ref().map(|follows| follows.entity.as_str()),
        _ => None,
    }
}

/// Whether nothing changes on the other side when all rows with the effect are removed: an original knows
/// only copies that are in step.
fn stays_right_without_its_rows(effect: &Effect) -> bool {
    matches!(effect, Effect::Copy(copy) if copy.in_step.is_none())
}
