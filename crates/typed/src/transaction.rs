//! Several writes as one: all or none.

use std::marker::PhantomData;

use trestle_api::{
    CancellationCode, CancellationReason, Database, DatabaseExt, ErrorKind, TransactWriteItem,
    TransactWriteItems, pause_after,
};
use trestle_item::Item;

use crate::draft::{Draft, Presence, What};
use crate::handle::Handle;
use crate::send::{ATTEMPTS_MAX, failed, part};
use crate::write::{Check, Delete, Put};
use crate::{AnyRow, Canceled, Entity, Error, Future, If, Key, Reason, Remove, Write};

/// Something that can be a part of a transaction of the model `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a transaction of the model `{M}`",
    label = "expected a put, an update, a delete or a check of this model"
)]
pub trait Part<M> {
    /// The write.
    fn into_draft(self) -> Draft;
}

/// A transaction that is being put together.
#[derive(Debug)]
#[must_use = "nothing is written until this is committed"]
pub struct Transaction<'d, M> {
    handle: Handle<'d>,
    drafts: Vec<Draft>,
    further: Vec<TransactWriteItem>,
    /// What executes it: the client's database, or another handle of it.
    sender: Handle<'d>,
    token: Option<String>,
    model: PhantomData<fn() -> M>,
}

impl<'d, M> Transaction<'d, M> {
    pub(crate) fn new(handle: Handle<'d>) -> Self {
        Transaction {
            handle,
            drafts: Vec::new(),
            further: Vec::new(),
            sender: handle,
            token: None,
            model: PhantomData,
        }
    }

    /// Adds any write with its conditions, in the form of the client's functions.
    pub fn with(mut self, part: impl Part<M>) -> Self {
        self.add(part);
        self
    }

    /// Adds any write, like [`Transaction::with`]: for a transaction that is put together in several places.
    pub fn add(&mut self, part: impl Part<M>) {
        self.drafts.push(part.into_draft());
    }

    /// Writes a row.
    pub fn put<W: Write<M>>(self, row: &W) -> Self
    where
        Put<'d, W::Entity>: Part<M>,
    {
        let put = Put::<W::Entity>::new(self.handle, row.to_item());
        self.with(put)
    }

    /// Removes a row.
    pub fn delete<K: Key<M>>(self, key: K) -> Self
    where
        K::Entity: Remove<M>,
        Delete<'d, K::Entity>: Part<M>,
    {
        let delete = Delete::<K::Entity>::new(self.handle, key.to_item());
        self.with(delete)
    }

    /// Removes a row that a list of several entities has found. The database refuses to remove rows that it
    /// keeps for others, such as entries: the transaction is cancelled.
    pub fn remove<R: AnyRow<Model = M>>(&mut self, row: &R) {
        let (entity, identity) = row.identity();
        let draft = Draft::new(entity, What::Delete(identity), Presence::Any);
        self.drafts.push(draft);
    }

    /// Checks a row, which must exist and fulfil this condition.
    pub fn check<K: Key<M>>(self, key: K, condition: If<K::Entity>) -> Self
    where
        Check<K::Entity>: Part<M>,
    {
        let check = Check::<K::Entity>::new(key.to_item()).only_if(condition);
        self.with(check)
    }

    /// Adds writes from elsewhere that do not follow the model, such as messages that a queue enlists.
    pub fn along(mut self, writes: impl IntoIterator<Item = TransactWriteItem>) -> Self {
        self.further.extend(writes);
        self
    }

    /// Lets another handle of the same database execute it: the one that may make the further writes.
    pub fn through(mut self, database: &'d dyn Database) -> Self {
        self.sender.database = database;
        self
    }

    /// Names the transaction, so that sending it again within ten minutes does nothing.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Makes all writes, or none.
    pub fn commit(self) -> Future<'d, ()> {
        let Transaction {
            handle,
            drafts,
            further,
            sender,
            token,
            ..
        } = self;
        Box::pin(commit((handle, sender), drafts, further, token))
    }
}

async fn commit(
    (handle, sender): (Handle<'_>, Handle<'_>),
    drafts: Vec<Draft>,
    further: Vec<TransactWriteItem>,
    token: Option<String>,
) -> Result<(), Error> {
    if drafts.is_empty() && further.is_empty() {
        return Ok(());
    }
    let mut last = None;
    for attempt in 0..ATTEMPTS_MAX {
        let mut transact_items = Vec::with_capacity(drafts.len() + further.len());
        for draft in &drafts {
            transact_items.push(part(draft.prepare(handle)?));
        }
        transact_items.extend(further.iter().cloned());
        let request = TransactWriteItems {
            transact_items,
            client_request_token: token.clone(),
            ..TransactWriteItems::default()
        };
        let error = match sender.database.transact_write_items(request).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        // The caller that added further writes has to explain their failures.
        let (reasons, others) = match error.reasons().split_at_checked(drafts.len()) {
            Some(split) if error.kind() == ErrorKind::TransactionCanceled => split,
            _ => return Err(error.into()),
        };
        if others.len() != further.len() || others.iter().any(is_final) {
            return Err(error.into());
        }
        let canceled = canceled(handle, &drafts, reasons);
        if reasons.iter().any(is_final) {
            return Err(canceled);
        }
        last = Some(canceled);
        pause_after(attempt).await;
    }
    last.map_or(Ok(()), Err)
}

/// Whether a retry would not help.
fn is_final(reason: &CancellationReason) -> bool {
    !matches!(
        reason.code,
        CancellationCode::None | CancellationCode::TransactionConflict
    )
}

fn canceled(handle: Handle<'_>, drafts: &[Draft], reasons: &[CancellationReason]) -> Error {
    let reasons = drafts.iter().zip(reasons).map(|(draft, reason)| {
        (reason.code != CancellationCode::None).then(|| Reason {
            failed: failed(handle, draft, reason.item.clone()),
            code: reason.code,
            message: reason.message.clone().unwrap_or_default(),
            taken: reason.taken.clone(),
        })
    });
    Error::Canceled(Box::new(Canceled {
        reasons: reasons.collect(),
    }))
}

/// A condition on the row with this key: by default that it exists.
pub(crate) fn check<E: Entity>(identity: Item) -> Check<E> {
    Check::new(identity)
}
