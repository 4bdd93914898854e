//! Deleting the rows of an access pattern.

use trestle_collection::{CollectionBookmark, CollectionRows, CollectionStep, StepBounds};
use trestle_item::Item;

use crate::access_rows::Queried;
use crate::draft::has_effects;
use crate::handle::Handle;
use crate::{AccessRows, Error, FromRow};

/// The deletion of all rows that an access pattern finds, in bounded steps. Each row is deleted like by
/// [`Client::delete`], with everything that follows from it, in one commit.
///
/// [`Client::delete`]: crate::Client::delete
#[derive(Clone, Debug)]
#[must_use = "nothing is deleted until a step is made"]
pub struct DeleteRows<'d> {
    handle: Handle<'d>,
    access: &'static str,
    parameters: Item,
    bounds: StepBounds,
    after: Option<CollectionBookmark>,
}

impl<'d, T: FromRow> AccessRows<'d, T, Queried> {
    /// Deletes all rows that the pattern finds, of the entities that it returns, in steps of at most 1,000 rows.
    pub fn delete(self) -> DeleteRows<'d> {
        let (handle, access, parameters) = self.into_parts();
        DeleteRows {
            handle,
            access,
            parameters,
            bounds: StepBounds::default(),
            after: None,
        }
    }
}

impl DeleteRows<'_> {
    /// The most rows of a step.
    pub fn rows_per_step(mut self, rows: u32) -> Self {
        self.bounds.rows = rows;
        self
    }

    /// The approximate maximum of bytes of rows in a step.
    pub fn bytes_per_step(mut self, bytes: u64) -> Self {
        self.bounds.bytes = bytes;
        self
    }

    /// Continues where a step ended, or begins at the start without a bookmark.
    pub fn continued(mut self, after: Option<impl Into<CollectionBookmark>>) -> Self {
        self.after = after.map(Into::into);
        self
    }

    /// One step: what it deleted, and where to continue. Repeating it does no harm.
    pub async fn step(&self) -> Result<CollectionStep, Error> {
        self.step_after(self.after.as_ref()).await
    }

    /// All steps: the total number of deleted rows, and the rows that stay because the database keeps them
    /// for others.
    pub async fn all(self) -> Result<CollectionStep, Error> {
        let mut all = self.step().await?;
        while let Some(after) = all.next.take() {
            let step = self.step_after(Some(&after)).await?;
            all.rows += step.rows;
            all.bytes += step.bytes;
            all.left.extend(step.left);
            all.next = step.next;
        }
        Ok(all)
    }

    async fn step_after(&self, after: Option<&CollectionBookmark>) -> Result<CollectionStep, Error> {
        let rows = self.rows()?;
        Ok(rows.delete(self.handle.database, after, self.bounds).await?)
    }

    fn rows(&self) -> Result<CollectionRows<'static>, Error> {
        let definition = self.handle.definition;
        let model = definition.model()?;
        let pattern = crate::get::access(self.handle, self.access)?;
        for name in pattern.returns() {
            let entity = model.entity(name).filter(|entity| has_effects(model, entity));
            if let Some(entity) = entity.filter(|_| !self.handle.applied) {
                return Err(Error::NotApplied {
                    what: format!("What follows from a row of entity {}", entity.name()),
                    model: definition.name(),
                });
            }
        }
        Ok(CollectionRows::of_access(model, self.access, &self.parameters)?)
    }
}
