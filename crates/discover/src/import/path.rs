//! A value of a JSON file with its path, so that errors can name it.

use std::fmt;

use serde_json::Value;

/// An error in a file, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The path, such as `DataModel[0].TableName`; empty for the whole file.
    pub path: String,
    /// The message.
    pub message: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "{}", self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for ImportError {}

/// A value and its path.
#[derive(Clone, Debug)]
pub(super) struct Node<'v> {
    path: String,
    value: &'v Value,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v Value) -> Self {
        Node {
            path: String::new(),
            value,
        }
    }

    pub(super) fn fault(&self, message: impl Into<String>) -> ImportError {
        ImportError {
            path: self.path.clone(),
            message: message.into(),
        }
    }

    /// A member that may be missing or null.
    pub(super) fn maybe(&self, name: &str) -> Result<Option<Node<'v>>, ImportError> {
        let Some(object) = self.value.as_object() else {
            return Err(self.fault("is no object"));
        };
        let found = object.get(name).filter(|value| !value.is_null());
        Ok(found.map(|value| Node {
            path: if self.path.is_empty() {
                name.to_owned()
            } else {
                format!("{}.{name}", self.path)
            },
            value,
        }))
    }

    pub(super) fn member(&self, name: &str) -> Result<Node<'v>, ImportError> {
        self.maybe(name)?
            .ok_or_else(|| self.fault(format!("has no `{name}`")))
    }

    pub(super) fn text(&self) -> Result<&'v str, ImportError> {
        self.value.as_str().ok_or_else(|| self.fault("is no text"))
    }

    pub(super) fn list(&self) -> Result<Vec<Node<'v>>, ImportError> {
        let list = self.value.as_array().ok_or_else(|| self.fault("is no list"))?;
        let nodes = list.iter().enumerate().map(|(at, value)| Node {
            path: format!("{}[{at}]", self.path),
            value,
        });
        Ok(nodes.collect())
    }

    /// The members of a list that may be missing.
    pub(super) fn members(&self, name: &str) -> Result<Vec<Node<'v>>, ImportError> {
        match self.maybe(name)? {
            Some(list) => list.list(),
            None => Ok(Vec::new()),
        }
    }

    /// The value, for serde.
    pub(super) fn value(&self) -> &'v Value {
        self.value
    }
}
