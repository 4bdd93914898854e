//! Removing a row.

use std::future::IntoFuture;
use std::marker::PhantomData;

use trestle_item::Item;

use crate::draft::{Draft, Presence, What};
use crate::handle::Handle;
use crate::send::send;
use crate::transaction::Part;
use crate::{Entity, FromRow, Future, If};

/// Removes a row. Awaiting it returns whether there was one.
#[derive(Debug)]
#[must_use = "nothing is removed until this is awaited"]
pub struct Delete<'d, E> {
    handle: Handle<'d>,
    draft: Draft,
    entity: PhantomData<fn() -> E>,
}

impl<'d, E: Entity> Delete<'d, E> {
    pub(crate) fn new(handle: Handle<'d>, identity: Item) -> Self {
        Delete {
            handle,
            draft: Draft::new(E::NAME, What::Delete(identity), Presence::Any),
            entity: PhantomData,
        }
    }

    /// Only if there is such a row; otherwise it is an error.
    pub fn if_exists(mut self) -> Self {
        self.draft.presence = Presence::Present;
        self
    }

    /// Only if this holds for the row; given twice, both must hold.
    pub fn only_if(mut self, condition: If<E>) -> Self {
        self.draft.add_condition(condition);
        self
    }
}

impl<'d, E: Entity> IntoFuture for Delete<'d, E> {
    type Output = Result<bool, crate::Error>;
    type IntoFuture = Future<'d, bool>;

    fn into_future(self) -> Future<'d, bool> {
        Box::pin(async move { Ok(send(self.handle, self.draft).await?.is_some()) })
    }
}

impl<E: Entity> Part<<E as FromRow>::Model> for Delete<'_, E> {
    fn into_draft(self) -> Draft {
        self.draft
    }
}
