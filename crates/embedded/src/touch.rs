//! Raising the version of rows, for a reindex.

use std::future::Future;

use trestle_api::{Error, TouchRows, Touched, is_own_table, own_table_refusal};

use crate::Embedded;

impl Embedded {
    /// Raises the version attribute of rows, so that the stream has one record of each: this is what a reindex does to rows. The
    /// answer says what became of each row, in the order of the keys. Many rows share a commit, and a row that is refused
    /// leaves the others alone. At most [`TOUCHED_MAX`](crate::TOUCHED_MAX) rows in one call.
    ///
    /// A version only rises: a row that has it or a later one is not written, so that repeating a call writes nothing. No other
    /// attribute changes, no row is created, and no concurrent update is lost. What a model derives from the row is in the same
    /// commit. A row that a model keeps itself (a head, an entry, what keeps a value unique) is left as it is: it follows the
    /// row that it is made of.
    ///
    /// The records carry [`TOUCH_PRINCIPAL`](trestle_api::TOUCH_PRINCIPAL), by which routes tell them from changes of the
    /// application.
    ///
    /// The rows are raised even if the answer is not waited for.
    pub fn touch(&self, rows: TouchRows) -> impl Future<Output = Result<Vec<Touched>, Error>> + Send + use<> {
        let touching = self.touch_with_units(rows);
        async move { Ok(touching.await?.0) }
    }

    /// The same, with the write units that it took.
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
