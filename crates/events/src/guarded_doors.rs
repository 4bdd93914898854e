//! Targets that get deliveries only while a guard allows it: for routes that several processes could run, but
//! only one may.

use std::sync::Arc;

use crate::Route;
use crate::target::{Batch, Deliver, Door, Doors, Outcome, Target};

/// Returns why nothing may be delivered now, or `None` if deliveries are allowed.
pub type Guard = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Opens targets that deliver only while a guard allows it. Doors that commit with the checkpoint need no
/// guard.
pub struct GuardedDoors {
    doors: Arc<dyn Doors>,
    guard: Guard,
}

impl GuardedDoors {
    /// Puts these doors behind a guard.
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
