//! The pattern as it was written, checked: fields, their alternatives, and `$or`.

use crate::fault::{Fault, PatternPath};
use crate::operator;
use crate::tree::Leaf;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A pattern may be nested this deep.
const DEPTH_MAX: usize = 64;

/// An object of the pattern.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) named: Vec<(String, Field)>,
    /// The alternatives of its `$or`, if it has one.
    pub(crate) either: Vec<Fields>,
}

/// The meaning of a name in the pattern.
#[derive(Debug)]
pub(crate) enum Field {
    Nested(Fields),
    Leaf(Arc<Leaf>),
}

/// Names that EventBridge reserves inside `$or`: there they are operators without a field.
const RESERVED_IN_OR: &[&str] = &[
    "exactly",
    "equals-ignore-case",
    "prefix",
    "suffix",
    "anything-but",
    "exists",
    "wildcard",
    "numeric",
    "cidr",
    "=",
    "<",
    "<=",
    ">",
    ">=",
    "regex",
];

pub(crate) fn pattern(pattern: &Value) -> Result<Fields, Vec<Fault>> {
    let mut reader = Reader::default();
    let fields = reader.object(&PatternPath::Root, pattern, false);
    if reader.faults.is_empty() {
        Ok(fields)
    } else {
        Err(reader.faults)
    }
}

#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    fn object(&mut self, path: &PatternPath<'_>, value: &Value, in_or: bool) -> Fields {
        match value {
            Value::Object(object) if object.is_empty() => {
                self.complain(path, "is empty; name at least one field");
                Fields::default()
            }
            Value::Object(object) => self.fields(path, object, in_or),
            other => {
                let found = kind(other);
                self.complain(path, format!("must be an object of fields, not {found}"));
                Fields::default()
            }
        }
    }

    fn fields(&mut self, path: &PatternPath<'_>, object: &Map<String, Value>, in_or: bool) -> Fields {
        let mut fields = Fields::default();
        if path.depth() > DEPTH_MAX {
            self.complain(
                path,
                format!("is nested too deeply; {DEPTH_MAX} levels are allowed"),
            );
            return fields;
        }
        for (name, value) in object {
            let path = path.field(name);
            if name == "$or" {
                fields.either = self.either(&path, value);
            } else if in_or && RESERVED_IN_OR.contains(&name.as_str()) {
                self.complain(
                    &path,
                    "is the name of an operator; inside `$or` an object holds fields, as in `{\"state\": [\"on\"]}`",
                );
            } else if let Some(field) = self.field(&path, value, in_or) {
                fields.named.push((name.clone(), field));
            }
        }
        fields
    }

    fn field(&mut self, path: &PatternPath<'_>, value: &Value, in_or: bool) -> Option<Field> {
        match value {
            Value::Object(_) => Some(Field::Nested(self.object(path, value, in_or))),
            Value::Array(alternatives) => self.leaf(path, alternatives),
            other => {
                let found = kind(other);
                self.complain(
                    path,
                    format!("must be a list of values, `[…]`, or an object of fields, not {found}"),
                );
                None
            }
        }
    }

    fn either(&mut self, path: &PatternPath<'_>, value: &Value) -> Vec<Fields> {
        match value {
            Value::Array(alternatives) if alternatives.len() >= 2 => alternatives
                .iter()
                .enumerate()
                .map(|(index, alternative)| self.object(&path.index(index), alternative, true))
                .collect(),
            _ => {
                self.complain(path, "must be a list of at least two objects");
                Vec::new()
            }
        }
    }

    fn leaf(&mut self, path: &PatternPath<'_>, alternatives: &[Value]) -> Option<Field> {
        if alternatives.is_empty() {
            self.complain(path, "is empty; give at least one value");
            return None;
        }
        let mut leaf = Leaf {
            may_be_absent: false,
            comparisons: Vec::with_capacity(alternatives.len()),
        };
        for (index, alternative) in alternatives.iter().enumerate() {
            match operator::alternative(&path.index(index), alternative) {
                Ok(Some(comparison)) => leaf.comparisons.push(comparison),
                Ok(None) => leaf.may_be_absent = true,
                Err(fault) => self.faults.push(fault),
            }
        }
        Some(Field::Leaf(Arc::new(leaf)))
    }

    fn complain(&mut self, path: &PatternPath<'_>, message: impl Into<String>) {
        self.faults.push(path.fault(message));
    }
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
