//! A view of the rows at one moment: walks through parts of tables, and lookups by key, while requests
//! continue.

use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::{Hook, Met};
use trestle_item::{Item, codec};
use trestle_store::{BlockSize, Direction, Snapshot, Space, Store, StoreError};

use crate::catalog::{Catalog, Table};
use crate::former::find_in;
use crate::range::Range;
use crate::shared::{internal, load_catalog};
use crate::verify::{Summary, Watcher, verify};
use crate::{Engine, documents};

/// A snapshot of everything stored, with the hook that interprets it.
pub struct View {
    snapshot: Box<dyn Snapshot>,
    catalog: Arc<Catalog>,
    /// Why no table is known, if definitions cannot be read.
    damage: Option<String>,
    /// Keeps a directory open and locked.
    pub(crate) directory: Option<Box<dyn Store>>,
}

impl Engine {
    /// The rows as they are now.
    #[must_use]
    pub fn view(&self) -> View {
        let shared = self.shared();
        loop {
            let catalog = shared.catalog.load_full();
            let snapshot = shared.store.snapshot();
            if Arc::ptr_eq(&catalog, &shared.catalog.load()) {
                return View {
                    snapshot,
                    catalog,
                    damage: None,
                    directory: None,
                };
            }
        }
    }
}

impl View {
    /// The current rows of a store.
    pub fn of_store(store: &dyn Store) -> Self {
        let snapshot = store.snapshot();
        let (catalog, damage) = match load_catalog(&*snapshot) {
            Ok(catalog) => (catalog, None),
            Err(error) => (Catalog::default(), Some(error.to_string())),
        };
        View {
            snapshot,
            catalog: Arc::new(catalog),
            damage,
            directory: None,
        }
    }

    /// The block size of the data directory; `None` if the rows are stored elsewhere.
    #[must_use]
    pub fn block_size(&self) -> Option<BlockSize> {
        self.directory.as_ref()?.stats().block_size
    }

    /// Why no table is known: definitions cannot be read. [`View::verify`] names them.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Sets the hook that interprets rows, in a view without an engine.
    pub fn install(&mut self, hook: Arc<dyn Hook>) {
        Arc::make_mut(&mut self.catalog).install(Some(hook));
    }

    /// All documents with their names, in the order of the names.
    pub fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        documents::read(&*self.snapshot)
    }

    /// Verifies everything that is stored, as far as the engine knows it.
    pub fn verify(&self, watcher: &mut dyn Watcher) -> Result<Summary, StoreError> {
        verify(&*self.snapshot, watcher)
    }

    /// Whether there is such a table.
    #[must_use]
    pub fn has_table(&self, table: &str) -> bool {
        self.catalog.tables.contains_key(table)
    }

    /// How many rows a table has, by its stored count.
    #[must_use]
    pub fn row_count(&self, table: &str) -> u64 {
        self.catalog
            .tables
            .get(table)
            .map_or(0, |table| table.stats.read().0)
    }

    /// The row with this table key.
    pub fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error> {
        let table = self.table(table)?;
        find_in(&*self.snapshot, table, &table.key.item_key(key)?)
    }

    /// Calls `each` with the rows of one of `parts` equal parts of a table.
    pub fn walk(
        &self,
        table: &str,
        (part, parts): (u32, u32),
        mut each: impl FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let table = self.table(table)?;
        let range = Range::segment(table.id.0, part, parts);
        for row in range.rows(&*self.snapshot, Space::Items, Direction::Forward) {
            let (_, bytes) = row.map_err(internal)?;
            each(met(table, &bytes))?;
        }
        Ok(())
    }

    fn table(&self, name: &str) -> Result<&Table, Error> {
        let table = self.catalog.tables.get(name).map(|table| &**table);
        table.ok_or_else(Error::resource_not_found)
    }
}

fn met(table: &Table, bytes: &[u8]) -> Met {
    let Ok(row) = codec::decode(bytes) else {
        return Met::Unreadable;
    };
    let Some(former) = table.former.as_ref().filter(|former| former.is_former(&row)) else {
        return Met::Row(row);
    };
    let key = table.key.key_of(&row);
    match former.renew(row) {
        Ok(renewed) => Met::ToMove(renewed),
        Err(error) => Met::Stuck(key, error.message().to_owned()),
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}
