//! A database in memory with some rows of the endpoint in their places, under the hook in force: it answers a
//! read during a migration like the embedded engine, because it is one. All rows on which the response
//! depends must be loaded.

use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, Error, Request, Response};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp};
use trestle_expr::KeySelection;
use trestle_hook::{
    Belongs, Change, Companion, Edits, Former, Hook, Refused, Renewal, Rows, Sources, Verdict,
};
use trestle_item::Item;
use trestle_store::MemoryStore;

use crate::table_shape::TableShape;

/// Rows that are written in one request.
const ROWS_MAX: usize = 10_000;

/// A database for one read.
pub(crate) struct Scratch {
    engine: Engine,
}

impl Scratch {
    /// A database with these tables and rows. It also searches former places.
    pub(crate) async fn new(
        clock: &Arc<dyn Clock>,
        hook: &Arc<dyn Hook>,
        tables: Vec<(Arc<TableShape>, Vec<Item>)>,
    ) -> Result<Self, Error> {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::load(store, Arc::clone(clock), Options::default());
        let engine = engine.map_err(|error| Error::internal(error.to_string()))?;
        for (shape, rows) in tables {
            engine.create_table(shape.definition().clone()).await?;
            let table = &shape.definition().table_name;
            let mut rows = rows.into_iter().map(|row| Companion {
                table: table.clone(),
                key: shape.key_in(&row),
                item: Some(Arc::new(row)),
            });
            loop {
                let page: Vec<_> = rows.by_ref().take(ROWS_MAX).collect();
                if page.is_empty() {
                    break;
                }
                engine.amend(move |_, _| Ok((page, ()))).done().await?;
            }
        }
        let hook = Arc::new(ScratchHook(Arc::clone(hook)));
        engine.install(Vec::new(), Some(hook))?;
        Ok(Scratch { engine })
    }

    /// The response to a request on these rows.
    pub(crate) async fn answer(&self, request: Request) -> Result<Response, Error> {
        self.engine.execute(request).await
    }
}

/// The hook in force, for reads.
struct ScratchHook(Arc<dyn Hook>);

impl Hook for ScratchHook {
    fn covers(&self, table: &str) -> bool {
        self.0.covers(table)
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        let former = self.0.former(table)?;
        Some(Arc::new(ScratchFormer(former)))
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        self.0.key(table, given)
    }

    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error> {
        self.0.place(table, item, now)
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        self.0.change(changes, rows)
    }
}

/// Former places that are all searched: the progress of the sweep at the endpoint does not apply here, and
/// lookups were counted when the rows were read.
struct ScratchFormer(Arc<dyn Former>);

impl Former for ScratchFormer {
    fn may_hold_rows(&self) -> bool {
        self.0.may_hold_rows()
    }

    fn belongs(&self, key: &Item) -> Belongs {
        self.0.belongs(key)
    }

    fn is_former(&self, key: &Item) -> bool {
        self.0.is_former(key)
    }

    fn may_be_former(&self, hash: &[u8], range: &[u8]) -> bool {
        self.0.may_be_former(hash, range)
    }

    fn place(&self, key: &Item) -> Option<Item> {
        self.0.place(key)
    }

    fn renew(&self, row: Item) -> Result<Item, Error> {
        self.0.renew(row)
    }

    fn renew_stored(&self, row: &[u8]) -> Renewal {
        self.0.renew_stored(row)
    }

    fn renew_selection(&self, selection: &KeySelection) -> Result<Option<KeySelection>, Error> {
        self.0.renew_selection(selection)
    }

    fn sources(&self, index: Option<&str>, selection: Option<&KeySelection>) -> Sources {
        self.0.sources(index, selection)
    }

    fn looked(&self) {}
}
