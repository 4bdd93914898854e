//! The choice of a lane for a change: one of a fixed number that share the items, or that of its destination.
//! Lanes of destinations are opened with their first change and closed after their last.

mod crowding;
mod inbox;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::task::JoinSet;
use trestle_env::Timestamp;
use trestle_item::key;
use trestle_pattern::Template;

use crate::lane;
use crate::live::{Handed, Live};
use crate::matcher::Typed;
use crate::parked::KeyName;
use crate::route::{Concurrency, Route};
use crate::target::Door;

pub(crate) use inbox::{Inbox, NothingThere};

/// Identifies a destination by a hash of eight bytes. If two destinations have the same hash, they only wait
/// for each other unnecessarily.
pub(crate) type LaneName = u64;

/// By which changes are distinguished: the item, or the result of a template.
#[derive(Debug)]
pub(crate) struct Destinations(Option<Template>);

impl Destinations {
    /// The destinations of a route, if it distinguishes them, or the error in its template.
    pub(crate) fn of(route: &Route) -> Result<Option<Self>, String> {
        let Some(Concurrency { per, .. }) = &route.concurrency else {
            return Ok(None);
        };
        let per = per.as_deref().map(text_template).transpose();
        let per = per.map_err(|error| format!("`per` of the concurrency cannot be used: {error}"))?;
        Ok(Some(Self(per)))
    }

    /// The destination of a change.
    pub(crate) fn name(&self, typed: &Typed, item: KeyName) -> LaneName {
        match &self.0 {
            None => item,
            Some(per) => key::hash(per.fill(typed.json()).to_string().as_bytes()),
        }
    }
}

/// Parses a text with placeholders, which need not be JSON.
fn text_template(text: &str) -> Result<Template, String> {
    let quoted = serde_json::Value::from(text).to_string();
    Template::parse(&quoted).map_err(|error| error.to_string())
}

/// Newly opened lanes, which must be run.
pub(crate) type OpenedLanes = mpsc::UnboundedReceiver<(LaneName, Inbox)>;

/// The lanes of a route.
pub(crate) enum Lanes {
    /// Each lane has its share of the items.
    Shares(Vec<Inbox>),
    /// One lane for each destination with changes under way.
    Destinations(DestinationLanes),
}

pub(crate) struct DestinationLanes {
    destinations: Destinations,
    /// The most deliveries under way.
    most: usize,
    free: Semaphore,
    open: Mutex<Open>,
    opened: mpsc::UnboundedSender<(LaneName, Inbox)>,
}

#[derive(Default)]
struct Open {
    lanes: HashMap<LaneName, OpenLane>,
    /// The lane in which each item has changes under way, and their number: later ones follow in the same
    /// lane.
    items: HashMap<KeyName, (LaneName, usize)>,
}

struct OpenLane {
    inbox: Inbox,
    /// Changes that were handed to it and are not done.
    on_the_way: usize,
    /// When the current delivery began.
    since: Option<Timestamp>,
    /// Changes were taken out of it that are not parked yet.
    is_leaving: bool,
}

impl Lanes {
    /// The lanes of a route, and the channel of newly opened lanes.
    pub(crate) fn new(route: &Route, door: &Door) -> Result<(Self, OpenedLanes), String> {
        let (opened, inboxes) = mpsc::unbounded_channel();
        if let Some((destinations, concurrency)) = Destinations::of(route)?.zip(route.concurrency.as_ref()) {
            let most = concurrency.most.max(1);
            let lanes = Self::Destinations(DestinationLanes {
                destinations,
                most,
                free: Semaphore::new(most),
                open: Mutex::default(),
                opened,
            });
            return Ok((lanes, inboxes));
        }
        // If delivery and checkpoint share a transaction, both must be in one lane.
        let count = match door {
            Door::Target(_) => route.parallelization_factor.max(1),
            Door::Enlist(_) => 1,
        };
        let shares: Vec<Inbox> = (0..count).map(|_| Inbox::default()).collect();
        for (name, inbox) in (0..).zip(&shares) {
            // The caller holds the receiver.
            let _ = opened.send((name, inbox.clone()));
        }
        Ok((Self::Shares(shares), inboxes))
    }

    /// How many batches may be under way at once.
    pub(crate) fn most(&self) -> usize {
        match self {
            Self::Shares(shares) => shares.len(),
            Self::Destinations(lanes) => lanes.most,
        }
    }

    /// The lanes of destinations, if the route distinguishes them.
    pub(crate) fn destinations(&self) -> Option<&DestinationLanes> {
        match self {
            Self::Shares(_) => None,
            Self::Destinations(lanes) => Some(lanes),
        }
    }

    /// The destination of a change, if the route distinguishes them.
    pub(crate) fn destination(&self, typed: &Typed, item: KeyName) -> Option<LaneName> {
        Some(self.destinations()?.destinations.name(typed, item))
    }

    /// Whether each item is a destination of its own.
    pub(crate) fn are_items(&self) -> bool {
        self.destinations()
            .is_some_and(|lanes| lanes.destinations.0.is_none())
    }

    /// The lane of a change: that of its item, or of its destination.
    pub(crate) fn name(&self, typed: &Typed, item: KeyName) -> LaneName {
        match self {
            Self::Shares(shares) => share(item, shares.len()),
            Self::Destinations(lanes) => lanes.destinations.name(typed, item),
        }
    }

    /// Hands a change to its lane.
    pub(crate) fn hand(&self, handed: Handed) {
        match self {
            Self::Shares(shares) => {
                let lane = share(handed.key, shares.len()) as usize;
                if let Some(inbox) = shares.get(lane) {
                    inbox.push(handed);
                }
            }
            Self::Destinations(lanes) => lanes.hand(handed),
        }
    }
}

/// The lane of an item among lanes that share the items.
fn share(item: KeyName, lanes: usize) -> LaneName {
    item % lanes as u64
}

impl DestinationLanes {
    fn hand(&self, mut handed: Handed) {
        let Some(destination) = handed.destination else {
            debug_assert!(false, "a change has a destination where they are told apart");
            // The checkpoint does not pass it, so it is read again at the next start.
            tracing::error!(change = %handed.change().event_id, "a change without a destination was not handed to a lane");
            return;
        };
        let mut open = self.open.lock();
        let (lane, on_the_way) = open.items.entry(handed.key).or_insert((destination, 0));
        *on_the_way += 1;
        let name = *lane;
        handed.lane = Some(name);
        let lane = open.lanes.entry(name).or_insert_with(|| {
            let inbox = Inbox::default();
            // Without a receiver the route is being stopped, and the checkpoint does not pass the change.
            let _ = self.opened.send((name, inbox.clone()));
            OpenLane {
                inbox,
                on_the_way: 0,
                since: None,
                is_leaving: false,
            }
        });
        lane.on_the_way += 1;
        lane.inbox.push(handed);
    }

    /// Marks changes as done. A lane without other changes is closed.
    pub(crate) fn done<'h>(&self, changes: impl Iterator<Item = &'h Handed>) {
        let mut open = self.open.lock();
        for handed in changes {
            open.done(handed);
        }
    }

    /// Waits until a delivery of a lane may begin because fewer than the maximum are under way.
    pub(crate) async fn begin(&self, lane: LaneName, now: impl Fn() -> Timestamp) -> Underway<'_> {
        // The semaphore is never closed.
        let permit = self.free.acquire().await.ok();
        self.set_since(lane, Some(now()));
        Underway {
            lanes: self,
            lane,
            _permit: permit,
        }
    }

    fn set_since(&self, lane: LaneName, since: Option<Timestamp>) {
        let mut open = self.open.lock();
        if let Some(lane) = open.lanes.get_mut(&lane) {
            lane.since = since;
        }
    }
}

impl Open {
    fn done(&mut self, handed: &Handed) {
        if let Some((_, count)) = self.items.get_mut(&handed.key) {
            *count -= 1;
            if *count == 0 {
                self.items.remove(&handed.key);
            }
        }
        let Some(name) = handed.lane else { return };
        if let Some(lane) = self.lanes.get_mut(&name) {
            lane.on_the_way -= 1;
            if lane.on_the_way == 0 {
                lane.inbox.close();
                self.lanes.remove(&name);
            }
        }
    }
}

/// A delivery that is under way until this is dropped.
pub(crate) struct Underway<'l> {
    lanes: &'l DestinationLanes,
    lane: LaneName,
    _permit: Option<SemaphorePermit<'l>>,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.lanes.set_since(self.lane, None);
    }
}

/// Runs the lanes of a route as they are opened, until the route is stopped.
pub(crate) async fn run(live: Arc<Live>, mut opened: OpenedLanes) {
    let mut lanes = JoinSet::new();
    if live.lanes.destinations().is_some() {
        lanes.spawn(crowding::run(Arc::clone(&live)));
    }
    loop {
        tokio::select! {
            Some((name, inbox)) = opened.recv() => {
                lanes.spawn(lane::run(Arc::clone(&live), name, inbox));
            }
            Some(ended) = lanes.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(route = %live.name, %error, "a lane was lost; its changes wait for the next start");
                }
            }
            () = live.stopped() => break,
        }
    }
    // Each ends with its current delivery.
    while lanes.join_next().await.is_some() {}
}
