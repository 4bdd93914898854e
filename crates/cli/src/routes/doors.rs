//! Opens the destinations of routes, for whoever runs them.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use trestle_events::{Destination, Door, Doors, QueueDoor, Route, read_routes};
use trestle_model::{Model, Problem, Severity};
use trestle_queue::Queues;
use trestle_targets::{Surroundings, Trust};

/// Opens the destinations of routes.
pub(crate) struct Openings {
    /// The queues that lie in the same database as the routes' places; none if nothing could receive from them.
    queues: Option<Queues>,
    surroundings: Surroundings,
    /// What a route may use that is not among the trusted ones.
    otherwise: Trust,
    /// Routes that may use everything, by name.
    trusted: Mutex<HashSet<String>>,
}

impl Openings {
    /// For routes that the operator wrote down.
    pub(crate) fn new(queues: Option<Queues>, surroundings: Surroundings) -> Self {
        Openings::trusting(queues, surroundings, Trust::ALL)
    }

    /// For routes of which some may have come over the network.
    pub(crate) fn trusting(queues: Option<Queues>, surroundings: Surroundings, otherwise: Trust) -> Self {
        Openings {
            queues,
            surroundings,
            otherwise,
            trusted: Mutex::default(),
        }
    }

    /// From now on, only these routes may use everything.
    pub(crate) fn trust(&self, routes: HashSet<String>) {
        *self.trusted.lock() = routes;
    }

    /// The routes of a file that may use everything, or only what others may; or everything that is wrong with it.
    pub(crate) fn read(
        &self,
        text: &str,
        models: &[Arc<Model>],
        is_trusted: bool,
    ) -> Result<Vec<Route>, Vec<String>> {
        let trust = if is_trusted { Trust::ALL } else { self.otherwise };
        let file = read_routes(text, models, &|destination| {
            self.open(destination, trust).err().unwrap_or_default()
        });
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

    fn open(&self, destination: &Destination, trust: Trust) -> Result<Door, Vec<String>> {
        if let Some(queue) = destination.queue() {
            return match &self.queues {
                Some(queues) => Ok(Door::Enlist(Arc::new(QueueDoor::new(queues.clone(), queue)))),
                None => Err(vec![NO_QUEUES.to_owned()]),
            };
        }
        if let Some(("handler", _)) = destination.kind() {
            return Err(vec![NO_HANDLERS.to_owned()]);
        }
        trestle_targets::open(destination, &self.surroundings.trusting(trust))
            .map(Door::Target)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }
}

const NO_HANDLERS: &str =
    "a handler is a function of a Rust program that embeds the database; a server has none";

const NO_QUEUES: &str = "an embedded queue lies in the database of a server, and there is none here; name a queue by its \
                         URL instead: { sqs = \"https://…\" }, which may be one of `trestle serve`";

impl Doors for Openings {
    fn open(&self, route: &Route) -> Result<Door, String> {
        let trust = match self.trusted.lock().contains(&route.name) {
            true => Trust::ALL,
            false => self.otherwise,
        };
        Openings::open(self, &route.target, trust).map_err(|faults| faults.join("; "))
    }
}
