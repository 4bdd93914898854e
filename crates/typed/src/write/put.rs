//! Writing a whole row.

use std::future::IntoFuture;
use std::marker::PhantomData;

use trestle_expr::{Comparator, Condition, Operand, Path};
use trestle_item::Item;

use crate::draft::{Draft, Presence, What};
use crate::handle::Handle;
use crate::send::send;
use crate::transaction::Part;
use crate::{Entity, FromRow, Future, If, Write};

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

    /// Only if the row is unchanged since it was read, in all its attributes; or still missing.
    pub fn if_unchanged(self, read: Option<&E>) -> Self
    where
        E: Write<<E as FromRow>::Model>,
    {
        let Some(read) = read else {
            return self.if_not_exists();
        };
        let read = read.to_item();
        // An error of a model that cannot be loaded is returned when the write is sent.
        let entity = self
            .handle
            .definition
            .entity(E::NAME)
            .map(|(_, _, entity)| entity);
        let names = entity.map(|entity| entity.attributes().iter().map(|attribute| &attribute.name));
        let lacking = names
            .into_iter()
            .flatten()
            .filter(|name| read.get(name).is_none());
        let lacking = lacking.map(|name| Condition::NotExists(Path::top(name)));
        let equal = read.iter().map(|(name, value)| Condition::Compare {
            left: Operand::Path(Path::top(name)),
            comparator: Comparator::Equal,
            right: Operand::Value(value.clone()),
        });
        let unchanged = If::new(Condition::And(equal.chain(lacking).collect()));
        self.only_if(unchanged)
    }

    /// Only if this holds for the stored row; given twice, both must hold.
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
