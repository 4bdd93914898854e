//! Routes from a file: `[route.*]` sections in a model file or in a separate file. All errors are reported at
//! once, each with its line and the next step.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use trestle_env::parse_iso_8601;
use trestle_model::file::{Field, File, Section, route_fields, suggestion};
use trestle_model::{Model, Problem};

use crate::route::{DESTINATIONS, faults};
use crate::{
    Backoff, ChangeEvent, Concurrency, Destination, Maintenance, Route, StartingPosition, parse_duration,
};

/// The routes of a file, and all errors in them.
#[derive(Clone, Debug)]
pub struct RouteFile {
    /// The routes, in the order of the file; without those that cannot be parsed at all.
    pub routes: Vec<Route>,
    /// The errors. If there are any, the routes should not be used.
    pub problems: Vec<Problem>,
}

/// Checks a destination; returns its errors.
pub type CheckDestination<'c> = &'c dyn Fn(&Destination) -> Vec<String>;

/// Reads the routes of a file. Entities are looked up in `models`, and so is the table of a route that does
/// not name one.
#[must_use]
pub fn read_routes(text: &str, models: &[Arc<Model>], check: CheckDestination<'_>) -> RouteFile {
    let mut file = File::read(text, "route");
    let is_model = file.others.iter().any(|(name, _)| name == "model");
    for (name, at) in file.others.clone().into_iter().filter(|_| !is_model) {
        let message = format!("`{name}` does not belong into a file of routes");
        file.error(at, message, suggestion(&name, ["route"]));
    }
    let mut routes = Vec::new();
    for section in std::mem::take(&mut file.sections) {
        let mut reader = Reader {
            file: &mut file,
            section: &section,
            models,
        };
        routes.extend(reader.route(check));
    }
    RouteFile {
        routes,
        problems: file.into_problems(),
    }
}

struct Reader<'r, 't> {
    file: &'r mut File<'t>,
    section: &'r Section,
    models: &'r [Arc<Model>],
}

impl<'r> Reader<'r, '_> {
    fn field(&self, name: &str) -> Option<&'r Field> {
        self.section.fields.iter().find(|field| field.name == name)
    }

    fn error(&mut self, at: usize, message: &str, help: impl Into<String>) {
        let message = format!("route `{}`: {message}", self.section.name);
        self.file.error(at, message, help);
    }

    fn wrong(&mut self, field: &Field, wanted: &str) {
        let message = format!("`{}` is {}", field.name, field.value);
        self.error(field.value_at, &message, format!("write {wanted}"));
    }

    fn route(&mut self, check: CheckDestination<'_>) -> Option<Route> {
        for field in &self.section.fields {
            if !route_fields().any(|known| known == field.name) {
                let message = format!("unknown field `{}`", field.name);
                self.error(field.at, &message, suggestion(&field.name, route_fields()));
            }
        }
        let target = self.target(check);
        let entities = self.entities();
        let table = self.table(&entities);
        let has_target = target.is_some();
        let defaults = Route::new(
            &*self.section.name,
            table.unwrap_or_default(),
            target.unwrap_or_default(),
        );
        let route = Route {
            events: self.events(),
            changed: self.texts("changed"),
            pattern: self.pattern(),
            input: self.text("input"),
            batch_size: self.count("batch_size", defaults.batch_size),
            maximum_batching_window: self
                .duration("maximum_batching_window", defaults.maximum_batching_window),
            parallelization_factor: self.count("parallelization_factor", defaults.parallelization_factor),
            concurrency: self.concurrency(),
            maximum_retry_attempts: self.attempts(defaults.maximum_retry_attempts),
            maximum_record_age: self.optional_duration("maximum_record_age"),
            bisect_batch_on_error: self.flag("bisect_batch_on_error", defaults.bisect_batch_on_error),
            backoff: self.backoff(defaults.backoff),
            starting_position: self.starting_position(defaults.starting_position),
            enabled: self.flag("enabled", defaults.enabled),
            include_maintenance: self.maintenance(),
            held_back: None,
            entities,
            ..defaults
        };
        for (name, fault) in faults(&route) {
            let at = self.field(name).map_or(self.section.at, |field| field.value_at);
            self.error(at, &fault, "change it, and run `trestle routes check`");
        }
        has_target.then_some(route)
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let field = self.field(name)?;
        let text = field.value.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.wrong(field, "a text in quotes");
        }
        text.map(str::to_owned)
    }

    /// A list of texts, or a single text.
    fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(field) = self.field(name) else {
            return Vec::new();
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = match &field.value {
            Value::Array(list) => list.iter().map(text).collect::<Option<Vec<String>>>(),
            one => text(one).map(|text| vec![text]),
        };
        texts.unwrap_or_else(|| {
            self.wrong(field, "a text, or a list of texts");
            Vec::new()
        })
    }

    /// All kinds of maintenance, none, or some by name.
    fn maintenance(&mut self) -> Vec<Maintenance> {
        let Some(field) = self.field("include_maintenance") else {
            return Vec::new();
        };
        Maintenance::list_from_json(&field.value).unwrap_or_else(|| {
            let names = Maintenance::ALL.map(|upkeep| format!("\"{upkeep}\""));
            self.wrong(
                field,
                &format!("true, false, or a list of {}", names.join(" and ")),
            );
            Vec::new()
        })
    }

    fn flag(&mut self, name: &str, default: bool) -> bool {
        let Some(field) = self.field(name) else {
            return default;
        };
        field.value.as_bool().unwrap_or_else(|| {
            self.wrong(field, "true or false");
            default
        })
    }

    fn count(&mut self, name: &str, default: usize) -> usize {
        let Some(field) = self.field(name) else {
            return default;
        };
        let count = field.value.as_u64().and_then(|count| usize::try_from(count).ok());
        count.unwrap_or_else(|| {
            self.wrong(field, "a whole number");
            default
        })
    }

    fn attempts(&mut self, default: u32) -> u32 {
        let attempts = self.count("maximum_retry_attempts", default as usize);
        u32::try_from(attempts).unwrap_or(u32::MAX)
    }

    fn duration(&mut self, name: &str, default: Duration) -> Duration {
        let Some(field) = self.field(name) else {
            return default;
        };
        field.value.as_str().and_then(parse_duration).unwrap_or_else(|| {
            self.wrong(field, "a time: `\"500ms\"`, `\"10s\"`, `\"5m\"` or `\"24h\"`");
            default
        })
    }

    fn optional_duration(&mut self, name: &str) -> Option<Duration> {
        self.field(name)?;
        Some(self.duration(name, Duration::MAX))
    }

    fn events(&mut self) -> Vec<ChangeEvent> {
        let names = self.texts("event");
        let known = || ChangeEvent::ALL.map(ChangeEvent::name);
        let mut events = Vec::new();
        for name in names {
            match ChangeEvent::from_name(&name) {
                Some(event) => events.push(event),
                None => {
                    let at = self
                        .field("event")
                        .map_or(self.section.at, |field| field.value_at);
                    self.error(
                        at,
                        &format!("there is no event `{name}`"),
                        suggestion(&name, known()),
                    );
                }
            }
        }
        // A route that asks for a change of an attribute means modifications, unless it names other events.
        if self.field("event").is_none() && self.field("changed").is_some() {
            events.push(ChangeEvent::Modify);
        }
        events
    }

    fn entities(&mut self) -> Vec<String> {
        let names = self.texts("entity");
        if self.models.is_empty() {
            return names;
        }
        let models = self.models;
        let known = || {
            models
                .iter()
                .flat_map(|model| model.entities())
                .map(|entity| entity.name())
        };
        for name in &names {
            if !known().any(|entity| entity == name) {
                let at = self
                    .field("entity")
                    .map_or(self.section.at, |field| field.value_at);
                self.error(
                    at,
                    &format!("there is no entity `{name}`"),
                    suggestion(name, known()),
                );
            }
        }
        names
    }

    /// The table's name in the database: the given name, a model's name for it, or the table of the entities.
    fn table(&mut self, entities: &[String]) -> Option<String> {
        let models = self.models;
        if let Some(given) = self.text("table") {
            let mut tables = models.iter().flat_map(|model| model.tables());
            let named = tables.find(|table| table.name() == given);
            return Some(named.map_or(given, |table| table.table_name().to_owned()));
        }
        if self.field("table").is_some() {
            return None;
        }
        let table_of = |name: &String| {
            let found = models.iter().find_map(|model| Some((model, model.entity(name)?)));
            found
                .and_then(|(model, entity)| model.table_of(entity))
                .map(|table| table.table_name())
        };
        let mut tables: Vec<&str> = entities.iter().filter_map(table_of).collect();
        tables.sort_unstable();
        tables.dedup();
        match tables.as_slice() {
            [one] => return Some((*one).to_owned()),
            // The entity is reported as an error of its own.
            [] if !entities.is_empty() && !models.is_empty() => {}
            [] if !entities.is_empty() => {
                let message = "it has no table, and no model is known that has its entity";
                let help = "give the model (`--model FILE`), or add `table = …`";
                self.error(self.section.at, message, help);
            }
            [] => {
                let help = "add `table = …`, or an `entity` that a model knows";
                self.error(self.section.at, "it has no table", help);
            }
            _ => {
                let message = format!("its entities are in several tables: {}", tables.join(", "));
                self.error(self.section.at, &message, "make a route for each table");
            }
        }
        None
    }

    fn target(&mut self, check: CheckDestination<'_>) -> Option<Destination> {
        let kinds = || DESTINATIONS.join("`, `");
        let Some(field) = self.field("target") else {
            let help = format!("add `target = {{ … }}` with one of `{}`", kinds());
            self.error(self.section.at, "it has no target", help);
            return None;
        };
        let Value::Object(settings) = &field.value else {
            self.wrong(field, "a table: `{ webhook = \"http://…\" }`");
            return None;
        };
        let destination = Destination(settings.clone());
        let named = DESTINATIONS.iter().filter(|kind| settings.contains_key(**kind));
        if named.count() != 1 {
            let help = format!("name exactly one of `{}`", kinds());
            self.error(field.value_at, "the target is not one destination", help);
            return None;
        }
        if let Some(("queue" | "handler", value)) = destination.kind() {
            let is_named = value.as_str().is_some_and(|name| !name.is_empty());
            let has_timeout = destination.handler().is_some() && destination.timeout().is_some();
            if !is_named || settings.len() > 1 + usize::from(has_timeout) {
                self.wrong(
                    field,
                    "a name: `{ queue = \"name\" }`, `{ handler = \"name\" }` or `{ handler = \"name\", timeout = \"30s\" }`",
                );
                return None;
            }
        }
        for fault in check(&destination) {
            self.error(
                field.value_at,
                &format!("target: {fault}"),
                "change the target's settings",
            );
        }
        Some(destination)
    }

    /// A table, or JSON as text.
    fn pattern(&mut self) -> Option<Value> {
        let field = self.field("pattern")?;
        match &field.value {
            Value::Object(_) => Some(field.value.clone()),
            Value::String(text) => serde_json::from_str(text)
                .inspect_err(|error| {
                    let message = format!("the pattern is not JSON: {error}");
                    self.error(field.value_at, &message, "correct it, or write it as a table");
                })
                .ok(),
            _ => {
                self.wrong(field, "a table, or JSON as text");
                None
            }
        }
    }

    fn backoff(&mut self, default: Backoff) -> Backoff {
        let Some(field) = self.field("backoff") else {
            return default;
        };
        let time = |name: &str, default: Duration| match field.value.get(name) {
            None => Some(default),
            Some(value) => parse_duration(value.as_str()?),
        };
        let known = |settings: &serde_json::Map<String, Value>| {
            settings.keys().all(|name| name == "first" || name == "longest")
        };
        let read = field
            .value
            .as_object()
            .filter(|settings| known(settings))
            .and_then(|_| {
                Some(Backoff {
                    first: time("first", default.first)?,
                    longest: time("longest", default.longest)?,
                })
            });
        read.unwrap_or_else(|| {
            self.wrong(field, "two times: `{ first = \"200ms\", longest = \"60s\" }`");
            default
        })
    }

    /// A number, or a table with the number and a template.
    fn concurrency(&mut self) -> Option<Concurrency> {
        let field = self.field("concurrency")?;
        let count = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok());
        let read = match &field.value {
            Value::Object(settings) => {
                let is_known = settings.keys().all(|name| name == "per" || name == "most");
                let most = settings.get("most").and_then(count);
                let per = settings.get("per").and_then(Value::as_str).map(str::to_owned);
                most.filter(|_| is_known && per.is_some())
                    .map(|most| Concurrency { most, per })
            }
            value => count(value).map(|most| Concurrency { most, per: None }),
        };
        if read.is_none() {
            self.wrong(
                field,
                "a whole number, or `{ per = \"<new.customer>\", most = 100 }`",
            );
        }
        read
    }

    fn starting_position(&mut self, default: StartingPosition) -> StartingPosition {
        let Some(field) = self.field("starting_position") else {
            return default;
        };
        let read = match &field.value {
            Value::String(text) if text == "latest" => Some(StartingPosition::Latest),
            Value::String(text) if text == "trim-horizon" => Some(StartingPosition::TrimHorizon),
            Value::String(text) if text == "all-rows" => Some(StartingPosition::AllRows),
            Value::Object(settings) => settings
                .get("at")
                .and_then(|at| parse_iso_8601(at.as_str()?))
                .map(StartingPosition::At),
            _ => None,
        };
        read.unwrap_or_else(|| {
            self.wrong(
                field,
                "`\"latest\"`, `\"trim-horizon\"`, `\"all-rows\"` or `{ at = \"2026-11-15T07:00:00Z\" }`",
            );
            default
        })
    }
}
