//! A change as its handler sees it.

use trestle_env::Timestamp;
use trestle_events::{ChangeEvent, Delivery};
use trestle_item::Item;
use trestle_typed::{Entity, Error, read_from};

/// One change to one row of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed<E> {
    /// The idempotency key: the same each time this change is delivered by this route.
    pub id: String,
    /// What happened to the row.
    pub event: ChangeEvent,
    /// The row before, if there was one and the stream shows it.
    pub old: Option<E>,
    /// The row after, if there is one and the stream shows it.
    pub new: Option<E>,
    /// The names of the attributes whose value differs, as the model writes them.
    pub changed: Vec<String>,
    /// When it happened.
    pub at: Timestamp,
    /// Which attempt this is; the first is 1.
    pub attempt: u32,
}

impl<E: Entity> Changed<E> {
    /// Reads both rows. One that does not fit the model is an error, which the route treats as any other.
    pub(crate) fn read(delivery: &Delivery) -> Result<Self, Error> {
        let change = &delivery.change;
        let row = |image: &Option<Item>| match image {
            Some(item) => read_from(&change.table, item.clone()),
            None => Ok(None),
        };
        Ok(Self {
            id: delivery.id.clone(),
            event: change.event,
            old: row(&change.old)?,
            new: row(&change.new)?,
            changed: change.changed.clone(),
            at: change.at,
            attempt: delivery.attempt,
        })
    }
}
