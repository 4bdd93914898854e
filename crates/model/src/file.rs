//! The sections of a model file that other crates read: as JSON values, each with its place, and with a way
//! to report problems like the model's own.

use serde_json::{Map, Value as Json};
use toml::de::DeValue;

use crate::fields;
use crate::problem::{Placed, Problems};
use crate::read::section::{Value, in_order, integer};
use crate::read::syntax;

pub use crate::problem::suggestion;

/// A section, such as `[route.expired]`.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name: `expired`.
    pub name: String,
    /// Where it begins, in bytes.
    pub at: usize,
    /// Its fields, in the order of the file.
    pub fields: Vec<Field>,
}

/// A field of a section.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The offset of its name, in bytes.
    pub at: usize,
    /// Its value. Dates and times are texts.
    pub value: Json,
    /// The offset of its value, in bytes.
    pub value_at: usize,
}

/// A file, its sections of one kind, and its problems.
pub struct File<'t> {
    /// The sections, in the order of the file.
    pub sections: Vec<Section>,
    /// The other top-level sections and fields, each with its place.
    pub others: Vec<(String, usize)>,
    problems: Problems<'t>,
}

/// The names of the fields that a route may have.
pub fn route_fields() -> impl Iterator<Item = &'static str> {
    fields::ROUTE.iter().map(|field| field.name)
}

impl<'t> File<'t> {
    /// Reads the sections under `kind`. A text that is not TOML has none; its mistakes are reported as
    /// problems.
    #[must_use]
    pub fn read(text: &'t str, kind: &str) -> Self {
        let mut file = File {
            sections: Vec::new(),
            others: Vec::new(),
            problems: Problems::of(text),
        };
        if let Some(document) = syntax::parse(text, &mut file.problems) {
            for (name, value) in in_order(document.get_ref()) {
                if name.value == kind {
                    file.take(kind, value);
                } else {
                    file.others.push((name.value, name.at));
                }
            }
        }
        file
    }

    fn take(&mut self, kind: &str, value: &Value<'_>) {
        let Some(table) = value.get_ref().as_table() else {
            let help = format!("write sections: `[{kind}.name]`");
            self.error(value.span().start, format!("`{kind}` is no section"), help);
            return;
        };
        for (name, value) in in_order(table) {
            match value.get_ref().as_table() {
                Some(table) => self.sections.push(Section {
                    fields: in_order(table).into_iter().map(field).collect(),
                    name: name.value,
                    at: name.at,
                }),
                None => {
                    let help = format!("make it a section: `[{kind}.{}]`", name.value);
                    self.error(name.at, format!("{kind} `{}` is no section", name.value), help);
                }
            }
        }
    }

    /// Adds a problem that does not prevent the use of the sections.
    pub fn error(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        self.problems.error(at, message, help);
    }

    /// The problems, in the order of the file.
    #[must_use]
    pub fn into_problems(self) -> Vec<crate::Problem> {
        self.problems.into_list()
    }
}

fn field((name, value): (Placed<String>, &Value<'_>)) -> Field {
    Field {
        name: name.value,
        at: name.at,
        value: json(value),
        value_at: value.span().start,
    }
}

fn json(value: &Value<'_>) -> Json {
    match value.get_ref() {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Boolean(truth) => Json::from(*truth),
        DeValue::Datetime(time) => Json::from(time.to_string()),
        DeValue::Integer(_) => integer(value).map_or(Json::Null, Json::from),
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Array(list) => list.iter().map(json).collect(),
        DeValue::Table(table) => {
            let entries = in_order(table).into_iter();
            let entries: Map<String, Json> = entries.map(|(name, value)| (name.value, json(value))).collect();
            Json::Object(entries)
        }
    }
}
