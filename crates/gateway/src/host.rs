//! The endpoint as a place where models are in force.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trestle_api::{Database, DatabaseExt, Error, ErrorKind, GetItem, Request, ResponseFuture, Scan, Wait};
use trestle_env::Clock;
use trestle_hook::{AmendWork, Documents, Hook, Host, HostView, Lying, Met, MovedPage, Remaining, Started};
use trestle_item::{Item, codec, size};

use crate::documents;
use crate::endpoint::Endpoint;
use crate::moment_view::MomentView;

/// The host that drives an endpoint's models.
#[derive(Clone, Debug)]
pub(crate) struct EndpointHost(pub(crate) Arc<Endpoint>);

impl Database for EndpointHost {
    /// Work of the models speaks to the endpoint as it is.
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        self.0.database.execute(request)
    }
}

impl Host for EndpointHost {
    fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let documents = documents::read(&*self.0.database).wait()?;
        Ok(documents.into_iter().collect())
    }

    fn catch_up(&self) -> Result<(), Error> {
        self.0.catch_up()
    }

    fn install(&self, documents: Documents, hook: Option<Arc<dyn Hook>>) -> Result<(), Error> {
        let endpoint = &self.0;
        if documents.is_empty() {
            endpoint.set_hook(hook);
            return Ok(());
        }
        endpoint.change_in_force(documents, None, || endpoint.set_hook(hook))
    }

    fn store_documents(&self, documents: Documents) -> Result<(), Error> {
        documents::store(&*self.0.database, documents).wait()
    }

    fn view(&self) -> Box<dyn HostView> {
        Box::new(EndpointView(Arc::clone(&self.0)))
    }

    fn moment(&self) -> Result<Box<dyn HostView>, Error> {
        Ok(Box::new(MomentView::begin(&self.0)?))
    }

    fn start_amendment(&self, work: AmendWork) -> Started {
        let endpoint = Arc::clone(&self.0);
        Started::new(move || endpoint.amend(work).wait())
    }

    fn lying(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error> {
        self.0.page(table, from, at_most).wait()
    }

    /// A position at the endpoint does not say how far it is.
    fn walked(&self, _place: &[u8]) -> f64 {
        0.0
    }

    fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error> {
        let shape = self.0.shapes.of(&*self.0.database, table).wait()?;
        if let Some(missing) = shape.key.iter().find(|name| !row.contains_key(name)) {
            return Err(Error::invalid_parameter(format_args!(
                "Missing the key {missing} in the item"
            )));
        }
        trestle_writes::check_limits(row, size::of_item(row))
    }

    fn moves_rows(&self) -> bool {
        false
    }

    fn move_rows(&self, _: &str, _: Option<&[u8]>, _: usize) -> Result<MovedPage, Error> {
        Err(Error::defect("rows were to move at an endpoint"))
    }

    fn rows_to_move(&self, _: &str, _: Option<&[u8]>, _: usize) -> Result<Remaining, Error> {
        Err(Error::defect("rows were to move at an endpoint"))
    }

    fn writes_handed_in(&self) -> u64 {
        self.0.writes.load(Ordering::Relaxed)
    }
}

impl Endpoint {
    /// A page of rows as they lie. A place to go on at is the stored form of the last key.
    async fn page(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error> {
        let start = match from {
            Some(bytes) => Some(codec::decode(bytes).map_err(|error| Error::internal(error.to_string()))?),
            None => None,
        };
        let asked = Scan {
            table_name: table.to_owned(),
            exclusive_start_key: start,
            limit: Some(u32::try_from(at_most.max(1)).unwrap_or(u32::MAX)),
            consistent_read: Some(true),
            ..Scan::default()
        };
        let page = self.database.scan(asked).await?;
        Ok(Lying {
            rows: page.items.map(|rows| rows.to_vec()).unwrap_or_default(),
            next: page.last_evaluated_key.map(|key| codec::encode(&key)),
        })
    }
}

/// The rows of the endpoint, each as it is when it is read.
#[derive(Debug)]
pub(crate) struct EndpointView(pub(crate) Arc<Endpoint>);

impl HostView for EndpointView {
    fn has_table(&self, table: &str) -> bool {
        self.0.shapes.of(&*self.0.database, table).wait().is_ok()
    }

    fn row_count(&self, table: &str) -> u64 {
        let shape = self.0.shapes.of(&*self.0.database, table).wait();
        shape.map_or(0, |shape| shape.rows)
    }

    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error> {
        let asked = GetItem {
            table_name: table.to_owned(),
            key: key.clone(),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        match self.0.database.get_item(asked).wait() {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
            answer => Ok(answer?.item),
        }
    }

    fn walk(
        &self,
        table: &str,
        (part, parts): (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = None;
        loop {
            let asked = Scan {
                table_name: table.to_owned(),
                exclusive_start_key: start,
                segment: Some(part),
                total_segments: Some(parts),
                consistent_read: Some(true),
                ..Scan::default()
            };
            let page = self.0.database.scan(asked).wait()?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                each(Met::Row(row))?;
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }
}
