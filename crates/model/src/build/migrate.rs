//! What happens to rows of the previous version.

use super::Builder;
use crate::draft::DraftEntity;
use crate::entity::{Entity, Migrate};

impl Builder<'_, '_, '_> {
    pub(super) fn migrate(&mut self, draft: &DraftEntity, entity: &Entity, what: &str) -> Migrate {
        let what = format!("{what}: migrate");
        if let Some(from) = &draft.migrate.from
            && self
                .draft
                .entities
                .iter()
                .any(|other| other.name.value == from.value)
        {
            self.problems.error(
                from.at,
                format!(
                    "{what}: `from` is `{}`, which is an entity of this version, too",
                    from.value
                ),
                "name an entity of the version before that this one takes the place of, or leave `from` out",
            );
        }
        let set = draft.migrate.set.iter();
        let set = set
            .filter(|(name, value)| self.is_value_of(entity, name, value, &what))
            .map(|(name, value)| (name.value.clone(), value.value.clone()));
        Migrate {
            from: draft.migrate.from.as_ref().map(|from| from.value.clone()),
            set: set.collect(),
        }
    }
}

/// Heads and unique keys follow their entity.
pub(super) fn companion_migrate(entity: &Entity, companion: &Entity) -> Migrate {
    let rest = companion.name.strip_prefix(&entity.name).unwrap_or_default();
    let set = entity.migrate.set.iter();
    let set = set.filter(|(name, _)| companion.attribute(name).is_some());
    Migrate {
        from: entity.migrate.from.as_ref().map(|from| format!("{from}{rest}")),
        set: set.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}
