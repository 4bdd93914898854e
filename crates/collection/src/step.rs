//! One bounded step: rows are read, then deleted.

use trestle_api::{Database, DatabaseExt, Error, Query, QueryOutput};
use trestle_item::{Item, size};

use crate::bookmark::Position;
use crate::delete::delete;
use crate::{CollectionBookmark, CollectionRows};

/// The limits of a step. It ends with the page of rows that reaches one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepBounds {
    /// Rows that it reads: 1,000 by default.
    pub rows: u32,
    /// The approximate number of bytes of those rows: 4 MiB by default. The size of rows is known only after
    /// they have been read, so the last page may exceed the limit.
    pub bytes: u64,
}

impl Default for StepBounds {
    fn default() -> Self {
        StepBounds {
            rows: 1_000,
            bytes: 4 << 20,
        }
    }
}

/// The result of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectionStep {
    /// Rows that it found and deleted. A row that another deletion removed at the same time counts for both,
    /// because a batch does not report whether a row still existed. For a step that only counts, the rows
    /// that it found.
    pub rows: u64,
    /// The approximate number of bytes that were read to find them.
    pub bytes: u64,
    /// Rows that the database refuses to delete, because it keeps them for rows elsewhere or because they do
    /// not fit the model. Those that are deleted with other rows of the collection are not included.
    pub left: Vec<LeftRow>,
    /// Where to continue; `None` if it is done.
    pub next: Option<CollectionBookmark>,
}

/// A row that stays.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftRow {
    /// Its key.
    pub key: Item,
    /// The reason, as the database gives it.
    pub reason: String,
}

/// Bytes of a unit of a strongly consistent read; a unit of another read is for twice as many.
const UNIT_BYTES: f64 = 4096.0;

/// The most bytes in a page of a query.
const PAGE_BYTES_MAX: u64 = 1 << 20;
/// Rows of the first page of a step that may not have a whole page.
const FIRST_ROWS: u64 = 10;

/// Rows that a step has found.
#[derive(Default)]
struct Found {
    keys: Vec<Item>,
    /// Rows that cannot be interpreted.
    misfits: Vec<LeftRow>,
    /// Rows that were read.
    looked_at: u32,
    bytes: u64,
    is_end: bool,
}

impl Found {
    /// How many rows to read next, so that the limits hold. A query has no limit of bytes below that of a
    /// page, so rows are assumed to be as large as the previous ones.
    fn next_rows(&self, bounds: StepBounds) -> u32 {
        let rows = bounds.rows.saturating_sub(self.looked_at);
        let bytes = bounds.bytes.saturating_sub(self.bytes);
        if bytes >= PAGE_BYTES_MAX {
            return rows;
        }
        let fitting = match self.bytes {
            0 => FIRST_ROWS,
            read => (bytes * u64::from(self.looked_at)).div_ceil(read),
        };
        u32::try_from(fitting.max(1)).map_or(rows, |fitting| rows.min(fitting))
    }
}

impl CollectionRows<'_> {
    /// Deletes the next rows, from the beginning or after a bookmark. Repeating a step does no harm.
    ///
    /// After an error, some of the rows of this step may be deleted: continue from the same bookmark, or from
    /// the beginning.
    pub async fn delete(
        &self,
        database: &dyn Database,
        after: Option<&CollectionBookmark>,
        bounds: StepBounds,
    ) -> Result<CollectionStep, Error> {
        let mut position = position(after)?;
        let mut step = CollectionStep::default();
        let mut left_to_look = bounds.rows.max(1);
        loop {
            let bounds = StepBounds {
                rows: left_to_look,
                ..bounds
            };
            let found = self.find(database, &mut position, bounds).await?;
            left_to_look = left_to_look.saturating_sub(found.looked_at);
            let is_end = found.is_end;
            self.delete_found(database, found, &mut position, &mut step)
                .await?;
            let Some(next) = position.next(is_end) else {
                return Ok(step);
            };
            position = next;
            if !is_end || left_to_look == 0 || step.bytes >= bounds.bytes {
                step.next = Some(CollectionBookmark::of(position));
                return Ok(step);
            }
        }
    }

    async fn delete_found(
        &self,
        database: &dyn Database,
        found: Found,
        position: &mut Position,
        step: &mut CollectionStep,
    ) -> Result<(), Error> {
        let mut refused = delete(database, self.table_name(), &found.keys).await?;
        step.rows += (found.keys.len() - refused.len()) as u64;
        step.bytes += found.bytes;
        refused.extend(found.misfits);
        position.refused += refused.len() as u64;
        if position.is_second {
            step.left.append(&mut refused);
        }
        Ok(())
    }

    /// Counts the next rows without deleting them. Rows that the database would refuse to delete are
    /// included, because that is known only when they are deleted.
    pub async fn count(
        &self,
        database: &dyn Database,
        after: Option<&CollectionBookmark>,
        bounds: StepBounds,
    ) -> Result<CollectionStep, Error> {
        let mut position = position(after)?;
        let bounds = StepBounds {
            rows: bounds.rows.max(1),
            ..bounds
        };
        let found = self.find(database, &mut position, bounds).await?;
        let next = (!found.is_end).then(|| CollectionBookmark::of(position));
        Ok(CollectionStep {
            rows: found.keys.len() as u64,
            bytes: found.bytes,
            left: Vec::new(),
            next,
        })
    }

    async fn find(
        &self,
        database: &dyn Database,
        position: &mut Position,
        bounds: StepBounds,
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        while found.looked_at < bounds.rows && (found.bytes < bounds.bytes || found.looked_at == 0) {
            let query = Query {
                limit: Some(found.next_rows(bounds)),
                exclusive_start_key: position.after.take(),
                ..self.query.clone()
            };
            let page = database.query(query).await?;
            found.looked_at += page.scanned_count;
            position.after = page.last_evaluated_key.clone();
            self.take(page, &mut found)?;
            if position.after.is_none() {
                found.is_end = true;
                break;
            }
        }
        Ok(found)
    }

    fn take(&self, page: QueryOutput, found: &mut Found) -> Result<(), Error> {
        if page.scanned_count == 0 {
            return Ok(()); // It also costs a unit.
        }
        let units = page
            .consumed_capacity
            .and_then(|consumed| consumed.capacity_units);
        let mut shown = 0;
        for row in page.items.into_iter().flatten() {
            shown += size::of_item(&row) as u64;
            let key = self.key_of(&row)?;
            match self.wants(&row) {
                Ok(true) => found.keys.push(key),
                Ok(false) => {}
                Err(reason) => found.misfits.push(LeftRow { key, reason }),
            }
        }
        let unit_bytes = match self.query.consistent_read {
            Some(true) => UNIT_BYTES,
            _ => 2.0 * UNIT_BYTES,
        };
        // For a database that does not report its costs, the size of the returned rows counts.
        found.bytes += units.map_or(shown, |units| (units * unit_bytes) as u64);
        Ok(())
    }
}

fn position(after: Option<&CollectionBookmark>) -> Result<Position, Error> {
    after.map_or(Ok(Position::default()), CollectionBookmark::position)
}
