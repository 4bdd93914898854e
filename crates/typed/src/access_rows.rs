//! Reading the rows of an access pattern.

use std::marker::PhantomData;

use trestle_api::Request;
use trestle_item::Item;
use trestle_model::Bound;

use crate::count::count;
use crate::get::{access, bind};
use crate::handle::Handle;
use crate::{Bookmark, Error, FromRow, Page, RowStream};

/// How many rows a page has by default.
const PAGE_SIZE: u32 = 100;

/// Marks access patterns that read one partition.
#[derive(Clone, Copy, Debug)]
pub enum Queried {}

/// Marks access patterns that scan.
#[derive(Clone, Copy, Debug)]
pub enum Scanned {}

/// The rows that an access pattern finds: all of them, page by page, or as a stream.
#[derive(Clone, Debug)]
#[must_use = "nothing is read until rows are asked for"]
pub struct AccessRows<'d, T, How = Queried> {
    handle: Handle<'d>,
    access: &'static str,
    parameters: Item,
    page_size: Option<u32>,
    after: Option<Bookmark>,
    consistent: bool,
    segment: Option<(u32, u32)>,
    types: PhantomData<fn() -> (T, How)>,
}

impl<'d, T: FromRow, How> AccessRows<'d, T, How> {
    /// The rows of an access pattern.
    pub fn new(handle: Handle<'d>, access: &'static str, parameters: Item) -> Self {
        AccessRows {
            handle,
            access,
            parameters,
            page_size: None,
            after: None,
            consistent: false,
            segment: None,
            types: PhantomData,
        }
    }

    pub(crate) fn into_parts(self) -> (Handle<'d>, &'static str, Item) {
        (self.handle, self.access, self.parameters)
    }

    /// How many rows a page has, and a request reads; by default, the model's number.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.page_size = Some(rows.max(1));
        self
    }

    /// Continues after a bookmark.
    pub fn after(mut self, bookmark: impl Into<Bookmark>) -> Self {
        self.after = Some(bookmark.into());
        self
    }

    /// Continues after the caller's bookmark, or begins at the start without one.
    pub fn continued(mut self, after: Option<impl Into<Bookmark>>) -> Self {
        self.after = after.map(Into::into);
        self
    }

    /// Sees every write that was finished before. Not possible for a global index.
    pub fn consistent(mut self) -> Self {
        self.consistent = true;
        self
    }

    /// The rows one by one; pages are fetched as they are needed.
    pub fn stream(self) -> RowStream<'d, T> {
        match self.request(self.page_size) {
            Ok(request) => RowStream::new(self.handle, self.access, request),
            Err(error) => RowStream::failed(self.handle, self.access, error),
        }
    }

    /// All rows.
    pub async fn collect(self) -> Result<Vec<T>, Error> {
        let mut stream = self.stream();
        let mut rows = Vec::new();
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }

    /// How many rows there are. The database reads all of them; if the pattern finds no rows of other
    /// entities, none is transferred.
    pub async fn count(self) -> Result<u64, Error> {
        let request = self.request(self.page_size)?;
        if access(self.handle, self.access)?.strays().is_empty() {
            return count(self.handle, request).await;
        }
        let mut rows = RowStream::<T>::new(self.handle, self.access, request);
        let mut found = 0;
        while let Some(row) = rows.next().await {
            row?;
            found += 1;
        }
        Ok(found)
    }

    /// The first row.
    pub async fn first(mut self) -> Result<Option<T>, Error> {
        if self.page_size.is_none() && self.takes_all()? {
            self.page_size = Some(1);
        }
        self.stream().next().await.transpose()
    }

    /// Whether every row read is also returned, so that the first one read is the first.
    fn takes_all(&self) -> Result<bool, Error> {
        let pattern = access(self.handle, self.access)?;
        let filter = match bind(self.handle, self.access, &self.parameters)? {
            Bound::Query { filter, .. } | Bound::Scan { filter, .. } => filter,
            Bound::Get { .. } => None,
        };
        Ok(filter.is_none() && pattern.strays().is_empty())
    }

    /// One page: as many rows as it may have, and where to continue if there are more.
    pub async fn page(self) -> Result<Page<T>, Error> {
        let wanted = self.page_size.or(self.limit()?).unwrap_or(PAGE_SIZE);
        // One more shows whether there are more, even if rows are filtered out.
        let mut stream = match self.request(Some(wanted.saturating_add(1))) {
            Ok(request) => RowStream::new(self.handle, self.access, request),
            Err(error) => return Err(error),
        };
        let mut page = Page::default();
        let mut end = None;
        while let Some(row) = stream.next().await {
            let row = row?;
            if page.rows.len() == usize::try_from(wanted).unwrap_or(usize::MAX) {
                page.next = end;
                return Ok(page);
            }
            page.rows.push(row);
            end = stream.bookmark();
        }
        Ok(page)
    }

    /// What one request reads: at most a page of rows, and at most 1 MB of them. An embedded database reads
    /// them as of one moment. There may be no more rows after `next`.
    pub async fn at_once(self) -> Result<Page<T>, Error> {
        let wanted = self.page_size.or(self.limit()?).unwrap_or(PAGE_SIZE);
        let request = self.request(Some(wanted))?;
        RowStream::new(self.handle, self.access, request).at_once().await
    }

    fn limit(&self) -> Result<Option<u32>, Error> {
        Ok(match bind(self.handle, self.access, &self.parameters)? {
            Bound::Query { limit, .. } | Bound::Scan { limit, .. } => limit,
            Bound::Get { .. } => None,
        })
    }

    fn request(&self, page_size: Option<u32>) -> Result<Request, Error> {
        let exclusive_start_key = match &self.after {
            Some(bookmark) => Some(bookmark.key(self.access)?),
            None => None,
        };
        let mut request = bind(self.handle, self.access, &self.parameters)?.into_request();
        match &mut request {
            Request::Query(query) => {
                query.limit = page_size.or(query.limit);
                query.consistent_read = Some(query.consistent_read == Some(true) || self.consistent);
                query.exclusive_start_key = exclusive_start_key;
            }
            Request::Scan(scan) => {
                scan.limit = page_size.or(scan.limit);
                scan.consistent_read = Some(scan.consistent_read == Some(true) || self.consistent);
                scan.exclusive_start_key = exclusive_start_key;
                scan.segment = self.segment.map(|(segment, _)| segment);
                scan.total_segments = self.segment.map(|(_, of)| of);
            }
            _ => {
                return Err(Error::Definition {
                    model: self.handle.definition.name(),
                });
            }
        }
        Ok(request)
    }
}

impl<T: FromRow> AccessRows<'_, T, Scanned> {
    /// Only one of `of` parts of about the same size, counted from 0, so that several workers can share the
    /// reading.
    pub fn segment(mut self, segment: u32, of: u32) -> Self {
        self.segment = Some((segment, of));
        self
    }
}
