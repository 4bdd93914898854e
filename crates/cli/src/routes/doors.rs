//! Opens the destinations of routes, for whoever runs them.

use std::sync::Arc;
use trestle_events::{Destination, Door, Doors, QueueDoor, Route, read_routes};
use trestle_model::{Model, Problem, Severity};
use trestle_queue::Queues;
use trestle_targets::Surroundings;

/// Opens the destinations of routes.
pub(crate) struct Openings {
    /// The queues that lie in the same database as the routes' places; none if nobody could receive from them.
    pub(crate) queues: Option<Queues>,
    pub(crate) surroundings: Surroundings,
}

impl Openings {
    /// The routes of a file; or everything that is wrong with it.
    pub(crate) fn read(&self, text: &str, models: &[Arc<Model>]) -> Result<Vec<Route>, Vec<String>> {
        let file = read_routes(text, models, &|destination| self.faults(destination));
        let errors: Vec<&Problem> = file
            .problems
            .iter()
            .filter(|p| p.severity == Severity::Error)
            .collect();
        if errors.is_empty() {
            return Ok(file.routes);
        }
        Err(errors.iter().map(|problem| problem.to_string()).collect())
    }

    fn open(&self, destination: &Destination) -> Result<Door, Vec<String>> {
        if let Some(queue) = destination.queue() {
            return match &self.queues {
                Some(queues) => Ok(Door::Enlist(Arc::new(QueueDoor::new(queues.clone(), queue)))),
                None => Err(vec![NO_QUEUES.to_owned()]),
            };
        }
        if let Some(("handler", _)) = destination.kind() {
            return Err(vec![NO_HANDLERS.to_owned()]);
        }
        trestle_targets::open(destination, &self.surroundings)
            .map(Door::Target)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    fn faults(&self, destination: &Destination) -> Vec<String> {
        self.open(destination).err().unwrap_or_default()
    }
}

const NO_HANDLERS: &str =
    "a handler is a function of a Rust program that embeds the database; a server has none";

const NO_QUEUES: &str = "an embedded queue lies in the database of a server, and there is none here; name a queue by its \
                         URL instead: { sqs = \"https://…\" }, which may be one of `trestle serve`";

impl Doors for Openings {
    fn open(&self, route: &Route) -> Result<Door, String> {
        Openings::open(self, &route.target).map_err(|faults| faults.join("; "))
    }
}
