//! Where changes go.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use trestle_api::TransactWriteItem;
use trestle_pattern::Template;

use crate::matcher::Typed;
use crate::{Change, Route};

/// A delivery on its way.
pub type Deliver<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Something that takes batches of changes.
///
/// The same change may come more than once: after a crash, after a timeout, after a replay. Its [`Delivery::id`] is
/// the same each time, so that a target can tell.
pub trait Target: Send + Sync {
    /// Delivers a batch, in order.
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a>;
}

/// Changes that are delivered together, oldest first.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The route they came by.
    pub route: Arc<str>,
    /// The changes.
    pub deliveries: Vec<Delivery>,
}

/// One change on its way to a target.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The idempotency key: the route and the change's own id. It is the same each time the change is delivered.
    pub id: String,
    /// The change.
    pub change: Arc<Change>,
    /// Which attempt this is; the first is 1. Attempts for whose failure the target was to blame are not counted.
    pub attempt: u32,
    typed: Arc<Typed>,
    template: Option<Arc<Template>>,
    /// What the template made, once it was asked for: a handler in the same program never asks.
    input: OnceLock<Value>,
}

/// The idempotency key of a change on a route.
pub(crate) fn delivery_id(route: &str, change: &Change) -> String {
    format!("{route}:{}", change.event_id)
}

impl Delivery {
    /// A change and what its target is to get for it.
    #[must_use]
    pub fn new(id: impl Into<String>, change: Change, attempt: u32, input: Value) -> Self {
        let change = Arc::new(change);
        Self {
            id: id.into(),
            typed: Arc::new(Typed::new(Arc::clone(&change))),
            change,
            attempt,
            template: None,
            input: OnceLock::from(input),
        }
    }

    /// A change as a route delivers it.
    pub(crate) fn of(
        route: &str,
        typed: &Arc<Typed>,
        attempt: u32,
        template: Option<&Arc<Template>>,
    ) -> Self {
        Self {
            id: delivery_id(route, &typed.change),
            change: Arc::clone(&typed.change),
            attempt,
            typed: Arc::clone(typed),
            template: template.map(Arc::clone),
            input: OnceLock::new(),
        }
    }

    /// What the route's input template makes of the change; without a template, the change as JSON.
    #[must_use]
    pub fn input(&self) -> &Value {
        match (self.input.get(), &self.template) {
            (Some(input), _) => input,
            (None, None) => self.typed.json(),
            (None, Some(template)) => self.input.get_or_init(|| template.fill(self.typed.json())),
        }
    }
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was taken.
    Done,
    /// These were not, by delivery id and with the reason; the others were.
    Partly(Vec<(String, String)>),
    /// The batch was refused as a whole: something in it cannot be taken. The router looks for the culprit.
    Refused(String),
    /// The target failed while it had the batch: an error of its own, or no answer in time. A change in the batch may be the
    /// reason. The router tries changes of two items alone: if neither is taken, the target is down.
    Failed(String),
    /// The target cannot be reached, or asks to come back later. No change is to blame; the same batch is tried again.
    Unavailable(String),
    /// The target took some of the batch and then became unavailable, or throttled the rest.
    Interrupted {
        /// These were refused, by delivery id and with the reason.
        refused: Vec<(String, String)>,
        /// These are to come again, by delivery id. No change is to blame.
        later: Vec<String>,
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Why a batch of one change was not taken, whatever was to blame; `None` if it was.
    pub(crate) fn error_of_one(self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Partly(reasons) => reasons.into_iter().next().map(|(_, error)| error),
            Self::Refused(error) | Self::Failed(error) | Self::Unavailable(error) => Some(error),
            Self::Interrupted {
                refused,
                later,
                reason,
            } => {
                let refused = refused.into_iter().next().map(|(_, error)| error);
                refused.or_else(|| (!later.is_empty()).then_some(reason))
            }
        }
    }
}

/// Something that takes changes as part of the router's own transaction, in the same database: the router's checkpoint and
/// what it hands over commit together, so that each change arrives exactly once.
pub trait Enlist: Send + Sync {
    /// What has to be written for this batch to have arrived; or what became of it instead.
    fn enlist<'a>(
        &'a self,
        batch: &'a Batch,
    ) -> Pin<Box<dyn Future<Output = Result<Enlistment, Outcome>> + Send + 'a>>;
}

/// A batch that arrives when its writes are committed. Dropped, it was never there.
#[must_use = "the batch arrives by a transaction with these writes"]
pub struct Enlistment {
    /// What the transaction has to write.
    pub writes: Vec<TransactWriteItem>,
    /// Called when it has succeeded.
    pub committed: Box<dyn FnOnce() + Send>,
}

/// A destination that is ready to take changes.
#[derive(Clone)]
pub enum Door {
    /// Takes batches, at least once each.
    Target(Arc<dyn Target>),
    /// Takes batches in the router's transaction, exactly once each.
    Enlist(Arc<dyn Enlist>),
}

/// Opens the door that a route names; or says why there is none.
pub trait Doors: Send + Sync {
    /// The door of a route's [`Destination`](crate::Destination).
    fn open(&self, route: &Route) -> Result<Door, String>;
}

impl<F: Fn(&Route) -> Result<Door, String> + Send + Sync> Doors for F {
    fn open(&self, route: &Route) -> Result<Door, String> {
        self(route)
    }
}

impl std::fmt::Debug for Enlistment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Enlistment")
            .field("writes", &self.writes.len())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Target(_) => "Target",
            Self::Enlist(_) => "Enlist",
        })
    }
}
