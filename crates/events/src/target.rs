//! The destinations of changes.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use trestle_api::TransactWriteItem;
use trestle_pattern::Template;

use crate::matcher::Typed;
use crate::{Change, Route};

/// A delivery in progress.
pub type Deliver<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// A consumer of batches of changes.
///
/// The same change may be delivered more than once: after a crash, a timeout or a replay. Its
/// [`Delivery::id`] is the same each time, so that a target can recognise repetitions.
pub trait Target: Send + Sync {
    /// Delivers a batch, in order.
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a>;
}

/// Changes that are delivered together, oldest first.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Their route.
    pub route: Arc<str>,
    /// The changes.
    pub deliveries: Vec<Delivery>,
}

/// One change for a target.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The idempotency key: the route and the change's own id. It is the same each time the change is delivered.
    pub id: String,
    /// The change.
    pub change: Arc<Change>,
    /// The number of this attempt, from 1. Attempts that failed because of the target are not counted.
    pub attempt: u32,
    typed: Arc<Typed>,
    template: Option<Arc<Template>>,
    /// The result of the template, computed on first use: handlers in the same program do not need it.
    input: OnceLock<Value>,
}

/// The idempotency key of a change on a route.
pub(crate) fn delivery_id(route: &str, change: &Change) -> String {
    format!("{route}:{}", change.event_id)
}

impl Delivery {
    /// A change with the input for its target.
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

    /// A change in the form in which a route delivers it.
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

    /// The result of the route's input template for the change; without a template, the change as JSON.
    #[must_use]
    pub fn input(&self) -> &Value {
        match (self.input.get(), &self.template) {
            (Some(input), _) => input,
            (None, None) => self.typed.json(),
            (None, Some(template)) => self.input.get_or_init(|| template.fill(self.typed.json())),
        }
    }
}

/// The result of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was taken.
    Done,
    /// These were refused, by delivery id and with the reason; the others were taken.
    Partly(Vec<(String, String)>),
    /// The batch was refused as a whole: something in it cannot be taken. The router searches for that
    /// change.
    Refused(String),
    /// The target failed while processing the batch, with an error of its own or no response in time. A
    /// change in the batch may be the reason. The router tries changes of two items alone: if neither is
    /// taken, the target is down.
    Failed(String),
    /// The target cannot be reached, or asked for a later attempt. No change is at fault; the same batch is
    /// tried again.
    Unavailable(String),
    /// The target took some of the batch and then became unavailable, or throttled the rest.
    Interrupted {
        /// These were refused, by delivery id and with the reason.
        refused: Vec<(String, String)>,
        /// These must be sent again, by delivery id. No change is at fault.
        later: Vec<String>,
        /// The reason.
        reason: String,
    },
}

impl Outcome {
    /// Why a batch of one change was not taken, for any reason; `None` if it was.
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

/// A consumer that takes changes as part of the router's own transaction, in the same database: the router's
/// checkpoint and the delivery commit together, so that each change is delivered exactly once.
pub trait Enlist: Send + Sync {
    /// The writes that deliver this batch, or its result if it cannot be delivered.
    fn enlist<'a>(
        &'a self,
        batch: &'a Batch,
    ) -> Pin<Box<dyn Future<Output = Result<Enlistment, Outcome>> + Send + 'a>>;
}

/// A batch that is delivered when its writes are committed. Dropping it cancels the delivery.
#[must_use = "the batch arrives by a transaction with these writes"]
pub struct Enlistment {
    /// The writes for the transaction.
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

/// Opens the door that a route names, or returns why it cannot be opened.
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
