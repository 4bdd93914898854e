//! What the client of every model can do. Access patterns and updates come from the model.

use std::marker::PhantomData;
use std::sync::Arc;

use trestle_api::Database;
use trestle_env::{Clock, SystemClock};
use trestle_item::Item;

use crate::batch::{get_many, write_many};
use crate::draft::{Draft, Presence, What};
use crate::handle::Handle;
use crate::transaction::check;
use crate::write::{Check, Delete, Put, Update};
use crate::{Definition, Entity, Error, Future, Get, Key, Model, Remove, Timestamp, Transaction, Write};

/// A database with the model `M`.
pub struct Client<D, M> {
    database: D,
    clock: Arc<dyn Clock>,
    applied: bool,
    model: PhantomData<fn() -> M>,
}

impl<D, M> Client<D, M> {
    /// A client of this database. Until [`Client::model_applied`] states that the database knows the model,
    /// writes that need derived rows or keys are refused.
    pub fn new(database: D) -> Self {
        Client {
            database,
            clock: Arc::new(SystemClock::new()),
            applied: false,
            model: PhantomData,
        }
    }

    /// With another clock, for the times that the model writes into rows.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// States that the model is applied to the database, which derives index keys and carries out effects in
    /// the commit.
    #[must_use]
    pub fn model_applied(mut self) -> Self {
        self.applied = true;
        self
    }

    /// The database.
    pub fn database(&self) -> &D {
        &self.database
    }

    /// The time by the client's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}

impl<D: Database + 'static, M> Client<D, M> {
    /// The same client, for code that works with any database.
    #[must_use]
    pub fn shared(self) -> Client<Arc<dyn Database>, M> {
        Client {
            database: Arc::new(self.database),
            clock: self.clock,
            applied: self.applied,
            model: PhantomData,
        }
    }
}

impl<D: Clone, M> Clone for Client<D, M> {
    fn clone(&self) -> Self {
        Client {
            database: self.database.clone(),
            clock: Arc::clone(&self.clock),
            applied: self.applied,
            model: PhantomData,
        }
    }
}

impl<D, M: Model> std::fmt::Debug for Client<D, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("model", &M::definition().name())
            .field("applied", &self.applied)
            .finish_non_exhaustive()
    }
}

impl<D: Database, M: Model> Client<D, M> {
    /// For generated functions: what they need to make requests.
    pub fn handle(&self) -> Handle<'_> {
        Handle {
            database: &self.database,
            definition: M::definition(),
            clock: &*self.clock,
            applied: self.applied,
        }
    }

    /// The model.
    pub fn definition(&self) -> &'static Definition {
        M::definition()
    }

    /// Reads the row with this key.
    pub fn get<K: Key<M>>(&self, key: K) -> Get<'_, K::Entity> {
        Get::by_key(self.handle(), <K::Entity as Entity>::NAME, key.to_item())
    }

    /// Reads the rows with these keys, in their order; `None` where there is none.
    pub fn get_many<K: Key<M>>(&self, keys: impl IntoIterator<Item = K>) -> Future<'_, Vec<Option<K::Entity>>>
    where
        K::Entity: 'static,
    {
        let identities: Vec<Item> = keys.into_iter().map(|key| key.to_item()).collect();
        Box::pin(get_many(self.handle(), identities))
    }

    /// Writes a row, replacing one with the same key.
    pub fn put<W: Write<M>>(&self, row: &W) -> Put<'_, W::Entity> {
        Put::new(self.handle(), row.to_item())
    }

    /// Writes rows, replacing those with the same keys. Some of them may fail; use a transaction to write all
    /// or none.
    pub fn put_many<'r, W: Write<M> + 'r>(&self, rows: impl IntoIterator<Item = &'r W>) -> Future<'_, ()> {
        let draft = |row: &W| {
            Draft::new(
                <W::Entity as Entity>::NAME,
                What::Put(row.to_item()),
                Presence::Any,
            )
        };
        let drafts: Vec<Draft> = rows.into_iter().map(draft).collect();
        Box::pin(write_many(self.handle(), drafts))
    }

    /// Removes a row.
    pub fn delete<K: Key<M>>(&self, key: K) -> Delete<'_, K::Entity>
    where
        K::Entity: Remove<M>,
    {
        Delete::new(self.handle(), key.to_item())
    }

    /// Removes rows. Some of them may fail; use a transaction to remove all or none.
    pub fn delete_many<K: Key<M>>(&self, keys: impl IntoIterator<Item = K>) -> Future<'_, ()>
    where
        K::Entity: Remove<M>,
    {
        let draft = |key: K| {
            Draft::new(
                <K::Entity as Entity>::NAME,
                What::Delete(key.to_item()),
                Presence::Any,
            )
        };
        let drafts: Vec<Draft> = keys.into_iter().map(draft).collect();
        Box::pin(write_many(self.handle(), drafts))
    }

    /// A condition of a transaction on a row: by default that it exists.
    pub fn check<K: Key<M>>(&self, key: K) -> Check<K::Entity> {
        check(key.to_item())
    }

    /// Several writes as one: all or none.
    pub fn transaction(&self) -> Transaction<'_, M> {
        Transaction::new(self.handle())
    }

    /// Changes some attributes of a row; the basis of the generated builders.
    pub fn update_of<K: Key<M>>(&self, key: K) -> Update<'_, K::Entity> {
        Update::new(self.handle(), key.to_item())
    }

    /// Points a head at another row of its group, which the database then promotes. For generated code.
    pub fn point<K: Key<M>>(&self, head: K, newest_by: Item) -> Future<'_, K::Entity>
    where
        K::Entity: 'static,
    {
        let handle = self.handle();
        if !handle.applied {
            let error = Error::NotApplied {
                what: format!("Pointing {} at another row", <K::Entity as Entity>::NAME),
                model: handle.definition.name(),
            };
            return Box::pin(std::future::ready(Err(error)));
        }
        let update = Update::<K::Entity>::new(handle, head.to_item());
        let update = newest_by
            .into_iter()
            .fold(update, |update, (name, value)| update.set_value(&name, value));
        update.send()
    }
}
