//! The versions that inserted rows get during a reindex and after it.

use std::sync::Arc;

use trestle_api::{Error, TableStatus, table_name};
use trestle_binding::held::{Held, together};
use trestle_binding::{BindError, ModelHook};

use crate::Models;
use crate::describe::describe;

impl Models {
    /// A hook of these models, with the versions in force.
    pub(super) fn hook_of(&self, held: &[Held]) -> Result<ModelHook, BindError> {
        Ok(together(held)?.with_versions(&self.versions_in_force.lock()))
    }

    /// The version that inserted rows of an entity get.
    pub fn version_in_force(&self, table: &str, entity: &str) -> Option<u64> {
        self.versions_in_force.lock().of(table_name(table), entity)
    }

    /// Stores that a reindex has begun; it takes effect in the same commit.
    pub fn set_version_in_force(
        &self,
        table: &str,
        entity: Option<&str>,
        version: u64,
    ) -> Result<(), BindError> {
        let _one_at_a_time = self.applying.lock();
        // Held so that the table is not deleted in between, and keeps its version.
        let _table_stays = self.changing_table.lock();
        if describe(&*self.host, table)?.is_none() {
            return Err(Error::resource_not_found().into());
        }
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

    /// Whether inserted rows of a table get a version.
    pub fn has_version_in_force(&self, table: &str) -> bool {
        self.versions_in_force.lock().tables().any(|known| known == table)
    }

    /// A table was deleted: a new one with its name gives its rows no version. Call it only while models do
    /// not change otherwise.
    pub(super) fn forget_version_in_force(&self, table: &str) -> Result<(), Error> {
        let mut versions = self.versions_in_force.lock().clone();
        if !versions.forget(table) {
            return Ok(());
        }
        let documents = vec![versions.to_document()?];
        let held = self.held.lock().clone();
        match together(&held) {
            Ok(hook) if self.are_in_force() => {
                let hook = hook.with_versions(&versions);
                self.host.install(documents, Some(Arc::new(hook)))?;
            }
            _ => self.host.store_documents(documents)?,
        }
        *self.versions_in_force.lock() = versions;
        Ok(())
    }

    /// Finishes work that a crash interrupted: removes versions of deleted tables. Returns whether there were
    /// any, so that the rest must be stored.
    pub(super) fn forget_versions_of_gone(&self) -> Result<bool, Error> {
        let mut versions = self.versions_in_force.lock();
        let mut gone = Vec::new();
        for table in versions.tables() {
            let there = describe(&*self.host, table)?;
            if there.is_none_or(|there| there.table_status == TableStatus::Deleting) {
                gone.push(table.to_owned());
            }
        }
        for table in &gone {
            versions.forget(table);
        }
        Ok(!gone.is_empty())
    }
}
