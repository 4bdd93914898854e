//! A change as its handler receives it.

use trestle_env::Timestamp;
use trestle_events::{ChangeEvent, Delivery, Maintenance, ModelTyper};
use trestle_item::Item;
use trestle_typed::{Entity, Error, read_from};

/// One change to one row of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed<E> {
    /// The idempotency key: the same each time this change is delivered by this route.
    pub id: String,
    /// What happened to the row.
    pub event: ChangeEvent,
    /// The maintenance that it is part of, if the application did not make it. Only a route with
    /// `include_maintenance` receives such changes.
    pub maintenance: Option<Maintenance>,
    /// The old row, if there was one and the stream contains it.
    pub old: Option<E>,
    /// The new row, if there is one and the stream contains it.
    pub new: Option<E>,
    /// The names of the attributes whose values differ, as in the model.
    pub changed: Vec<String>,
    /// When it happened.
    pub at: Timestamp,
    /// The number of the attempt; the first is 1.
    pub attempt: u32,
}

impl<E: Entity> Changed<E> {
    /// Reads both rows, also of an earlier layout that `typer` knows. A row that does not fit the model is an
    /// error, which the route treats like any other.
    pub(crate) fn read(delivery: &Delivery, typer: &ModelTyper) -> Result<Self, Error> {
        let change = &delivery.change;
        let row = |image: &Option<Item>| match image {
            Some(item) => {
                let renewed = typer.renewed(&change.table, item);
                read_from(&change.table, renewed.unwrap_or_else(|| item.clone()))
            }
            None => Ok(None),
        };
        Ok(Self {
            id: delivery.id.clone(),
            event: change.event,
            maintenance: change.maintenance,
            old: row(&change.old)?,
            new: row(&change.new)?,
            changed: change.changed.clone(),
            at: change.at,
            attempt: delivery.attempt,
        })
    }
}
