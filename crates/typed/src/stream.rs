//! Rows one by one.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use trestle_api::{Request, Response, ResponseFuture};
use trestle_item::{IntoItems, Item};
use trestle_model::Index;

use crate::handle::Handle;
use crate::row::{key_of, read_in};
use crate::{Bookmark, Error, FromRow, Page, Wait};

/// The rows of an access pattern as a [`Stream`]; a page is fetched when the previous one is used up.
///
/// Without a library for streams, call [`RowStream::next`] in a loop. After an error the stream ends.
pub struct RowStream<'d, T> {
    handle: Handle<'d>,
    access: &'static str,
    /// The next request; `None` after the last page.
    request: Option<Request>,
    answer: Option<ResponseFuture<'d>>,
    page: IntoItems,
    error: Option<Error>,
    /// The key of the last row that was read.
    place: Option<Item>,
    /// The database's own bookmark, the last one of this list: it may have attributes that are not of the key, such as the order in
    /// which a gateway lists rows during a migration.
    mark: Option<Item>,
    rows: PhantomData<fn() -> T>,
}

impl<'d, T: FromRow> RowStream<'d, T> {
    pub(crate) fn new(handle: Handle<'d>, access: &'static str, request: Request) -> Self {
        RowStream {
            handle,
            access,
            mark: start_of(&request).cloned(),
            request: Some(request),
            answer: None,
            page: IntoItems::default(),
            error: None,
            place: None,
            rows: PhantomData,
        }
    }

    pub(crate) fn failed(handle: Handle<'d>, access: &'static str, error: Error) -> Self {
        RowStream {
            handle,
            access,
            request: None,
            answer: None,
            page: IntoItems::default(),
            error: Some(error),
            place: None,
            mark: None,
            rows: PhantomData,
        }
    }

    /// The next row; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// A bookmark after the last row that was read; `None` before the first.
    #[must_use]
    pub fn bookmark(&self) -> Option<Bookmark> {
        let mut position = self.mark.clone().unwrap_or_default();
        for (name, value) in self.place.clone()? {
            position.insert(name, value);
        }
        Some(Bookmark::new(self.access, position))
    }

    /// The rows as an iterator that blocks this thread while a page is fetched, for programs without a
    /// runtime.
    pub fn wait(mut self) -> impl Iterator<Item = Result<T, Error>> + 'd
    where
        T: 'd,
    {
        std::iter::from_fn(move || self.next().wait())
    }

    /// Only the rows of the next request, and where to continue.
    pub(crate) async fn at_once(mut self) -> Result<Page<T>, Error> {
        self.ask();
        if let Some(answer) = self.answer.take() {
            self.arrived(answer.await?)?;
        }
        let mut rows = Vec::new();
        while let Some(row) = self.row_of_page()? {
            rows.push(row);
        }
        let begin = self.request.as_ref().and_then(start_of).cloned();
        let next = begin.map(|begin| Bookmark::new(self.access, begin));
        Ok(Page { rows, next })
    }

    fn end(&mut self, error: Error) -> Poll<Option<Result<T, Error>>> {
        self.request = None;
        self.answer = None;
        self.page = IntoItems::default();
        Poll::Ready(Some(Err(error)))
    }

    /// The next row of the present page.
    fn row_of_page(&mut self) -> Result<Option<T>, Error> {
        while let Some(item) = self.page.next() {
            let (place, table_name) = self.place_of(&item)?;
            let row = read_in(self.handle.definition, &table_name, item)?;
            if row.is_some() {
                self.place = Some(place);
                return Ok(row);
            }
        }
        Ok(None)
    }

    /// The position of a row: the table's key, and the index's.
    fn place_of(&self, item: &Item) -> Result<(Item, String), Error> {
        let definition = self.handle.definition;
        let unknown = || Error::Definition {
            model: definition.name(),
        };
        let model = definition.model()?;
        let pattern = model.access(self.access).ok_or_else(unknown)?;
        let table = model.table(pattern.table_name()).ok_or_else(unknown)?;
        let mut place = key_of(table, item);
        let index: Option<&Index> = pattern.index().and_then(|name| table.index(name));
        for key in index.into_iter().flat_map(|index| index.key.attributes()) {
            if let Some(value) = item.get(&key.name) {
                place.insert(key.name.clone(), value.clone());
            }
        }
        Ok((place, table.table_name().to_owned()))
    }

    fn ask(&mut self) -> bool {
        let Some(request) = &self.request else {
            return false;
        };
        self.answer = Some(self.handle.database.execute(request.clone()));
        true
    }

    fn arrived(&mut self, response: Response) -> Result<(), Error> {
        let (items, last) = match response {
            Response::Query(output) => (output.items, output.last_evaluated_key),
            Response::Scan(output) => (output.items, output.last_evaluated_key),
            other => {
                let message = format!("a query was answered with {}", other.operation());
                return Err(trestle_api::Error::internal(message).into());
            }
        };
        let items = items.ok_or_else(|| trestle_api::Error::internal("a query was answered without rows"))?;
        self.page = items.into_iter();
        if last.is_some() {
            self.mark.clone_from(&last);
        }
        match (&mut self.request, last) {
            (Some(Request::Query(query)), Some(last)) => query.exclusive_start_key = Some(last),
            (Some(Request::Scan(scan)), Some(last)) => scan.exclusive_start_key = Some(last),
            _ => self.request = None,
        }
        Ok(())
    }
}

impl<T: FromRow> Stream for RowStream<'_, T> {
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = self.get_mut();
        if let Some(error) = stream.error.take() {
            return stream.end(error);
        }
        loop {
            match stream.row_of_page() {
                Ok(Some(row)) => return Poll::Ready(Some(Ok(row))),
                Ok(None) => {}
                Err(error) => return stream.end(error),
            }
            let Some(answer) = &mut stream.answer else {
                if stream.ask() {
                    continue;
                }
                return Poll::Ready(None);
            };
            let Poll::Ready(answer) = answer.as_mut().poll(context) else {
                return Poll::Pending;
            };
            stream.answer = None;
            let arrived = answer
                .map_err(Error::from)
                .and_then(|response| stream.arrived(response));
            if let Err(error) = arrived {
                return stream.end(error);
            }
        }
    }
}

fn start_of(request: &Request) -> Option<&Item> {
    match request {
        Request::Query(query) => query.exclusive_start_key.as_ref(),
        Request::Scan(scan) => scan.exclusive_start_key.as_ref(),
        _ => None,
    }
}

impl<T> std::fmt::Debug for RowStream<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream")
            .field("access", &self.access)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}
