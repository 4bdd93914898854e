//! The version of rows that are inserted during or after a reindex.

use trestle_api::{Error, is_own_table, own_table_refusal};

use crate::Embedded;
use trestle_models::describe;

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
        if is_own_table(table) {
            return Err(own_table_refusal(table));
        }
        let opened = self.opened();
        if describe(&opened.engine, table)?.is_none() {
            return Err(Error::resource_not_found());
        }
        if let Some(entity) = entity {
            self.check_entity(table, entity)?;
        }
        let set = opened.models.set_version_in_force(table, entity, version);
        set.map_err(|error| Error::validation(error.to_string()))
    }

    /// The version that inserted rows of an entity get.
    #[must_use]
    pub fn reindex_version(&self, table: &str, entity: &str) -> Option<u64> {
        self.opened().models.version_in_force(table, entity)
    }

    /// Refuses an entity without an attribute for its version.
    fn check_entity(&self, table: &str, entity: &str) -> Result<(), Error> {
        let name = trestle_api::table_name(table);
        let model = self.opened().models.model_with(name);
        let known = model.as_ref().and_then(|model| model.entity(entity));
        if known.is_some_and(|known| known.reindex_version().is_some()) {
            return Ok(());
        }
        Err(Error::validation(format!(
            "Rows of entity {entity} in table {name} have no version: the table's model does not declare it with \
             `reindex_version`. Add it to the entity and apply the model, or set the version of the whole table"
        )))
    }
}
