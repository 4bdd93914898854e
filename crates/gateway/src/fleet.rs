//! Several gateways before one endpoint change what is in force together.
//!
//! Each gateway renews a row of its own and looks at the generation of what is in force. To change it, a gateway first announces
//! the change. The others stop writing modelled rows when they see that, and say so in their rows; when all have, or have not
//! renewed their row for [`LEASE`], the change is stored and its generation with it; the others read it and go on. A gateway whose
//! own row is not fresh sends no write of a modelled row. *Invariant*: no such write is carried out under a version that is over.
//!
//! Clocks of different machines are not compared: each measures how long it has seen nothing new of another.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::OwnedRwLockWriteGuard;
use trestle_api::{DatabaseExt, Error, ErrorKind, PutItem, Scan, Wait};
use trestle_binding::BindError;
use trestle_env::ids;
use trestle_item::{AttributeValue, Item, Number};
use trestle_models::Models;

use crate::documents::{self, InForce};
use crate::endpoint::Endpoint;
use crate::own_table::OwnTable;

/// Between two looks at the endpoint.
const LOOK: Duration = Duration::from_millis(250);
/// A gateway that has renewed nothing for so long is over. Longer than a write may be on its way after its row was fresh.
const LEASE: Duration = Duration::from_secs(15);
/// How old a gateway's own row may be when it sends a write: with the time-out of requests, less than [`LEASE`].
const FRESH: Duration = Duration::from_secs(4);
/// How long the row of a gateway that ended is kept.
const KEPT: Duration = Duration::from_secs(86_400);

/// The rows of gateways.
const GATEWAYS: OwnTable = OwnTable {
    name: "_trestle.gateways",
    key: ID,
    ttl: Some("expires"),
};
const ID: &str = "gateway";
const RENEWAL: &str = "renewal";
const STOPPED: &str = "stopped_before";

/// This gateway among the others.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    /// When the row was renewed last, as of the moment before it was sent; `None` before the first time.
    renewed: Mutex<Option<Instant>>,
    /// Whether there can be others at all: an endpoint without models has no rows of gateways.
    pub(crate) is_counted: AtomicBool,
}

impl Default for Member {
    fn default() -> Self {
        Member {
            id: ids::uuid(),
            renewed: Mutex::new(None),
            is_counted: AtomicBool::new(false),
        }
    }
}

impl Member {
    /// Whether a write of a modelled row may be sent now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.is_counted.load(Ordering::Acquire) {
            return Ok(());
        }
        match *self.renewed.lock() {
            Some(renewed) if renewed.elapsed() < FRESH => Ok(()),
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

impl Endpoint {
    /// From now on, those who change what is in force wait for this gateway.
    pub(crate) async fn join(&self) -> Result<(), Error> {
        self.renew(None).await?;
        self.member.is_counted.store(true, Ordering::Release);
        Ok(())
    }

    /// Renews this gateway's row. `stopped_before` is the generation for which it has stopped writing.
    async fn renew(&self, stopped_before: Option<u64>) -> Result<(), Error> {
        let started = Instant::now();
        let number = |number: u64| AttributeValue::N(Number::from(number));
        let mut item = Item::from([(ID, self.member.id.as_str())]);
        item.insert(RENEWAL, AttributeValue::S(ids::uuid()));
        item.insert("expires", number(self.clock.now().plus(KEPT).as_secs()));
        if let Some(generation) = stopped_before {
            item.insert(STOPPED, number(generation));
        }
        let put = PutItem {
            table_name: GATEWAYS.name.to_owned(),
            item,
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
        *self.member.renewed.lock() = Some(started);
        Ok(())
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
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                let text = |name: &str| row.get(name).and_then(AttributeValue::as_s);
                let (Some(id), Some(renewal)) = (text(ID), text(RENEWAL)) else {
                    continue;
                };
                let stopped = row.get(STOPPED).and_then(AttributeValue::as_n);
                if id != self.member.id {
                    let seen = Seen {
                        renewal: renewal.to_owned(),
                        stopped_before: stopped.and_then(|stopped| stopped.to_string().parse().ok()),
                    };
                    others.insert(id.to_owned(), seen);
                }
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(others);
            }
        }
    }

    /// Waits until no other gateway writes modelled rows under the present generation. The change has been announced.
    pub(crate) fn await_others(&self, next: u64) -> Result<(), Error> {
        let mut last_new: HashMap<String, (String, Instant)> = HashMap::new();
        loop {
            let mut is_waiting = false;
            for (id, seen) in self.others().wait()? {
                if seen.stopped_before == Some(next) {
                    continue;
                }
                let (renewal, since) = last_new
                    .entry(id)
                    .or_insert_with(|| (seen.renewal.clone(), Instant::now()));
                if *renewal != seen.renewal {
                    (*renewal, *since) = (seen.renewal, Instant::now());
                }
                is_waiting |= since.elapsed() < LEASE;
            }
            if !is_waiting {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// A thread that keeps this gateway in step with the others. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start(endpoint: Arc<Endpoint>, models: Arc<Models>) -> std::io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&stop);
        let mut keeping = Keeping {
            endpoint,
            models,
            stopped: None,
            announced: None,
        };
        let thread = std::thread::Builder::new()
            .name("trestle-fleet".into())
            .spawn(move || {
                let (is_over, bell) = &*told;
                let mut is_over = is_over.lock();
                while !*is_over {
                    // Others may ask for the end meanwhile.
                    parking_lot::MutexGuard::unlocked(&mut is_over, || keeping.look());
                    if !*is_over {
                        bell.wait_for(&mut is_over, LOOK);
                    }
                }
            })?;
        Ok(Keeper {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Keeping {
    endpoint: Arc<Endpoint>,
    models: Arc<Models>,
    /// Held while another gateway changes what is in force, with the generation to come: no modelled row is written.
    stopped: Option<(u64, OwnedRwLockWriteGuard<()>)>,
    /// A change that another gateway announced, and since when nothing new was seen of it.
    announced: Option<(String, String, Instant)>,
}

impl Keeping {
    /// One look at the endpoint.
    fn look(&mut self) {
        if let Err(error) = self.try_look() {
            tracing::warn!("the gateway's row at the endpoint: {error}");
        }
    }

    fn try_look(&mut self) -> Result<(), BindError> {
        let found = InForce::read(&*self.endpoint.database).wait()?;
        if found.generation == 0 && found.changed_by.is_none() {
            // No model is in force: there is nothing to agree on.
            return Ok(());
        }
        let by_other = found.changed_by.filter(|by| *by != self.endpoint.member.id);
        if by_other.is_some() && self.stopped.is_none() {
            self.stop(found.generation + 1);
        }
        let stopped_before = self.stopped.as_ref().map(|(generation, _)| *generation);
        self.endpoint.renew(stopped_before).wait()?;
        self.endpoint.member.is_counted.store(true, Ordering::Release);
        if found.generation != self.endpoint.generation.load(Ordering::Acquire) {
            self.stop(found.generation);
            // A change by this gateway is known when its writes have ended.
            if found.generation != self.endpoint.generation.load(Ordering::Acquire) {
                self.models.reload()?;
                tracing::info!("another gateway has changed the models: what is in force was read again");
            }
        }
        match by_other {
            Some(by) => self.watch(by)?,
            None => {
                self.stopped = None;
                self.announced = None;
            }
        }
        Ok(())
    }

    /// Lets the writes under way end, and begins none.
    fn stop(&mut self, generation: u64) {
        if self.stopped.is_none() {
            let writing = Arc::clone(&self.endpoint.writing);
            self.stopped = Some((generation, writing.write_owned().wait()));
        }
    }

    /// A gateway that announced a change and ended has changed nothing: its announcement is taken back.
    fn watch(&mut self, by: String) -> Result<(), Error> {
        let seen = self.endpoint.others().wait()?.remove(&by);
        let renewal = seen.map(|seen| seen.renewal).unwrap_or_default();
        let now = Instant::now();
        match &mut self.announced {
            Some((known, last, since)) if *known == by && *last == renewal => {
                if since.elapsed() >= LEASE {
                    tracing::warn!("a gateway announced a change of models and ended: it is taken back");
                    documents::take_back(&*self.endpoint.database, &by).wait()?;
                }
            }
            announced => *announced = Some((by, renewal, now)),
        }
        Ok(())
    }
}
