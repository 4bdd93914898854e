//! A destination's settings, read one by one; all mistakes are collected.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;
use trestle_events::parse_duration;

/// One mistake in a destination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct Fault {
    /// The setting, as in the route file.
    pub setting: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

/// The settings of a destination, or of a table inside of it.
pub(crate) struct Settings<'a> {
    map: &'a Map<String, Value>,
    prefix: String,
    known: BTreeSet<&'static str>,
    faults: Vec<Fault>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(map: &'a Map<String, Value>) -> Self {
        Settings {
            map,
            prefix: String::new(),
            known: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    /// The value of a setting. From now on, the name counts as known.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.insert(name);
        self.map.get(name)
    }

    /// Required text that must not be empty.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        let found = self.optional_text(name);
        if !self.map.contains_key(name) {
            self.complain(name, "is missing");
        }
        found
    }

    pub(crate) fn optional_text(&mut self, name: &'static str) -> Option<&'a str> {
        match self.take(name)? {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => {
                self.complain(name, "must be text, and not empty");
                None
            }
        }
    }

    /// A time between a millisecond and a day.
    pub(crate) fn duration(&mut self, name: &'static str, default: Duration) -> Duration {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let Some(value) = self.take(name) else {
            return default;
        };
        match value.as_str().and_then(parse_duration) {
            Some(duration) if (Duration::from_millis(1)..=DAY).contains(&duration) => duration,
            _ => {
                self.complain(
                    name,
                    "must be a time such as \"500ms\", \"10s\" or \"2m\", at most a day",
                );
                default
            }
        }
    }

    /// The settings in a nested table.
    pub(crate) fn table(&mut self, name: &'static str) -> Option<Settings<'a>> {
        match self.take(name)? {
            Value::Object(map) => Some(Settings {
                prefix: format!("{}{name}.", self.prefix),
                ..Settings::new(map)
            }),
            _ => {
                self.complain(name, "must be a table");
                None
            }
        }
    }

    /// Adds the mistakes of a table.
    pub(crate) fn close(&mut self, table: Settings<'_>) {
        self.faults.extend(table.all_faults());
    }

    pub(crate) fn complain(&mut self, name: &str, message: impl Into<String>) {
        self.faults.push(Fault {
            setting: format!("{}{name}", self.prefix),
            message: message.into(),
        });
    }

    /// The result of the settings, unless there is a mistake in them.
    pub(crate) fn finish<T>(self, made: Option<T>) -> Result<T, Vec<Fault>> {
        let faults = self.all_faults();
        match made {
            Some(made) if faults.is_empty() => Ok(made),
            _ => Err(faults),
        }
    }

    fn all_faults(self) -> Vec<Fault> {
        let known: Vec<&str> = self.known.iter().copied().collect();
        let unknown = self
            .map
            .keys()
            .filter(|name| !self.known.is_empty() && !self.known.contains(name.as_str()))
            .map(|name| Fault {
                setting: format!("{}{name}", self.prefix),
                message: format!("is no setting of this target; there are {}", known.join(", ")),
            });
        let mut faults = self.faults;
        faults.extend(unknown);
        faults
    }
}
