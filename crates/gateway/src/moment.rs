//! A consistent view of all rows at an endpoint without snapshots: before a row is changed for the first time
//! during a moment, its present state is stored.
//!
//! A gateway that computes something from all rows holds a moment. It begins like a change of the models in force
//! (`fleet.rs`): all gateways stop writing, and have read that the moment is held before they continue. Then,
//! before a gateway changes a row, it puts the row as it was read into `_trestle.images`, unless an image of
//! the row exists. *Invariants*: if a row has an image, the image is its state in the moment; if it has none,
//! it has not changed since. An image never changes, and is kept for some days. So a row of the moment is
//! determined by reading first the row and then its image (`moment_view.rs`).
//!
//! Only one moment is held at an endpoint. If its gateway ends, the others end the moment after the lease.
//! Writes of a gateway that are based on a moment are refused when it is not held any more
//! ([`while_held`](documents::while_held)).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use parking_lot::Mutex;
use trestle_api::{DatabaseExt, Error, ErrorKind, GetItem, PutItem, Query, Wait, pause_after};
use trestle_env::ids;
use trestle_hook::{Documents, Hook};
use trestle_item::{AttributeValue, Item, Map, Number, codec};

use crate::documents;
use crate::endpoint::Endpoint;
use crate::own_table::OwnTable;
use crate::part::Part;
use crate::table_shape::RowId;

/// Earlier states of rows.
const IMAGES: OwnTable = OwnTable {
    name: "_trestle.images",
    key: PARTITION,
    range: Some(ROW),
    ttl: Some(EXPIRES),
};
const PARTITION: &str = "moment";
const ROW: &str = "row";
const IMAGE: &str = "image";
const EXPIRES: &str = "expires";

/// The images of a moment are spread over this many partitions, because one takes a thousand writes a second.
const PARTITIONS: u128 = 16;
/// How long images are kept: longer than an audit takes.
const STAY: Duration = Duration::from_secs(7 * 86_400);
/// How often an image is put again if the response is lost. Repeating the put does no harm.
const TRIES_MAX: usize = 5;

/// The row of the moment: `None` if there was none.
pub(crate) type Image = Option<Item>;

/// Identifies the image of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ImageName {
    pub(crate) table: String,
    /// See [`RowId::digest`].
    pub(crate) digest: u128,
}

impl ImageName {
    pub(crate) fn of(table: &str, row_key: &Item) -> Self {
        ImageName {
            table: table.to_owned(),
            digest: RowId::new(table, row_key).digest(),
        }
    }

    fn key(&self, moment: &str) -> Item {
        let partition = partition(moment, self.digest % PARTITIONS);
        let row = format!("{}/{:032x}", self.table, self.digest);
        Item::from([(PARTITION, partition.as_str()), (ROW, row.as_str())])
    }
}

fn partition(moment: &str, number: u128) -> String {
    format!("{moment}/{number:02}")
}

/// The moment that is held, as this gateway has read it.
#[derive(Debug, Default)]
pub(crate) struct HeldMoment {
    /// Held by this gateway or another: the state of rows is stored before they change.
    on: Option<Arc<Keeping>>,
    /// The moment that this gateway holds or begins.
    own: Option<String>,
}

/// The known images of a moment.
#[derive(Debug)]
struct Keeping {
    moment: String,
    /// Rows that have an image.
    kept: Mutex<HashSet<ImageName>>,
}

impl HeldMoment {
    /// Sets the moment for which images are stored, or none.
    pub(crate) fn set(&mut self, moment: Option<&str>) {
        if self.on.as_ref().map(|on| on.moment.as_str()) == moment {
            return;
        }
        self.on = moment.map(|moment| {
            Arc::new(Keeping {
                moment: moment.to_owned(),
                kept: Mutex::default(),
            })
        });
    }

    /// The moment that this gateway holds.
    pub(crate) fn own(&self) -> Option<&str> {
        self.own.as_deref()
    }
}

impl Endpoint {
    /// Begins a moment. Waits while another gateway holds one.
    pub(crate) fn begin_moment(&self) -> Result<String, Error> {
        self.begin_moment_with(|_| (Documents::new(), None))
    }

    /// Begins a moment, stores documents, and puts a hook into effect if one is given.
    pub(crate) fn begin_moment_with(
        &self,
        with: impl FnOnce(&str) -> (Documents, Option<Arc<dyn Hook>>),
    ) -> Result<String, Error> {
        IMAGES.ensure(&*self.database).wait()?;
        let moment = ids::uuid();
        let (documents, hook) = with(&moment);
        // Known here before it is stored: a stored moment that is unknown here is ended.
        self.moment.lock().own = Some(moment.clone());
        let begun = self.change_in_force(documents, Some(&moment), || {
            self.moment.lock().set(Some(&moment));
            if hook.is_some() {
                self.set_hook(hook);
            }
        });
        begun.inspect_err(|_| self.end_moment(&moment)).map(|()| moment)
    }

    /// Ends a moment of this gateway. If the endpoint cannot be reached, the keeper ends it later.
    pub(crate) fn end_moment(&self, moment: &str) {
        let mut held = self.moment.lock();
        if held.own() == Some(moment) {
            held.own = None;
        }
        if held.on.as_ref().is_some_and(|on| on.moment == moment) {
            held.on = None;
        }
        drop(held);
        if let Err(error) = documents::end_moment(&*self.database, moment).wait() {
            tracing::warn!("rows are kept as they were for some time longer: {error}");
        }
    }

    /// Stores the images of rows, as they were read, that are about to change.
    pub(crate) async fn keep_images(&self, parts: &[Part]) -> Result<(), Error> {
        let on = self.moment.lock().on.clone();
        let Some(keeping) = on else { return Ok(()) };
        let changed = parts.iter().filter(|part| part.writes());
        let named = changed.map(|part| (ImageName::of(&part.table, &part.key), part));
        let mut unkept: Vec<_> = named.collect();
        unkept.retain(|(name, _)| !keeping.kept.lock().contains(name));
        let puts = unkept.iter().map(|(name, part)| {
            let image = part.old.as_deref();
            self.keep_image(&keeping.moment, name, image)
        });
        try_join_all(puts).await?;
        keeping
            .kept
            .lock()
            .extend(unkept.into_iter().map(|(name, _)| name));
        Ok(())
    }

    /// Puts the image unless there is one: before the first put, no gateway had changed the row.
    async fn keep_image(&self, moment: &str, name: &ImageName, row: Option<&Item>) -> Result<(), Error> {
        let mut item = name.key(moment);
        let expires = self.clock.now().plus(STAY).as_secs();
        item.insert(EXPIRES, AttributeValue::N(Number::from(expires)));
        if let Some(row) = row {
            item.insert(IMAGE, AttributeValue::B(codec::encode(row)));
        }
        let put = PutItem {
            table_name: IMAGES.name.to_owned(),
            item,
            condition_expression: Some("attribute_not_exists(#r)".to_owned()),
            expression_attribute_names: Some([("#r".to_owned(), ROW.to_owned())].into()),
            ..PutItem::default()
        };
        let mut tries = 0;
        loop {
            match self.database.put_item(put.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Validation => {
                    return Err(Error::validation(format!(
                        "A row of {} cannot be changed while rows are added up, because it cannot be kept as it is: {error}. Try \
                         again when `trestle model repair` or `trestle model apply --fill` has ended",
                        name.table
                    )));
                }
                Err(error) if tries + 1 == TRIES_MAX => return Err(error),
                Err(_) => pause_after(tries).await,
            }
            tries += 1;
        }
    }

    /// The image of a row, if it has one. Read it after the row.
    pub(crate) async fn image(&self, moment: &str, name: &ImageName) -> Result<Option<Image>, Error> {
        let asked = GetItem {
            table_name: IMAGES.name.to_owned(),
            key: name.key(moment),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let found = self.database.get_item(asked).await?.item;
        found.map(|found| image_in(&found)).transpose()
    }

    /// The images of the rows of a table.
    pub(crate) async fn images(&self, moment: &str, table: &str) -> Result<HashMap<ImageName, Image>, Error> {
        let partitions = (0..PARTITIONS).map(|number| self.images_in(partition(moment, number), table));
        let found = try_join_all(partitions).await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn images_in(&self, partition: String, table: &str) -> Result<Vec<(ImageName, Image)>, Error> {
        let of_table = format!("{table}/");
        let values = [(":p", partition), (":t", of_table.clone())];
        let values: Map = values
            .into_iter()
            .map(|(name, text)| (name.to_owned(), AttributeValue::S(text)))
            .collect();
        let names = [("#p", PARTITION), ("#r", ROW)].map(|(short, name)| (short.to_owned(), name.to_owned()));
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let asked = Query {
                table_name: IMAGES.name.to_owned(),
                key_condition_expression: Some("#p = :p AND begins_with(#r, :t)".to_owned()),
                expression_attribute_names: Some(names.clone().into()),
                expression_attribute_values: Some(values.clone()),
                consistent_read: Some(true),
                exclusive_start_key: start,
                ..Query::default()
            };
            let page = self.database.query(asked).await?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                let digest = row.get(ROW).and_then(AttributeValue::as_s);
                let digest = digest.and_then(|name| name.strip_prefix(&of_table));
                let digest = digest.and_then(|digest| u128::from_str_radix(digest, 16).ok());
                let name = ImageName {
                    table: table.to_owned(),
                    digest: digest.ok_or_else(|| unreadable(&row))?,
                };
                found.push((name, image_in(&row)?));
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }
}

fn image_in(row: &Item) -> Result<Image, Error> {
    match row.get(IMAGE) {
        None => Ok(None),
        Some(image) => {
            let bytes = image.as_b().ok_or_else(|| unreadable(row))?;
            codec::decode(bytes).map(Some).map_err(|_| unreadable(row))
        }
    }
}

fn unreadable(row: &Item) -> Error {
    Error::internal(format!(
        "a row of {} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}",
        IMAGES.name
    ))
}
