//! One queue: its name, its attributes, its messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use trestle_env::Timestamp;
use trestle_item::Item;

use crate::attributes::{Meaning, QueueAttributes};
use crate::error::QueueError;
use crate::lot::Lot;
use crate::rows;

/// The stored definition of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Definition {
    /// Unlike the name, it is never used twice.
    pub(crate) id: u64,
    /// How often it was purged.
    pub(crate) generation: u32,
    pub(crate) created: Timestamp,
    pub(crate) modified: Timestamp,
    pub(crate) purged: Option<Timestamp>,
    /// The attributes that were set.
    pub(crate) attributes: QueueAttributes,
    pub(crate) tags: BTreeMap<String, String>,
}

impl Definition {
    /// As a row.
    pub(crate) fn row(&self, name: &str) -> Result<Item, QueueError> {
        let json = serde_json::to_string(self).map_err(|error| QueueError::internal(error.to_string()))?;
        Ok(rows::document(rows::QUEUES, name, json))
    }
}

/// The present state of a queue. A change replaces it.
pub(crate) struct State {
    pub(crate) definition: Definition,
    pub(crate) meaning: Meaning,
    pub(crate) lot: Arc<Lot>,
}

impl State {
    pub(crate) fn new(name: &str, definition: Definition) -> Result<Self, QueueError> {
        Ok(Self {
            meaning: Meaning::of(&definition.attributes)?,
            lot: Arc::new(Lot::new(name.to_owned(), definition.id, definition.generation)),
            definition,
        })
    }

    /// The same queue with another definition; its messages stay unless it was purged.
    pub(crate) fn changed(&self, definition: Definition) -> Result<Self, QueueError> {
        if definition.generation != self.definition.generation {
            return Self::new(&self.lot.name, definition);
        }
        Ok(Self {
            meaning: Meaning::of(&definition.attributes)?,
            lot: Arc::clone(&self.lot),
            definition,
        })
    }
}

/// A queue.
pub(crate) struct Queue {
    pub(crate) name: String,
    state: RwLock<Arc<State>>,
}

impl Queue {
    pub(crate) fn new(name: String, state: State) -> Self {
        Self {
            name,
            state: RwLock::new(Arc::new(state)),
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    pub(crate) fn replace(&self, state: State) {
        *self.state.write() = Arc::new(state);
    }
}
