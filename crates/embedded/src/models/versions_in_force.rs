//! The versions that rows get which are inserted while a reindex is under way, or after it.

use std::sync::Arc;

use trestle_api::table_name;
use trestle_binding::held::{Held, together};
use trestle_binding::{BindError, ModelHook};

use super::Models;

impl Models {
    /// A hook of these models, with the versions in force.
    pub(super) fn hook_of(&self, held: &[Held]) -> Result<ModelHook, BindError> {
        Ok(together(held)?.with_versions(&self.versions_in_force.lock()))
    }

    /// The version that rows of an entity get which are inserted.
    pub(crate) fn version_in_force(&self, table: &str, entity: &str) -> Option<u64> {
        self.versions_in_force.lock().of(table_name(table), entity)
    }

    /// Stores that a reindex has begun, and lets it take effect in the same commit.
    pub(crate) fn set_version_in_force(
        &self,
        table: &str,
        entity: Option<&str>,
        version: u64,
    ) -> Result<(), BindError> {
        let _one_at_a_time = self.applying.lock();
        let held = self.held.lock().clone();
        let mut versions = self.versions_in_force.lock().clone();
        versions.raise(table_name(table), entity, version);
        if versions == *self.versions_in_force.lock() {
            return Ok(());
        }
        let hook = together(&held)?.with_versions(&versions);
        self.install(vec![versions.to_document()?], Some(Arc::new(hook)))?;
        *self.versions_in_force.lock() = versions;
        Ok(())
    }
}
