//! Writing a whole row.

use std::future::IntoFuture;
use std::marker::PhantomData;

use trestle_item::Item;

use crate::draft::{Draft, Presence, What};
use crate::handle::Handle;
use crate::send::send;
use crate::transaction::Part;
use crate::{Entity, FromRow, Future, If};

/// Writes a row, replacing one with the same key. Await it, or make it a part of a transaction.
#[derive(Debug)]
#[must_use = "nothing is written until this is awaited"]
pub struct Put<'d, E> {
    handle: Handle<'d>,
    draft: Draft,
    entity: PhantomData<fn() -> E>,
}

impl<'d, E: Entity> Put<'d, E> {
    pub(crate) fn new(handle: Handle<'d>, item: Item) -> Self {
        Put {
            handle,
            draft: Draft::new(E::NAME, What::Put(item), Presence::Any),
            entity: PhantomData,
        }
    }

    /// Only if there is no such row yet.
    pub fn if_not_exists(mut self) -> Self {
        self.draft.presence = Presence::Absent;
        self
    }

    /// Only if there is such a row already.
    pub fn if_exists(mut self) -> Self {
        self.draft.presence = Presence::Present;
        self
    }

    /// Only if this holds for the row that is there; given twice, both must hold.
    pub fn only_if(mut self, condition: If<E>) -> Self {
        self.draft.add_condition(condition);
        self
    }
}

impl<'d, E: Entity> IntoFuture for Put<'d, E> {
    type Output = Result<(), crate::Error>;
    type IntoFuture = Future<'d, ()>;

    fn into_future(self) -> Future<'d, ()> {
        Box::pin(async move { send(self.handle, self.draft).await.map(|_| ()) })
    }
}

impl<E: Entity> Part<<E as FromRow>::Model> for Put<'_, E> {
    fn into_draft(self) -> Draft {
        self.draft
    }
}
