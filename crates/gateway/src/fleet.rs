//! Coordinates changes of the models in force among several gateways of one endpoint.
//!
//! Each gateway renews its own row and checks the generation of the models in force. To change them, a
//! gateway first announces the change. When the others see that, they stop writing modelled rows and record
//! this in their rows; when all have, the change is stored with its new generation, and the others read it
//! and continue. The row of a gateway that has not renewed it for [`LEASE`] is removed. A gateway that has
//! not checked the endpoint and then renewed its row within [`FRESH`] sends no write of a modelled row, and
//! waits for the response to one no longer than [`ON_ITS_WAY_MAX`]; a gateway whose row was removed joins and
//! checks again. *Invariant*: no such write is executed under an outdated version, unless the process is
//! suspended for the lease exactly between this check and its request.
//!
//! Clocks of different machines are not compared: each gateway measures how long it has seen no renewal of
//! another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use trestle_api::{DatabaseExt, DeleteItem, Error, ErrorKind, GetItem, PutItem, Scan, Wait, pause_after};
use trestle_binding::migration;
use trestle_env::ids;
use trestle_hook::Documents;
use trestle_item::{AttributeValue, Item, Map, Number};

use crate::documents::{self, InForce};
use crate::duty::free_sweep;
use crate::endpoint::Endpoint;
use crate::own_table::OwnTable;

/// The time between two checks of the endpoint.
pub(crate) const LOOK: Duration = Duration::from_millis(250);
/// A gateway without a renewal for this long has expired. Longer than [`FRESH`] and [`ON_ITS_WAY_MAX`]
/// together.
const LEASE: Duration = Duration::from_secs(15);
/// The maximum age of a gateway's check of the endpoint when it sends a write.
const FRESH: Duration = Duration::from_secs(4);
/// How long a write waits for a renewal that is late.
const RENEWAL_MAX: Duration = Duration::from_secs(3);
/// The maximum age of a gateway's check of the endpoint when a read has ended: somewhat less than [`LEASE`].
const READ_FRESH: Duration = Duration::from_secs(14);
/// How long a write of a modelled row may be under way, including repetitions.
pub(crate) const ON_ITS_WAY_MAX: Duration = Duration::from_secs(10);
/// How long a change waits for other changes: longer than the lease of a gateway that has ended.
const TURN_MAX: Duration = Duration::from_secs(20);
/// The maximum time in which a gateway reads another one's change, if the endpoint answers.
const CATCH_UP_MAX: Duration = Duration::from_secs(5);
/// How long the row of an ended gateway is kept.
const KEPT: Duration = Duration::from_secs(86_400);

/// The rows of gateways.
pub(crate) const GATEWAYS: OwnTable = OwnTable {
    name: "_trestle.gateways",
    key: ID,
    range: None,
    ttl: Some("expires"),
};
const ID: &str = "gateway";
const RENEWAL: &str = "renewal";
const STOPPED: &str = "stopped_before";

/// This gateway as one of several.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    /// The time of the check of the endpoint before the last renewal; `None` before the first one.
    looked: Mutex<Option<Instant>>,
    /// Whether there can be other gateways: an endpoint without models has no rows of gateways.
    is_counted: AtomicBool,
}

impl Default for Member {
    fn default() -> Self {
        Member {
            id: ids::uuid(),
            looked: Mutex::new(None),
            is_counted: AtomicBool::new(false),
        }
    }
}

impl Member {
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted.load(Ordering::Acquire)
    }

    /// Whether a read that just ended used the models in force. Others do not consider this gateway expired
    /// before the lease.
    pub(crate) fn check_read(&self) -> Result<(), Error> {
        match *self.looked.lock() {
            Some(looked) if looked.elapsed() >= READ_FRESH => Err(Error::internal(
                "this gateway could not renew its row in _trestle.gateways at the endpoint for some time, and does not know where rows of \
                 models lie: try again",
            )),
            _ => Ok(()),
        }
    }

    /// Whether a write of a modelled row may be sent now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.is_counted() {
            return Ok(());
        }
        match *self.looked.lock() {
            Some(looked) if looked.elapsed() < FRESH => Ok(()),
            _ => Err(Error::internal(
                "this gateway could not renew its row in _trestle.gateways at the endpoint for some seconds, and writes no rows of \
                 models until it can: try again",
            )),
        }
    }
}

/// A row of a gateway.
struct Seen {
    renewal: String,
    stopped_before: Option<u64>,
}

impl Seen {
    fn of(row: &Item) -> Option<(String, Self)> {
        let text = |name: &str| row.get(name).and_then(AttributeValue::as_s);
        let stopped = row.get(STOPPED).and_then(AttributeValue::as_n);
        let seen = Seen {
            renewal: text(RENEWAL)?.to_owned(),
            stopped_before: stopped.and_then(|stopped| stopped.to_string().parse().ok()),
        };
        Some((text(ID)?.to_owned(), seen))
    }
}

/// When the last new renewal of each other gateway was seen.
#[derive(Debug, Default)]
pub(crate) struct Sightings(HashMap<String, (String, Instant)>);

impl Sightings {
    /// Whether a gateway has not renewed its row for the lease. `asked` is when its newest renewal was
    /// requested: the time since then does not count.
    pub(crate) fn is_over(&mut self, gateway: &str, renewal: &str, asked: Instant) -> bool {
        let seen = self.0.entry(gateway.to_owned());
        let (last, since) = seen.or_insert_with(|| (renewal.to_owned(), Instant::now()));
        if *last != renewal {
            (*last, *since) = (renewal.to_owned(), Instant::now());
        }
        asked.saturating_duration_since(*since) >= LEASE
    }
}

impl Endpoint {
    /// Waits until a write of a modelled row may be sent. An overloaded gateway renews its row late; one that
    /// was suspended for longer than its lease renews it only when no write is under way, so that this ends
    /// with an error.
    pub(crate) async fn until_renewed(&self) -> Result<(), Error> {
        let began = Instant::now();
        let mut attempt = 0;
        loop {
            match self.member.check() {
                Err(_) if began.elapsed() < RENEWAL_MAX => pause_after(attempt).await,
                checked => return checked,
            }
            attempt += 1;
        }
    }

    /// If there are models: from now on, changes of the models in force wait for this gateway, and none is in
    /// progress. Models that are read later are at least as new as the returned state.
    pub(crate) fn join_others(&self) -> Result<InForce, Error> {
        let mut sightings = Sightings::default();
        loop {
            let looked = Instant::now();
            let found = InForce::read(&*self.database).wait()?;
            if found.generation == 0 && found.changed_by.is_none() {
                return Ok(found);
            }
            // The state that was read before this gateway's row existed may be outdated. Nothing is written before
            // this returns.
            let stopped_before = found.changed_by.as_ref().map(|_| found.generation + 1);
            if !self.member.is_counted() || !self.renew(stopped_before, looked).wait()? {
                self.join().wait()?;
                continue;
            }
            match &found.changed_by {
                None => return Ok(found),
                Some(by) => {
                    self.end_if_over(&mut sightings, &found, by)?;
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    /// Changes the models in force at all gateways. When `take_effect` runs, no write of a modelled row is
    /// under way.
    pub(crate) fn change_in_force(
        &self,
        documents: Documents,
        moment: Option<&str>,
        take_effect: impl FnOnce(),
    ) -> Result<(), Error> {
        let moves = documents.iter().any(|(name, _)| is_of_migration(name));
        let _one_at_a_time = self.changing.lock();
        let (database, id) = (&*self.database, &self.member.id);
        if !self.member.is_counted() {
            self.join_first(self.known_generation())?;
        }
        let mut sightings = Sightings::default();
        self.await_silent(&mut sightings)?;
        let generation = self.announce(moves)?;
        let changed = self.await_others(generation + 1, &mut sightings).and_then(|()| {
            // When this is held, writes of this gateway under the previous version have ended.
            let _no_write = self.writing.write().wait();
            let _no_read = moves.then(|| {
                let held = self.reading.write().wait();
                self.layouts.fetch_add(1, Ordering::AcqRel);
                held
            });
            let has_documents = !documents.is_empty();
            let has_transactions = self.has_transactions().wait()?;
            self.finish_intents().wait()?;
            let next = documents::Next {
                documents,
                moment,
                // Ends the duty to sweep, so that a gateway that was suspended does not move rows by the previous
                // version.
                also: moves.then(free_sweep).into_iter().collect(),
            };
            documents::change(database, next, id, generation, has_transactions).wait()?;
            if has_documents {
                self.of_documents.store(generation + 1, Ordering::Release);
            }
            self.generation.store(generation + 1, Ordering::Release);
            take_effect();
            Ok(())
        });
        changed.inspect_err(|_| {
            // If this fails, too, the keeper withdraws it later.
            let _ = documents::take_back(database, id).wait();
        })
    }

    /// Waits until the keeper has read changes by other gateways.
    pub(crate) fn catch_up(&self) -> Result<(), Error> {
        let began = Instant::now();
        while self.has_old_models(&InForce::read(&*self.database).wait()?) {
            if began.elapsed() > CATCH_UP_MAX {
                return Err(changed_meanwhile());
            }
            std::thread::sleep(LOOK / 5);
        }
        Ok(())
    }

    /// Announces a change, and waits for changes and moments of other gateways. Returns the current
    /// generation.
    fn announce(&self, moves: bool) -> Result<u64, Error> {
        let began = Instant::now();
        loop {
            let generation = self.known_generation();
            let refused =
                match documents::announce(&*self.database, &self.member.id, generation, moves).wait() {
                    Ok(()) => return Ok(generation),
                    Err(refused) => refused,
                };
            if refused.kind() != ErrorKind::ResourceInUse || began.elapsed() > TURN_MAX {
                return Err(refused);
            }
            // The models in force here cannot be read again while one is being changed.
            if self.has_old_models(&InForce::read(&*self.database).wait()?) {
                return Err(changed_meanwhile());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Writes this gateway's row, so that changes wait for it. It writes no modelled row before its next
    /// check.
    pub(crate) async fn join(&self) -> Result<(), Error> {
        let put = PutItem {
            table_name: GATEWAYS.name.to_owned(),
            item: self.own_row(None),
            ..PutItem::default()
        };
        match self.database.put_item(put.clone()).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => {
                GATEWAYS.create(&*self.database).await?;
                self.database.put_item(put).await?;
            }
            answer => {
                answer?;
            }
        }
        self.member.is_counted.store(true, Ordering::Release);
        Ok(())
    }

    /// Joins before the first change, with the generation known here.
    fn join_first(&self, generation: u64) -> Result<(), Error> {
        self.join().wait()?;
        let looked = Instant::now();
        if InForce::read(&*self.database).wait()?.generation == generation {
            self.renew(None, looked).wait()?;
        }
        Ok(())
    }

    fn own_row(&self, stopped_before: Option<u64>) -> Item {
        let number = |number: u64| AttributeValue::N(Number::from(number));
        let mut row = Item::from([(ID, self.member.id.as_str())]);
        row.insert(RENEWAL, AttributeValue::S(ids::uuid()));
        row.insert("expires", number(self.clock.now().plus(KEPT).as_secs()));
        if let Some(generation) = stopped_before {
            row.insert(STOPPED, number(generation));
        }
        row
    }

    /// Renews this gateway's row. `stopped_before` is the generation for which it has stopped writing;
    /// `looked` is when it checked the models in force. `false` if others have found its lease expired and do
    /// not wait for it any more: then it must join and check again.
    pub(crate) async fn renew(&self, stopped_before: Option<u64>, looked: Instant) -> Result<bool, Error> {
        let put = PutItem {
            table_name: GATEWAYS.name.to_owned(),
            item: self.own_row(stopped_before),
            condition_expression: Some("attribute_exists(#g)".to_owned()),
            expression_attribute_names: Some([("#g".to_owned(), ID.to_owned())].into()),
            ..PutItem::default()
        };
        match self.database.put_item(put).await {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConditionalCheckFailed | ErrorKind::ResourceNotFound
                ) =>
            {
                Ok(false)
            }
            answer => {
                answer?;
                *self.member.looked.lock() = Some(looked);
                Ok(true)
            }
        }
    }

    /// The rows of the other gateways.
    async fn others(&self) -> Result<HashMap<String, Seen>, Error> {
        let mut others = HashMap::new();
        let mut start = None;
        loop {
            let asked = Scan {
                table_name: GATEWAYS.name.to_owned(),
                consistent_read: Some(true),
                exclusive_start_key: start,
                ..Scan::default()
            };
            let page = match self.database.scan(asked).await {
                Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(others),
                page => page?,
            };
            let rows = page.items.iter().flat_map(|rows| rows.iter());
            let seen = rows.filter_map(|row| Seen::of(&row));
            others.extend(seen.filter(|(id, _)| *id != self.member.id));
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(others);
            }
        }
    }

    /// Removes the row of an expired gateway. `false` if it was renewed meanwhile.
    async fn forget(&self, gateway: &str, renewal: &str) -> Result<bool, Error> {
        let delete = DeleteItem {
            table_name: GATEWAYS.name.to_owned(),
            key: Item::from([(ID, gateway)]),
            condition_expression: Some("#r = :seen".to_owned()),
            expression_attribute_names: Some([("#r".to_owned(), RENEWAL.to_owned())].into()),
            expression_attribute_values: Some(Map::from_iter([(
                ":seen".to_owned(),
                AttributeValue::S(renewal.to_owned()),
            )])),
            ..DeleteItem::default()
        };
        match self.database.delete_item(delete).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// This gateway ends: changes do not wait for it any more, and it writes no modelled row.
    pub(crate) fn leave(&self) {
        if !self.member.is_counted() {
            return;
        }
        *self.member.looked.lock() = None;
        let delete = DeleteItem {
            table_name: GATEWAYS.name.to_owned(),
            key: Item::from([(ID, self.member.id.as_str())]),
            ..DeleteItem::default()
        };
        if let Err(error) = self.database.delete_item(delete).wait() {
            tracing::warn!("the next change of models waits for this gateway, which ends: {error}");
        }
    }

    /// The newest renewal of a gateway; empty if it has no row.
    pub(crate) async fn renewal_of(&self, gateway: &str) -> Result<String, Error> {
        let asked = GetItem {
            table_name: GATEWAYS.name.to_owned(),
            key: Item::from([(ID, gateway)]),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let row = match self.database.get_item(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => None,
            answer => answer?.item,
        };
        let seen = row.as_ref().and_then(Seen::of);
        Ok(seen.map(|(_, seen)| seen.renewal).unwrap_or_default())
    }

    /// Whether a gateway has expired. One without a row has: it joins before it writes.
    pub(crate) async fn is_over(&self, gateway: &str) -> Result<bool, Error> {
        if gateway == self.member.id {
            return Ok(false);
        }
        let asked = Instant::now();
        let renewal = self.renewal_of(gateway).await?;
        Ok(renewal.is_empty() || self.sightings.lock().is_over(gateway, &renewal, asked))
    }

    /// Waits until every other gateway has renewed its row or has expired. Active gateways continue to write
    /// meanwhile: so when a change is announced afterwards, they stop only for a moment, and not for the
    /// lease of a gateway that was killed.
    fn await_silent(&self, sightings: &mut Sightings) -> Result<(), Error> {
        let mut first_seen: HashMap<String, String> = HashMap::new();
        self.await_each(sightings, |id, seen| {
            let first = first_seen.entry(id.to_owned());
            *first.or_insert_with(|| seen.renewal.clone()) != seen.renewal
        })
    }

    /// Waits until no other gateway writes modelled rows under the present generation. The change has been announced.
    fn await_others(&self, next: u64, sightings: &mut Sightings) -> Result<(), Error> {
        self.await_each(sightings, |_, seen| seen.stopped_before == Some(next))
    }

    /// Waits until this holds for every other gateway, or it has expired.
    fn await_each(
        &self,
        sightings: &mut Sightings,
        mut is_so: impl FnMut(&str, &Seen) -> bool,
    ) -> Result<(), Error> {
        loop {
            let asked = Instant::now();
            let mut is_waiting = false;
            for (id, seen) in self.others().wait()? {
                if is_so(&id, &seen) {
                    continue;
                }
                // The row of an expired gateway is removed, so that it has to join again, and no change waits
                // for it twice.
                let is_over = sightings.is_over(&id, &seen.renewal, asked);
                is_waiting |= !(is_over && self.forget(&id, &seen.renewal).wait()?);
            }
            if !is_waiting {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends the announcement or the moment of a gateway that has expired: it has changed nothing.
    pub(crate) fn end_if_over(
        &self,
        sightings: &mut Sightings,
        found: &InForce,
        gateway: &str,
    ) -> Result<(), Error> {
        let asked = Instant::now();
        let renewal = self.renewal_of(gateway).wait()?;
        if !sightings.is_over(gateway, &renewal, asked) {
            return Ok(());
        }
        tracing::warn!(
            "a gateway that was changing models or adding up rows has ended: what it began is taken back"
        );
        if found.changed_by.as_deref() == Some(gateway) {
            documents::take_back(&*self.database, gateway).wait()?;
        }
        match &found.moment {
            Some(moment) if moment.of == gateway => documents::end_moment(&*self.database, &moment.id).wait(),
            _ => Ok(()),
        }
    }

    /// Withdraws announcements and moments of this gateway that failed and could not be withdrawn then.
    pub(crate) fn clear_up(&self, found: &InForce) -> Result<(), Error> {
        if found.changed_by.as_ref() == Some(&self.member.id)
            && let Some(_unchanged) = self.changing.try_lock()
        {
            documents::take_back(&*self.database, &self.member.id).wait()?;
        }
        match &found.moment {
            Some(moment)
                if moment.of == self.member.id && self.moment.lock().own() != Some(moment.id.as_str()) =>
            {
                documents::end_moment(&*self.database, &moment.id).wait()
            }
            _ => Ok(()),
        }
    }
}

/// Whether a document determines the places of rows.
pub(crate) fn is_of_migration(name: &str) -> bool {
    name.starts_with(&migration::Document::name(""))
}

fn changed_meanwhile() -> Error {
    Error::resource_in_use("another gateway has just changed the models at this endpoint: try again")
}
