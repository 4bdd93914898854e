//! Whether a change is for a route. The cheap checks come first; JSON is computed only for a pattern.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use trestle_pattern::Pattern;

use crate::{Change, ChangeEvent, Maintenance, Route};

/// A change with its JSON, which is computed at most once for all routes.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) change: Arc<Change>,
    json: OnceLock<Value>,
}

impl Typed {
    pub(crate) fn new(change: Arc<Change>) -> Self {
        Self {
            change,
            json: OnceLock::new(),
        }
    }

    pub(crate) fn json(&self) -> &Value {
        self.json.get_or_init(|| self.change.to_json())
    }
}

/// What a route takes.
#[derive(Debug)]
pub(crate) struct Matcher {
    entities: Vec<String>,
    events: Vec<ChangeEvent>,
    changed: Vec<String>,
    maintenance: Vec<Maintenance>,
    pattern: Option<Pattern>,
}

impl Matcher {
    /// The changes that the route takes, or the error in its pattern.
    pub(crate) fn new(route: &Route) -> Result<Self, String> {
        let pattern = route.pattern.as_ref().map(Pattern::parse).transpose();
        let pattern = pattern.map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            format!("the pattern cannot be used: {}", faults.join("; "))
        })?;
        Ok(Self {
            entities: route.entities.clone(),
            events: route.events.clone(),
            changed: route.changed.clone(),
            maintenance: route.include_maintenance.clone(),
            pattern,
        })
    }

    /// Whether a route with a list of events takes this one. A row of a backfill is an existing item, so it
    /// is for a route that takes inserts or modifications.
    fn takes_event(&self, event: ChangeEvent) -> bool {
        let has = |event: ChangeEvent| self.events.contains(&event);
        self.events.is_empty()
            || has(event)
            || event == ChangeEvent::Backfill && (has(ChangeEvent::Insert) || has(ChangeEvent::Modify))
    }

    /// Whether it takes rows of a backfill at all.
    pub(crate) fn takes_rows(&self) -> bool {
        self.takes_event(ChangeEvent::Backfill)
    }

    pub(crate) fn takes(&self, typed: &Typed) -> bool {
        let change = &typed.change;
        let among = |names: &[String], name: &str| names.iter().any(|known| known == name);
        let includes = |upkeep: Maintenance| self.maintenance.contains(&upkeep);
        change.maintenance.is_none_or(includes)
            && self.takes_event(change.event)
            && (self.entities.is_empty()
                || change
                    .entity
                    .as_deref()
                    .is_some_and(|entity| among(&self.entities, entity)))
            && (self.changed.is_empty() || change.changed.iter().any(|name| among(&self.changed, name)))
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.matches(typed.json()))
    }
}
