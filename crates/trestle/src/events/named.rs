//! Routes that a file declares, and this program's handlers and queues for the names in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trestle_events::{Destination, Door, QueueDoor, Route, read_routes};
use trestle_model::{Model, Severity};
use trestle_queue::Queues;

/// Files of routes, and the handlers and queues for the names in them.
pub(super) struct Named {
    files: Vec<File>,
    handlers: BTreeMap<String, Connected>,
    /// The meaning of `target = { queue = "name" }`.
    queues: Queues,
}

struct File {
    /// The source of the text, for messages about its problems.
    origin: String,
    text: String,
}

/// A handler, and the rows that it takes.
pub(super) struct Connected {
    /// Creates the target of a route.
    pub(super) door: Box<dyn Fn(&Route) -> Door + Send + Sync>,
    pub(super) entity: &'static str,
    pub(super) table: String,
}

impl Named {
    pub(super) fn of(queues: &Queues) -> Self {
        Named {
            files: Vec::new(),
            handlers: BTreeMap::new(),
            queues: queues.clone(),
        }
    }

    /// Adds the routes of this text; a second text from the same source changes nothing.
    pub(super) fn read(&mut self, origin: String, text: String) {
        if !self
            .files
            .iter()
            .any(|file| file.origin == origin && file.text == text)
        {
            self.files.push(File { origin, text });
        }
    }

    /// Connects a handler; an error if there is another one with its name.
    pub(super) fn connect(&mut self, name: &str, handler: Connected) -> Result<(), String> {
        match self.handlers.insert(name.to_owned(), handler) {
            None => Ok(()),
            Some(_) => Err(format!("handler `{name}` is connected twice; rename one of them")),
        }
    }

    /// The routes of all files, each with its target; or all problems.
    pub(super) fn routes(&self, models: &[Arc<Model>]) -> Result<Vec<(Route, Door)>, Vec<String>> {
        let mut faults = Vec::new();
        let mut routes = Vec::new();
        for file in &self.files {
            let check = |target: &Destination| {
                let route = Route::new("", "", target.clone());
                self.door(&route).err().into_iter().collect()
            };
            let read = read_routes(&file.text, models, &check);
            let errors = read.problems.iter().filter(|p| p.severity == Severity::Error);
            faults.extend(errors.map(|problem| format!("{}: {problem}", file.origin)));
            routes.extend(read.routes);
        }
        faults.extend(routes.iter().filter_map(|route| self.misfit(route)));
        faults.extend(self.unused(&routes));
        if !faults.is_empty() {
            return Err(faults);
        }
        let opened = |route: Route| match self.door(&route) {
            Ok(door) => Ok((route, door)),
            Err(fault) => Err(vec![format!("route `{}`: {fault}", route.name)]),
        };
        routes.into_iter().map(opened).collect()
    }

    fn door(&self, route: &Route) -> Result<Door, String> {
        let target = &route.target;
        match target.kind() {
            Some(("handler", _)) => {
                let name = target.handler().ok_or("a handler is named by a text")?;
                let connected = self.handlers.get(name).map(|handler| (handler.door)(route));
                connected.ok_or_else(|| {
                    let known = list(self.handlers.keys().map(String::as_str));
                    format!("no handler `{name}` is connected; connected are: {known}")
                })
            }
            Some(("queue", _)) => {
                let name = target.queue().ok_or("a queue is named by a text")?;
                Ok(Door::Enlist(Arc::new(QueueDoor::new(self.queues.clone(), name))))
            }
            kind => {
                let kind = kind.map_or("this", |(kind, _)| kind);
                Err(format!(
                    "{kind} is a target of `trestle serve`; a program has handlers and queues"
                ))
            }
        }
    }

    /// The rows that a handler takes must be those of its route.
    fn misfit(&self, route: &Route) -> Option<String> {
        let handler = self.handlers.get(route.target.handler()?)?;
        let (entity, table) = (handler.entity, &handler.table);
        let fits = route.entities == [entity] && route.table == *table;
        (!fits).then(|| {
            let name = &route.name;
            format!("route `{name}`: its handler takes rows of `{entity}`; write `entity = \"{entity}\"`")
        })
    }

    /// If no route has a handler as its target, the name of the handler or of the route is wrong.
    fn unused(&self, routes: &[Route]) -> Option<String> {
        let named: BTreeSet<&str> = routes.iter().filter_map(|route| route.target.handler()).collect();
        let unused = self.handlers.keys().map(String::as_str);
        let unused: Vec<&str> = unused.filter(|name| !named.contains(name)).collect();
        (!unused.is_empty()).then(|| {
            format!(
                "no route goes to these handlers: {}; the routes name: {}",
                list(unused.into_iter()),
                list(named.into_iter())
            )
        })
    }
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
