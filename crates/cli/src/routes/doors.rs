//! Opens the targets of routes.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use trestle_events::{CheckDestination, Destination, Door, Doors, QueueDoor, Route, read_routes};
use trestle_model::{Model, Severity};
use trestle_queue::Queues;
use trestle_targets::{Surroundings, Trust};

/// Opens the destinations of routes.
pub(crate) struct Openings {
    /// The queues in the same database as the positions of the routes; `None` if no client could receive from
    /// them.
    queues: Option<Queues>,
    surroundings: Surroundings,
    /// What routes may use that are not trusted.
    otherwise: Trust,
    /// Routes that may use everything, by name.
    trusted: Mutex<HashSet<String>>,
}

impl Openings {
    /// For routes written by the operator.
    pub(crate) fn new(queues: Option<Queues>, surroundings: Surroundings) -> Self {
        Openings::trusting(queues, surroundings, Trust::ALL)
    }

    /// For routes of which some may have been applied over the network.
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

    /// The routes of a file, or all its errors. Those that are also in `given` may use everything.
    pub(crate) fn read(
        &self,
        text: &str,
        models: &[Arc<Model>],
        given: &[Route],
    ) -> Result<Vec<Route>, Vec<String>> {
        let routes = read_routes(text, models, &|_| Vec::new()).routes;
        sound(text, models, &|destination| {
            let with_it = |route: &&Route| route.target == *destination;
            let is_given = routes.iter().any(|route| with_it(&route))
                && routes.iter().filter(with_it).all(|route| given.contains(route));
            let trust = self.trust_in(is_given);
            self.open(destination, trust).err().unwrap_or_default()
        })
    }

    /// The same for a file that was in effect before. A route whose target can no longer be opened is held
    /// back: it keeps its position, and the others continue; the second list contains these routes with the
    /// reasons.
    pub(crate) fn read_holding(
        &self,
        text: &str,
        models: &[Arc<Model>],
        given: &[Route],
    ) -> Result<(Vec<Route>, Vec<String>), Vec<String>> {
        let mut routes = sound(text, models, &|_| Vec::new())?;
        let mut held = Vec::new();
        for route in routes.iter_mut().filter(|route| route.enabled) {
            let trust = self.trust_in(given.contains(route));
            if let Err(faults) = self.open(&route.target, trust) {
                let why = faults.join("; ");
                held.push(format!("route {}: {why}", route.name));
                route.held_back = Some(why);
            }
        }
        Ok((routes, held))
    }

    fn trust_in(&self, is_trusted: bool) -> Trust {
        if is_trusted { Trust::ALL } else { self.otherwise }
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

/// The routes of a file, or all its errors.
fn sound(text: &str, models: &[Arc<Model>], check: CheckDestination<'_>) -> Result<Vec<Route>, Vec<String>> {
    let file = read_routes(text, models, check);
    let problems = file.problems.iter();
    let errors = problems.filter(|problem| problem.severity == Severity::Error);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    if errors.is_empty() {
        Ok(file.routes)
    } else {
        Err(errors)
    }
}

const NO_HANDLERS: &str =
    "a handler is a function of a Rust program that embeds the database; a server has none";

const NO_QUEUES: &str = "an embedded queue is in the database of a server, and this command has none; name a queue by its \
                         URL instead: { sqs = \"https://…\" }, which may be one of `trestle serve`";

impl Doors for Openings {
    fn open(&self, route: &Route) -> Result<Door, String> {
        let trust = self.trust_in(self.trusted.lock().contains(&route.name));
        Openings::open(self, &route.target, trust).map_err(|faults| faults.join("; "))
    }
}
