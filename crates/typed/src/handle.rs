//! What every request needs: the database, the model, the time.

use trestle_api::Database;
use trestle_env::{Clock, Timestamp};

use crate::Definition;

/// The parts of a client, borrowed by its requests.
#[derive(Clone, Copy)]
pub struct Handle<'d> {
    pub(crate) database: &'d dyn Database,
    pub(crate) definition: &'static Definition,
    pub(crate) clock: &'d dyn Clock,
    /// Whether the database itself knows the model.
    pub(crate) applied: bool,
}

impl Handle<'_> {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl std::fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("model", &self.definition.name())
            .field("applied", &self.applied)
            .finish_non_exhaustive()
    }
}
