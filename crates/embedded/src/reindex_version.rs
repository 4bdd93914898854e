//! The version that rows get which are inserted while a reindex is under way, or after it.

use trestle_api::{Error, is_own_table, own_table_refusal};

use crate::Embedded;
use trestle_models::describe;

impl Embedded {
    /// A reindex of a table, or of one entity of it, to a version begins: from now on, a row that is inserted gets this version
    /// by itself, if its entity declares an attribute for it (`reindex_version` in the model). So it is not touched again.
    ///
    /// It is stored with the data, takes effect in one commit, and never goes down: an earlier version changes nothing. It stays
    /// in force after the reindex, until the table is deleted. Where both the table and the entity have a version, the later one holds. Call it before the first
    /// row is touched. While a model is being applied, this waits.
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

    /// The version that rows of an entity get which are inserted.
    #[must_use]
    pub fn reindex_version(&self, table: &str, entity: &str) -> Option<u64> {
        self.opened().models.version_in_force(table, entity)
    }

    /// Refuses an entity that does not declare where its version stands.
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
