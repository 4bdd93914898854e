//! Rows in hidden tables of Trestle's own belong to a model: orphan counts and copy notes. They are removed
//! with the model, and with the table of the rows that they concern. Large values are removed with the table;
//! removing a model leaves them, like its rows.

use std::sync::Arc;

use trestle_api::{DeleteTable, Error, Response, TableStatus, table_name};
use trestle_hook::{Companion, amend};
use trestle_item::Item;
use trestle_model::{Model, OwnTable};

use crate::call::call;
use crate::describe::describe;
use crate::{Held, Models, loaded};

/// Rows that are read together, and removed in one commit.
const PAGE: usize = 500;
/// The prefix of the names of documents about models whose rows are still to be removed.
const REMOVAL: &str = "removal/";

/// The document that stays until all rows of a removed model are removed. It is stored in the commit that removes the model.
pub(super) fn removal(model: &str) -> (String, Option<Vec<u8>>) {
    (format!("{REMOVAL}{model}"), Some(Vec::new()))
}

impl Models {
    /// The stored model that has a table.
    pub fn model_with(&self, table: &str) -> Option<Arc<Model>> {
        let held = self.held.lock();
        let mut models = held.iter().filter_map(|held| held.model.as_ref().ok());
        models.find(|model| model.table(table).is_some()).cloned()
    }

    /// Deletes a table about whose rows something is stored: because of a model, or because inserted rows get
    /// a version.
    ///
    /// It waits, so that a client that creates the table again finds no old rows. After a crash in between, the next
    /// open removes the rest.
    pub fn delete_table(&self, model: Option<&Model>, request: DeleteTable) -> Result<Response, Error> {
        let name = table_name(&request.table_name).to_owned();
        // The locking order where both are taken. While a model is being applied, the deletion of a table
        // with a version in force waits.
        let changing_versions = self.has_version_in_force(&name).then(|| self.applying.lock());
        let _one_at_a_time = self.changing_table.lock();
        let answer = call(&*self.host, request)?;
        if let Some(model) = model {
            self.forget_table(model, &name)?;
        }
        if changing_versions.is_some() {
            self.forget_version_in_force(&name)?;
        }
        Ok(answer.into())
    }

    /// Starts the creation of a table, once a deletion of it under way has ended.
    pub fn creating_table<T>(&self, start: impl FnOnce() -> T) -> T {
        let _one_at_a_time = self.changing_table.lock();
        start()
    }

    /// Finishes work that a crash interrupted: the removal of models and the deletion of their tables.
    pub(super) fn forget_what_is_gone(&self, held: &[Held]) -> Result<(), Error> {
        for (document, _) in self.host.documents()? {
            if let Some(model) = document.strip_prefix(REMOVAL) {
                self.forget_model(model)?;
            }
        }
        let _one_at_a_time = self.changing_table.lock();
        for model in loaded(held) {
            for table in model.tables() {
                self.forget_table_if_gone(model, table.table_name())?;
            }
        }
        Ok(())
    }

    /// Removes the rows of a model that is no longer stored, then the document about them.
    pub(super) fn forget_model(&self, model: &str) -> Result<(), Error> {
        self.remove_own_rows(|row| OwnTable::model_in(row) == Some(model))?;
        let (document, _) = removal(model);
        self.host.store_documents(vec![(document, None)])
    }

    /// Where rows of another table are related to those of the missing one, no client has deleted it, and the
    /// counts for its rows still exist.
    fn forget_table_if_gone(&self, model: &Model, table: &str) -> Result<(), Error> {
        if model.own_tables().is_empty() || model.depends_across(table).is_some() {
            return Ok(());
        }
        match describe(&*self.host, table)? {
            Some(there) if there.table_status != TableStatus::Deleting => Ok(()),
            _ => self.forget_table(model, table),
        }
    }

    fn forget_table(&self, model: &Model, table: &str) -> Result<(), Error> {
        self.remove_own_rows(|row| model.keeps_about(table, row))?;
        self.release_values(model, table)
    }

    /// Removes rows of the hidden tables, a page in a commit.
    fn remove_own_rows(&self, goes: impl Fn(&Item) -> bool) -> Result<(), Error> {
        for own in OwnTable::ALL {
            if describe(&*self.host, own.name)?.is_none() {
                continue;
            }
            let mut from = None;
            loop {
                let page = self.host.lying(own.name, from.as_deref(), PAGE)?;
                self.remove_rows(own, page.rows.iter().filter(|row| goes(row)))?;
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn remove_rows<'r>(&self, own: OwnTable, rows: impl Iterator<Item = &'r Item>) -> Result<(), Error> {
        let keys = rows.map(|row| {
            own.key_in(row)
                .ok_or_else(|| Error::internal(format!("a row of {} has no key", own.name)))
        });
        let gone = keys.map(|key| {
            Ok(Companion {
                table: own.name.to_owned(),
                key: key?,
                item: None,
            })
        });
        let gone: Vec<Companion> = gone.collect::<Result<_, Error>>()?;
        if gone.is_empty() {
            return Ok(());
        }
        amend(&*self.host, move |_, _| Ok((gone.clone(), ()))).wait()
    }
}
