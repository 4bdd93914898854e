//! The version that rows get which are inserted while a reindex is under way, or after it.

use trestle_api::Error;
use trestle_binding::BindError;

use crate::Embedded;

impl Embedded {
    /// A reindex of a table, or of one entity of it, to a version begins: from now on, a row that is inserted gets this version
    /// by itself, if its entity declares an attribute for it (`reindex_version` in the model). So it is not touched again.
    ///
    /// It is stored with the data, takes effect in one commit, and never goes down: an earlier version changes nothing. It stays
    /// in force after the reindex, until the table is deleted. Where both the table and the entity have a version, the later one holds. Call it before the first
    /// row is touched. While a model is being applied, this waits.
    pub fn set_reindex_version(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        let set = self.opened().models.set_version_in_force(table, entity, version);
        set.map_err(|error| match error {
            BindError::Database(error) => error,
            other => Error::validation(other.to_string()),
        })
    }

    /// The version that rows of an entity get which are inserted.
    #[must_use]
    pub fn reindex_version(&self, table: &str, entity: &str) -> Option<u64> {
        self.opened().models.version_in_force(table, entity)
    }
}
