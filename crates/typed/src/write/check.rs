//! A check of a row in a transaction, which does not change the row.

use std::marker::PhantomData;

use trestle_item::Item;

use crate::draft::{Draft, Presence, What};
use crate::transaction::Part;
use crate::{Entity, FromRow, If};

/// A condition of a transaction on a row.
#[derive(Debug)]
#[must_use = "a check is a part of a transaction"]
pub struct Check<E> {
    draft: Draft,
    entity: PhantomData<fn() -> E>,
}

impl<E: Entity> Check<E> {
    /// There must be such a row.
    pub(crate) fn new(identity: Item) -> Self {
        Check {
            draft: Draft::new(E::NAME, What::Check(identity), Presence::Present),
            entity: PhantomData,
        }
    }

    /// There must be no such row.
    pub fn is_absent(mut self) -> Self {
        self.draft.presence = Presence::Absent;
        self
    }

    /// This must hold, too.
    pub fn only_if(mut self, condition: If<E>) -> Self {
        self.draft.add_condition(condition);
        self
    }
}

impl<E: Entity> Part<<E as FromRow>::Model> for Check<E> {
    fn into_draft(self) -> Draft {
        self.draft
    }
}
