//! Targets that are delivered to only while a guard allows it: where several processes could run the same routes, one of them may.

use std::sync::Arc;

use crate::Route;
use crate::target::{Batch, Deliver, Door, Doors, Outcome, Target};

/// Says why nothing may be delivered now; `None`: it may.
pub type Guard = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Opens targets that deliver only while a guard allows it. What commits together with its checkpoint needs none.
pub struct GuardedDoors {
    doors: Arc<dyn Doors>,
    guard: Guard,
}

impl GuardedDoors {
    /// These doors behind a guard.
    #[must_use]
    pub fn new(doors: Arc<dyn Doors>, guard: Guard) -> Self {
        Self { doors, guard }
    }
}

impl Doors for GuardedDoors {
    fn open(&self, route: &Route) -> Result<Door, String> {
        Ok(match self.doors.open(route)? {
            Door::Target(target) => Door::Target(Arc::new(GuardedTarget {
                target,
                guard: Arc::clone(&self.guard),
            })),
            door => door,
        })
    }
}

struct GuardedTarget {
    target: Arc<dyn Target>,
    guard: Guard,
}

impl Target for GuardedTarget {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        match (self.guard)() {
            None => self.target.deliver(batch),
            Some(why) => Box::pin(async { Outcome::Unavailable(why) }),
        }
    }
}
