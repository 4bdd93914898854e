//! Raising the version of rows, for a reindex.

use std::future::Future;

use trestle_api::{Error, TouchRows, Touched, is_own_table, own_table_refusal};

use crate::Embedded;

impl Embedded {
    /// Raises the version attribute of rows, so that the stream has one record of each: this is how a reindex
    /// touches rows. The result has the outcome for each row, in the order of the keys. Many rows share a
    /// commit, and a refused row does not affect the others. At most [`TOUCHED_MAX`](crate::TOUCHED_MAX) rows
    /// in one call.
    ///
    /// A version only increases: a row that has it or a later one is not written, so that repeating a call
    /// writes nothing. No other attribute changes, no row is created, and no concurrent update is lost. Rows
    /// that a model derives change in the same commit. A derived row itself (a head, an entry, a row that
    /// keeps a value unique) is left unchanged: it changes with its source.
    ///
    /// The records have the principal [`TOUCH_PRINCIPAL`](trestle_api::TOUCH_PRINCIPAL), by which routes
    /// distinguish them from changes of the application.
    ///
    /// The rows are raised even if the future is dropped.
    pub fn touch(&self, rows: TouchRows) -> impl Future<Output = Result<Vec<Touched>, Error>> + Send + use<> {
        let touching = self.touch_with_units(rows);
        async move { Ok(touching.await?.0) }
    }

    /// The same, with the write units used.
    pub(crate) fn touch_with_units(
        &self,
        rows: TouchRows,
    ) -> impl Future<Output = Result<(Vec<Touched>, f64), Error>> + Send + use<> {
        let touching = self.start_touch(rows);
        async move { touching?.done().await }
    }

    fn start_touch(&self, rows: TouchRows) -> Result<trestle_engine::Touching, Error> {
        if is_own_table(&rows.table) {
            return Err(own_table_refusal(&rows.table));
        }
        self.opened().models.refuse_while_not_in_force()?;
        self.opened().engine.touch(rows)
    }
}
