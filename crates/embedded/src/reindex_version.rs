//! The version of rows that are inserted during or after a reindex.

use trestle_api::Error;
use trestle_binding::BindError;

use crate::Embedded;

impl Embedded {
    /// Records that a reindex of a table, or of one of its entities, to a version begins: from now on,
    /// inserted rows get this version automatically, if their entity declares an attribute for it
    /// (`reindex_version` in the model). So they need not be touched.
    ///
    /// The version is stored with the data, takes effect in one commit, and never decreases: an earlier
    /// version changes nothing. It stays in force after the reindex, until the table is deleted. If both the
    /// table and the entity have a version, the later one applies. Call this before the first row is touched.
    /// It waits while a model is being applied.
    pub fn set_reindex_version(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        let set = self.opened().models.set_version_in_force(table, entity, version);
        set.map_err(|error| match error {
            BindError::Database(error) => error,
            other => Error::validation(other.to_string()),
        })
    }

    /// The version that inserted rows of an entity get.
    #[must_use]
    pub fn reindex_version(&self, table: &str, entity: &str) -> Option<u64> {
        self.opened().models.version_in_force(table, entity)
    }
}
