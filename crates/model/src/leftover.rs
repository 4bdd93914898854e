//! Rows of effects that a later version of the model does not have: heads, and rows that keep a value unique.

use trestle_item::Item;

use crate::entity::{Entity, Role};
use crate::model::Model;

impl Model {
    /// Whether the database wrote rows under this version that have no meaning under `present`: an effect was dropped, or
    /// its rows have other keys there.
    #[must_use]
    pub fn leaves_rows_behind(&self, present: &Model) -> bool {
        let mut derived = self.entities.iter().filter(|entity| is_derived(entity));
        derived.any(|entity| !present.keeps(self, entity))
    }

    /// Whether a row was written by the database under this version, and has no meaning under `present`.
    #[must_use]
    pub fn left_behind(&self, present: &Model, table_name: &str, row: &Item) -> bool {
        let is_own = |entity: &Entity| is_derived(entity) && entity.identify(row).is_some();
        let was_own = self.recognise(table_name, row).ok().flatten().is_some_and(is_own);
        was_own
            && match present.recognise(table_name, row) {
                Ok(Some(entity)) => is_derived(entity) && !is_own(entity),
                Ok(None) | Err(_) => true,
            }
    }

    /// Whether rows of a derived entity of another version lie in the same places here.
    fn keeps(&self, former: &Model, entity: &Entity) -> bool {
        let name_of =
            |model: &Model, entity: &Entity| model.table_of(entity).map(|table| table.table_name.clone());
        let own = self.entity(&entity.name);
        own.is_some_and(|own| {
            own.role == entity.role
                && own.table_key == entity.table_key
                && name_of(self, own) == name_of(former, entity)
        })
    }
}

fn is_derived(entity: &Entity) -> bool {
    entity.role != Role::Declared
}
