//! Lookups that cannot fail in a loaded model. If one fails nevertheless, the write is refused as an internal
//! error with its place in the code: to continue would leave derived rows out of date.

use std::panic::Location;

use crate::entity::Entity;
use crate::model::{Model, Table};
use crate::refusal::Refusal;

impl Refusal {
    /// A state that a proved model rules out.
    #[track_caller]
    pub(crate) fn defect(what: &'static str) -> Self {
        let place = Location::caller();
        debug_assert!(false, "{what}, {place}");
        Refusal::Defect {
            what,
            place: format!("{}:{}", place.file(), place.line()),
        }
    }
}

impl Model {
    /// The entity at a position that was looked up when the model was loaded.
    #[track_caller]
    pub(crate) fn known_entity(&self, position: usize) -> Result<&Entity, Refusal> {
        match self.entities.get(position) {
            Some(entity) => Ok(entity),
            None => Err(Refusal::defect("an effect names an entity that the model lacks")),
        }
    }

    /// The table at a position that was looked up when the model was loaded.
    #[track_caller]
    pub(crate) fn known_table(&self, position: usize) -> Result<&Table, Refusal> {
        match self.tables.get(position) {
            Some(table) => Ok(table),
            None => Err(Refusal::defect("a row is of a table that the model lacks")),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "an effect names an entity that the model lacks")]
    fn a_broken_invariant_stops_a_test() {
        let loaded = crate::load(include_str!("../../../models/reindexer.toml"));
        let _ = loaded.model.unwrap().known_entity(usize::MAX);
    }
}
