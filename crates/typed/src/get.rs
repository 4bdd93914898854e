//! Reading one row by its key.

use std::future::IntoFuture;
use std::marker::PhantomData;

use trestle_api::{DatabaseExt, GetItem};
use trestle_item::Item;
use trestle_model::{AccessPattern, Bound};

use crate::draft::key;
use crate::handle::Handle;
use crate::row::read_in;
use crate::{Error, FromRow, Future};

/// Reads one row; awaiting it gives the row, or `None` if there is none.
#[derive(Debug)]
#[must_use = "nothing is read until this is awaited"]
pub struct Get<'d, T> {
    handle: Handle<'d>,
    by: By,
    consistent: bool,
    row: PhantomData<fn() -> T>,
}

#[derive(Debug)]
enum By {
    Key(&'static str, Item),
    Access(&'static str, Item),
}

impl<'d, T: FromRow> Get<'d, T> {
    /// The row of the entity with these identifying attributes.
    pub(crate) fn by_key(handle: Handle<'d>, entity: &'static str, identity: Item) -> Self {
        Self::new(handle, By::Key(entity, identity))
    }

    /// The row that an access pattern gets.
    pub fn by_access(handle: Handle<'d>, access: &'static str, parameters: Item) -> Self {
        Self::new(handle, By::Access(access, parameters))
    }

    fn new(handle: Handle<'d>, by: By) -> Self {
        Get {
            handle,
            by,
            consistent: false,
            row: PhantomData,
        }
    }

    /// Sees every write that was finished before.
    pub fn consistent(mut self) -> Self {
        self.consistent = true;
        self
    }

    fn request(&self) -> Result<GetItem, Error> {
        let definition = self.handle.definition;
        let (table_name, key, consistent) = match &self.by {
            By::Key(name, identity) => {
                let (_, table, entity) = definition.entity(name)?;
                (
                    table.table_name().to_owned(),
                    key(table, entity, identity)?,
                    false,
                )
            }
            By::Access(name, parameters) => match bind(self.handle, name, parameters)? {
                Bound::Get {
                    table_name,
                    key,
                    consistent,
                } => (table_name, key, consistent),
                _ => {
                    return Err(Error::Definition {
                        model: definition.name(),
                    });
                }
            },
        };
        Ok(GetItem {
            table_name,
            key,
            consistent_read: Some(consistent || self.consistent),
            ..GetItem::default()
        })
    }
}

/// The access pattern of this name.
pub(crate) fn access<'d>(handle: Handle<'d>, name: &'static str) -> Result<&'d AccessPattern, Error> {
    let definition = handle.definition;
    definition.model()?.access(name).ok_or(Error::Definition {
        model: definition.name(),
    })
}

/// The request of an access pattern.
pub(crate) fn bind(handle: Handle<'_>, name: &'static str, parameters: &Item) -> Result<Bound, Error> {
    Ok(access(handle, name)?.bind(parameters)?)
}

impl<'d, T: FromRow + 'd> IntoFuture for Get<'d, T> {
    type Output = Result<Option<T>, Error>;
    type IntoFuture = Future<'d, Option<T>>;

    fn into_future(self) -> Future<'d, Option<T>> {
        Box::pin(async move {
            let request = self.request()?;
            let table_name = request.table_name.clone();
            match self.handle.database.get_item(request).await?.item {
                Some(item) => read_in(self.handle.definition, &table_name, item),
                None => Ok(None),
            }
        })
    }
}
