//! One row refers to a large value: no effect may copy the reference to a row that outlives it.

use super::Builder;
use crate::effect::Effect;
use crate::entity::Entity;

impl Builder<'_, '_, '_> {
    /// Refuses effects that would leave a reference to a value that may have been removed.
    pub(super) fn check_large_values(&mut self) {
        for draft in &self.draft.entities {
            let mut entities = self.entities.iter();
            let Some(entity) = entities.find(|entity| entity.name == draft.name.value) else {
                continue;
            };
            let faults = entity.large_attributes().filter_map(|name| {
                let declared = draft.attributes.iter().find(|known| known.value.name == name)?;
                let message = format!(
                    "entity `{}`: `{name}` is a large value, and {}",
                    entity.name,
                    use_of(&self.entities, entity, name)?
                );
                Some((declared.at, message))
            });
            for (at, message) in faults.collect::<Vec<_>>() {
                self.problems.error(
                    at,
                    message,
                    "the bytes go with the row that names them; leave the attribute out there",
                );
            }
        }
    }
}

/// What would keep a reference to a value longer than its row, or refer to it a second time.
fn use_of(entities: &[Entity], entity: &Entity, name: &str) -> Option<&'static str> {
    let own = entity.effects.iter().find_map(|effect| match effect {
        Effect::Copy(copy) if copy.attributes.iter().any(|pair| pair.ours == name) => Some("it is a copy"),
        Effect::History(history) if history.of.iter().any(|of| of == name) => Some("a history keeps it"),
        Effect::Head(head) if head.previous.iter().any(|previous| previous.of == name) => {
            Some("its head remembers it as `previous`")
        }
        _ => None,
    });
    let mut others = entities.iter().flat_map(|other| &other.effects);
    own.or_else(|| {
        let is_copied = others.any(|effect| match effect {
            Effect::Copy(copy) if copy.from == entity.name => {
                copy.attributes.iter().any(|pair| pair.theirs == name)
            }
            _ => false,
        });
        is_copied.then_some("it is copied to other rows")
    })
}
