//! Tasks that one of several gateways does for all of them: the routes of an endpoint, the sweep of its
//! migrations, and the search for rows that changed without a gateway.
//!
//! A row in the table of gateways names the holder and counts the changes of the holder: the epoch. The duty
//! ends when the gateway's own row (`fleet.rs`) has not been renewed for the lease, or when the gateway
//! leaves. Another gateway can request the duty, and gets it when the holder has finished its current work.
//!
//! *Invariant*: each write of the holder through a [`Fence`] is one transaction with the check that the epoch
//! is unchanged. A gateway that was suspended for a while and resumes cannot write.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use trestle_api::{
    ConditionCheck, DatabaseExt, Error, ErrorKind, GetItem, TransactWriteItem, Update, UpdateItem,
};
use trestle_item::{AttributeValue, Item, Map, Number};

use crate::endpoint::Endpoint;
use crate::fence::Fence;
use crate::fleet::{GATEWAYS, Sightings};
use crate::transactions::refusal;

/// The keys of the rows. No gateway has such an id.
const ROUTES: &str = "/routes";
const PAST_WRITES: &str = "/past-writes";
const SWEEP: &str = "/sweep";
const HOLDER: &str = "holder";
const EPOCH: &str = "epoch";
const WANTED_BY: &str = "wanted_by";
const NOTE: &str = "note";

/// How long after a check the holder may begin something: less than the lease of its own row.
const SEEN_MAX: Duration = Duration::from_secs(4);

/// A task that one of the gateways of an endpoint does for all of them, from the view of one of them.
#[derive(Debug)]
pub struct Duty {
    endpoint: Arc<Endpoint>,
    /// The key of its row.
    name: &'static str,
    sightings: Mutex<Sightings>,
    /// The epoch in which this gateway was last found to be the holder, and when it asked.
    seen: Mutex<Option<(u64, Instant)>>,
}

/// The holder of the duty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DutyHolder {
    /// This gateway, in this epoch.
    This {
        /// How often the holder has changed.
        epoch: u64,
        /// The gateway that requests it.
        wanted_by: Option<String>,
    },
    /// Another one.
    Other,
}

/// The row.
#[derive(Default)]
struct Row {
    holder: Option<String>,
    epoch: u64,
    wanted_by: Option<String>,
}

impl Duty {
    /// The duty to run the routes.
    pub(crate) fn of_routes(endpoint: Arc<Endpoint>) -> Self {
        Self::new(endpoint, ROUTES)
    }

    /// The duty to look for rows that changed without a gateway.
    pub(crate) fn of_past_writes(endpoint: Arc<Endpoint>) -> Self {
        Self::new(endpoint, PAST_WRITES)
    }

    /// The duty to sweep migrations.
    pub(crate) fn of_sweep(endpoint: Arc<Endpoint>) -> Self {
        Self::new(endpoint, SWEEP)
    }

    fn new(endpoint: Arc<Endpoint>, name: &'static str) -> Self {
        Duty {
            endpoint,
            name,
            sightings: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Refuses an endpoint without transactions, where a [`Fence`] is not possible. Checked once.
    pub async fn check_endpoint(&self) -> Result<(), Error> {
        match self.endpoint.has_transactions().await? {
            true => Ok(()),
            false => Err(refusal(
                "a gateway runs no routes there",
                "run them with `trestle routes run FILE --endpoint URL --state DIR`, which keeps its state in a directory",
            )),
        }
    }

    /// Reads who the holder is, and takes the duty if the holder's lease has expired or there is none.
    pub async fn look(&self) -> Result<DutyHolder, Error> {
        let asked = Instant::now();
        let found = self.find(asked).await?;
        *self.seen.lock() = match &found {
            // While others may consider this gateway expired, the result is not reliable.
            DutyHolder::This { epoch, .. } if self.endpoint.member.check().is_ok() => Some((*epoch, asked)),
            _ => None,
        };
        Ok(found)
    }

    async fn find(&self, asked: Instant) -> Result<DutyHolder, Error> {
        // From now on, others notice if this gateway ends.
        if !self.endpoint.member.is_counted() {
            self.endpoint.join().await?;
        }
        let own = &self.endpoint.member.id;
        let row = self.row().await?;
        let is_free = match &row.holder {
            Some(holder) if holder == own => {
                return Ok(DutyHolder::This {
                    epoch: row.epoch,
                    wanted_by: row.wanted_by.filter(|by| by != own),
                });
            }
            Some(holder) => {
                let renewal = self.endpoint.renewal_of(holder).await?;
                // A gateway without a row has left, or was removed because its lease had expired.
                renewal.is_empty() || self.sightings.lock().is_over(holder, &renewal, asked)
            }
            None => true,
        };
        if !is_free {
            return Ok(DutyHolder::Other);
        }
        let taken = self
            .change("SET #h = :new, #e = :next REMOVE #w", row.epoch, Some(own))
            .await?;
        Ok(match taken {
            true => DutyHolder::This {
                epoch: row.epoch + 1,
                wanted_by: None,
            },
            false => DutyHolder::Other,
        })
    }

    /// Requests the duty from the holder, who gives it up when its current work is finished.
    pub async fn ask_for(&self) -> Result<(), Error> {
        let row = self.row().await?;
        let own = &self.endpoint.member.id;
        if row.holder.is_none() || row.holder.as_ref() == Some(own) || row.wanted_by.as_ref() == Some(own) {
            return Ok(());
        }
        self.change("SET #w = :new", row.epoch, Some(own)).await.map(drop)
    }

    /// Gives the duty to the requesting gateway, or to the next one that checks. This gateway does no more
    /// work in this epoch.
    pub async fn give_up(&self, epoch: u64, to: Option<&str>) -> Result<(), Error> {
        let update = match to {
            Some(_) => "SET #h = :new, #e = :next REMOVE #w",
            None => "SET #e = :next REMOVE #h, #w",
        };
        self.change(update, epoch, to).await.map(drop)
    }

    /// Whether this gateway may begin something as the holder of an epoch: it was recently found to be the
    /// holder, and others will not consider it expired for some seconds.
    #[must_use]
    pub fn is_held(&self, epoch: u64) -> bool {
        let is_seen = |(seen, asked): (u64, Instant)| seen == epoch && asked.elapsed() < SEEN_MAX;
        self.seen.lock().is_some_and(is_seen) && self.endpoint.member.check().is_ok()
    }

    /// The endpoint for writes as the holder of an epoch: the table `own` is called `there` at the endpoint.
    #[must_use]
    pub fn fence(&self, epoch: u64, own: &'static str, there: &'static str) -> Fence {
        Fence::new(
            Arc::clone(&self.endpoint.database),
            Some(self.while_held(epoch)),
            vec![(own, there.to_owned())],
        )
    }

    /// A transaction item that succeeds only while this gateway is the holder of an epoch.
    pub(crate) fn while_held(&self, epoch: u64) -> TransactWriteItem {
        TransactWriteItem {
            condition_check: Some(Box::new(ConditionCheck {
                table_name: GATEWAYS.name.to_owned(),
                key: self.key(),
                condition_expression: "#h = :own AND #e = :epoch".to_owned(),
                expression_attribute_names: Some(names(&[("#h", HOLDER), ("#e", EPOCH)])),
                expression_attribute_values: Some(Map::from_iter([
                    (
                        ":own".to_owned(),
                        AttributeValue::S(self.endpoint.member.id.clone()),
                    ),
                    (":epoch".to_owned(), number(epoch)),
                ])),
                ..ConditionCheck::default()
            })),
            ..TransactWriteItem::default()
        }
    }

    fn key(&self) -> Item {
        Item::from([(GATEWAYS.key, self.name)])
    }

    /// The same tables for gateways without the duty, read-only.
    #[must_use]
    pub fn open_side(&self, own: &'static str, there: &'static str) -> Fence {
        Fence::new(
            Arc::clone(&self.endpoint.database),
            None,
            vec![(own, there.to_owned())],
        )
    }

    /// The note of the holder of an epoch, or of an earlier one.
    pub(crate) async fn noted(&self) -> Result<Option<String>, Error> {
        let row = self.stored().await?;
        let note = row.as_ref().and_then(|row| row.get(NOTE)?.as_s());
        Ok(note.map(str::to_owned))
    }

    /// Stores a note for later holders. Returns whether the duty is still held.
    pub(crate) async fn note(&self, epoch: u64, text: &str) -> Result<bool, Error> {
        let update = UpdateItem {
            table_name: GATEWAYS.name.to_owned(),
            key: self.key(),
            update_expression: Some("SET #n = :note".to_owned()),
            condition_expression: Some("#h = :own AND #e = :epoch".to_owned()),
            expression_attribute_names: Some(names(&[("#n", NOTE), ("#h", HOLDER), ("#e", EPOCH)])),
            expression_attribute_values: Some(Map::from_iter([
                (":note".to_owned(), AttributeValue::S(text.to_owned())),
                (
                    ":own".to_owned(),
                    AttributeValue::S(self.endpoint.member.id.clone()),
                ),
                (":epoch".to_owned(), number(epoch)),
            ])),
            ..UpdateItem::default()
        };
        match self.endpoint.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    async fn stored(&self) -> Result<Option<Item>, Error> {
        let asked = GetItem {
            table_name: GATEWAYS.name.to_owned(),
            key: self.key(),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        match self.endpoint.database.get_item(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
            answer => Ok(answer?.item),
        }
    }

    async fn row(&self) -> Result<Row, Error> {
        let Some(row) = self.stored().await? else {
            return Ok(Row::default());
        };
        let text = |name: &str| row.get(name).and_then(AttributeValue::as_s).map(str::to_owned);
        let epoch = row.get(EPOCH).and_then(AttributeValue::as_n);
        let epoch = epoch.and_then(|epoch| epoch.to_string().parse().ok());
        Ok(Row {
            holder: text(HOLDER),
            epoch: epoch.ok_or_else(|| {
                Error::internal(format!(
                    "the row {} of {} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}",
                    self.name, GATEWAYS.name
                ))
            })?,
            wanted_by: text(WANTED_BY),
        })
    }

    /// Changes the row if the epoch is unchanged.
    async fn change(&self, update: &str, epoch: u64, new: Option<&str>) -> Result<bool, Error> {
        let mut values = Map::default();
        let condition = match epoch {
            0 => "attribute_not_exists(#e)",
            _ => {
                values.insert(":seen".to_owned(), number(epoch));
                "#e = :seen"
            }
        };
        if update.contains(":next") {
            values.insert(":next".to_owned(), number(epoch + 1));
        }
        if let Some(new) = new {
            values.insert(":new".to_owned(), AttributeValue::S(new.to_owned()));
        }
        let used = [("#h", HOLDER), ("#e", EPOCH), ("#w", WANTED_BY)];
        let used: Vec<_> = used
            .into_iter()
            .filter(|(name, _)| update.contains(name) || condition.contains(name))
            .collect();
        let update = UpdateItem {
            table_name: GATEWAYS.name.to_owned(),
            key: self.key(),
            update_expression: Some(update.to_owned()),
            condition_expression: Some(condition.to_owned()),
            expression_attribute_names: Some(names(&used)),
            expression_attribute_values: Some(values),
            ..UpdateItem::default()
        };
        match self.endpoint.database.update_item(update).await {
            // A transaction of the holder is under way: the next check tries again.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionConflict
                ) =>
            {
                Ok(false)
            }
            answer => answer.map(|_| true),
        }
    }
}

/// A transaction item that ends the epoch of the gateway that sweeps. The next gateway that checks gets the
/// duty.
pub(crate) fn free_sweep() -> TransactWriteItem {
    TransactWriteItem {
        update: Some(Box::new(Update {
            table_name: GATEWAYS.name.to_owned(),
            key: Item::from([(GATEWAYS.key, SWEEP)]),
            update_expression: "ADD #e :one REMOVE #h, #w".to_owned(),
            expression_attribute_names: Some(names(&[("#e", EPOCH), ("#h", HOLDER), ("#w", WANTED_BY)])),
            expression_attribute_values: Some(Map::from_iter([(":one".to_owned(), number(1))])),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    }
}

pub(crate) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(Number::from(number))
}

pub(crate) fn names(names: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    let owned = |(name, stands_for): &(&str, &str)| ((*name).to_owned(), (*stands_for).to_owned());
    names.iter().map(owned).collect()
}
