//! The moves, described for plans.

use super::pair::MovedEntity;
use super::plan::MovedTable;

/// An entity whose rows move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityMove<'r> {
    /// The entity.
    pub entity: &'r str,
    /// Its name in the version before.
    pub former_entity: &'r str,
    /// Its table's name in the database.
    pub table: &'r str,
    /// The attributes of the table's key: hash, then range.
    pub keys: Vec<MovedKey<'r>>,
}

/// An attribute of a table's key in both versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedKey<'r> {
    /// The attribute.
    pub attribute: &'r str,
    /// Its template in the version before.
    pub before: &'r str,
    /// Its template now.
    pub now: &'r str,
}

impl<'r> EntityMove<'r> {
    pub(super) fn of(moved: &'r MovedTable, moving: MovedEntity<'r>) -> Self {
        let templates = moving.former.table_key.iter().zip(&moving.own.table_key);
        EntityMove {
            entity: &moving.own.name,
            former_entity: &moving.former.name,
            table: &moved.name,
            keys: templates
                .map(|(before, now)| MovedKey {
                    attribute: &now.attribute,
                    before: &before.source,
                    now: &now.source,
                })
                .collect(),
        }
    }
}
