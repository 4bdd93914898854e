//! The rows of a moment, for audits: each row is read first, then its image.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Error, Wait};
use trestle_hook::{HostView, Met};
use trestle_item::{Item, size};

use crate::endpoint::Endpoint;
use crate::host::EndpointView;
use crate::moment::{Image, ImageName};

/// How many bytes of rows are read before their images.
const BATCH_BYTES: usize = 8 << 20;

/// The rows of a moment that this gateway holds. The moment ends when this is dropped.
pub(crate) struct MomentView {
    endpoint: Arc<Endpoint>,
    moment: String,
    now: EndpointView,
    /// Images that were read one by one: they never change.
    known: Mutex<HashMap<ImageName, Image>>,
    /// The tables that are being walked.
    walked: Mutex<HashMap<String, WalkedTable>>,
}

/// The progress of the walk over a table.
#[derive(Default)]
struct WalkedTable {
    /// The rows that were passed on, as digests of their keys: 16 bytes for each row during the walk.
    handed_over: HashSet<u128>,
    parts: u32,
}

impl MomentView {
    /// Begins a moment. It blocks.
    pub(crate) fn begin(endpoint: &Arc<Endpoint>) -> Result<Self, Error> {
        Ok(MomentView {
            moment: endpoint.begin_moment()?,
            endpoint: Arc::clone(endpoint),
            now: EndpointView(Arc::clone(endpoint)),
            known: Mutex::default(),
            walked: Mutex::default(),
        })
    }

    /// Converts rows that were read to rows of the moment, by reading their images afterwards.
    fn hand_over(
        &self,
        table: &str,
        rows: Vec<Item>,
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let shape = self.endpoint.shapes.of(&*self.endpoint.database, table).wait()?;
        let mut images = self.endpoint.images(&self.moment, table).wait()?;
        let mut of_moment = Vec::with_capacity(rows.len());
        for row in rows {
            let name = ImageName::of(table, &shape.key_in(&row));
            match images.remove(&name) {
                None => of_moment.push((name.digest, row)),
                Some(Some(image)) => of_moment.push((name.digest, image)),
                // It did not exist in the moment.
                Some(None) => {}
            }
        }
        let digests = of_moment.iter().map(|(digest, _)| *digest);
        self.walked
            .lock()
            .entry(table.to_owned())
            .or_default()
            .handed_over
            .extend(digests);
        of_moment.into_iter().try_for_each(|(_, row)| each(Met::Row(row)))
    }

    /// Passes on rows of the moment that were removed before the walk reached them.
    fn hand_over_removed(
        &self,
        table: &str,
        handed_over: &HashSet<u128>,
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let images = self.endpoint.images(&self.moment, table).wait()?;
        // Checks that images were stored up to now.
        self.endpoint.check_moment(Some(&self.moment)).wait()?;
        for (name, image) in images {
            if let Some(row) = image.filter(|_| !handed_over.contains(&name.digest)) {
                each(Met::Row(row))?;
            }
        }
        Ok(())
    }

    /// Records that a part was walked. Returns the rows that were passed on, if it was the last of `parts`.
    fn end_part(&self, table: &str, parts: u32) -> Option<HashSet<u128>> {
        let mut walked = self.walked.lock();
        let of_table = walked.entry(table.to_owned()).or_default();
        of_table.parts += 1;
        match of_table.parts == parts {
            true => walked.remove(table).map(|walked| walked.handed_over),
            false => None,
        }
    }
}

impl HostView for MomentView {
    fn has_table(&self, table: &str) -> bool {
        self.now.has_table(table)
    }

    fn row_count(&self, table: &str) -> u64 {
        self.now.row_count(table)
    }

    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error> {
        let name = ImageName::of(table, key);
        if let Some(image) = self.known.lock().get(&name) {
            return Ok(image.clone());
        }
        let row = self.now.get(table, key)?;
        match self.endpoint.image(&self.moment, &name).wait()? {
            None => Ok(row),
            Some(image) => {
                self.known.lock().insert(name, image.clone());
                Ok(image)
            }
        }
    }

    fn walk(
        &self,
        table: &str,
        part: (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        self.now.walk(table, part, &mut |met| {
            if let Met::Row(row) = met {
                bytes += size::of_item(&row);
                batch.push(row);
            }
            if bytes < BATCH_BYTES {
                return Ok(());
            }
            bytes = 0;
            self.hand_over(table, std::mem::take(&mut batch), each)
        })?;
        self.hand_over(table, batch, each)?;
        match self.end_part(table, part.1) {
            Some(handed_over) => self.hand_over_removed(table, &handed_over, each),
            None => Ok(()),
        }
    }
}

impl Drop for MomentView {
    fn drop(&mut self) {
        self.endpoint.end_moment(&self.moment);
    }
}
