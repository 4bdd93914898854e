//! Where changes go.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::Change;

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
    /// Which attempt this is; the first is 1.
    pub attempt: u32,
    /// What the route's input template makes of the change; without a template, the change as JSON.
    pub input: Arc<serde_json::Value>,
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
    /// The target cannot be reached, or asks to come back later. The same batch is tried again.
    Unavailable(String),
}
