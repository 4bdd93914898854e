//! Changing a row that was read before, with a lock on its version.

use trestle_api::{Database, pause_after};
use trestle_item::{AttributeValue, Item};

use crate::send::ATTEMPTS_MAX;
use crate::write::Put;
use crate::{Attribute, Client, Entity, Error, Get, Key, Model, Value as _, Write};

impl<D: Database, M: Model> Client<D, M> {
    /// Reads a row, lets `change` compute its next state, and writes that as the next version if the row
    /// still has the version that was read. Otherwise all of this is repeated, so that no write overwrites
    /// another one. Returns the version that it wrote.
    ///
    /// `change` gets `None` if there is no row; its result is inserted then. The key and the version in its
    /// result are ignored: the first version is 1, and each further one is one more. If it fails, nothing is
    /// written.
    ///
    /// ```ignore
    /// let version = db.change(RecordKey::new("b1"), Record::VERSION, |row| {
    ///     let mut row = row.ok_or(MyError::NoSuchRecord)?;
    ///     row.is_deleted = Some(true);
    ///     Ok(row)
    /// });
    /// ```
    pub async fn change<K, E, X>(
        &self,
        key: K,
        version: Attribute<E, i64>,
        mut change: impl FnMut(Option<E>) -> Result<E, X>,
    ) -> Result<i64, X>
    where
        K: Key<M, Entity = E>,
        E: Entity + Write<M, Entity = E>,
        X: From<Error>,
    {
        let (handle, identity) = (self.handle(), key.to_item());
        let mut attempt = 0;
        loop {
            let row: Option<E> = Get::by_key(handle, E::NAME, identity.clone())
                .consistent()
                .await?;
            let (is_there, seen) = (
                row.is_some(),
                row.as_ref().and_then(|row| version_of(row, version)),
            );
            let next = seen.unwrap_or_default().saturating_add(1);
            let mut item = change(row)?.to_item();
            for (name, value) in identity.clone() {
                item.insert(name, value);
            }
            item.insert(version.name(), next.to_value());
            let put = Put::<E>::new(handle, item);
            let put = match seen {
                Some(seen) => put.only_if(version.equals(seen)),
                None if is_there => put.if_exists().only_if(version.is_absent()),
                None => put.if_not_exists(),
            };
            match put.await {
                Ok(()) => return Ok(next),
                Err(Error::ConditionFailed(_)) if attempt < ATTEMPTS_MAX => {
                    pause_after(attempt).await;
                    attempt += 1;
                }
                Err(Error::ConditionFailed(row)) => return Err(Error::Contended(row).into()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The version of a row, if it has one.
fn version_of<M, E: Write<M>>(row: &E, version: Attribute<E, i64>) -> Option<i64> {
    let mut item: Item = row.to_item();
    let number: Option<AttributeValue> = item.remove(version.name());
    number.and_then(|number| i64::from_value(number).ok())
}
