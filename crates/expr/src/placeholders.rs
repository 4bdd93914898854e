//! `ExpressionAttributeNames` and `ExpressionAttributeValues`.

use std::collections::BTreeMap;

use trestle_item::{AttributeValue, Map};

use crate::{ExprError, Kind};

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

/// The maximum length of a placeholder, with its sign.
const KEY_BYTES_MAX: usize = 255;

/// The meaning of `#names` and `:values` in one request, and which of them its expressions used.
#[derive(Clone, Debug)]
pub struct Placeholders<'a> {
    names: Option<Table<'a, String>>,
    values: Option<Table<'a, AttributeValue>>,
}

impl<'a> Placeholders<'a> {
    /// The request's two maps, as they were sent.
    #[must_use]
    pub fn new(names: Option<&'a BTreeMap<String, String>>, values: Option<&'a Map>) -> Self {
        Self {
            names: names.map(|names| Table::new(names.iter())),
            values: values.map(|map| Table::new(map.iter())),
        }
    }

    /// No placeholders.
    #[must_use]
    pub fn none() -> Self {
        Self {
            names: None,
            values: None,
        }
    }

    /// Refuses empty maps, and placeholders that cannot be written in an expression. Call this before the
    /// first `parse`.
    pub fn check_syntax(&self) -> Result<(), ExprError> {
        if let Some(names) = &self.names {
            names.check_keys(NAMES, '#')?;
            names
                .entries
                .iter()
                .try_for_each(|entry| check_name(entry.key, entry.meaning))?;
        }
        if let Some(values) = &self.values {
            values.check_keys(VALUES, ':')?;
        }
        Ok(())
    }

    /// Refuses placeholders that no expression used. Call this after the last `parse`.
    pub fn finish(&self) -> Result<(), ExprError> {
        if let Some(names) = &self.names {
            names.check_used(NAMES)?;
        }
        if let Some(values) = &self.values {
            values.check_used(VALUES)?;
        }
        Ok(())
    }

    /// The name of a `#placeholder`.
    pub(crate) fn name(&mut self, kind: Kind, placeholder: &str) -> Result<&'a str, ExprError> {
        self.names.as_mut().and_then(|names| names.look_up(placeholder)).map(String::as_str).ok_or_else(|| {
            kind.invalid(format_args!(
                "An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
            ))
        })
    }

    /// The value of a `:placeholder`.
    pub(crate) fn value(&mut self, kind: Kind, placeholder: &str) -> Result<&'a AttributeValue, ExprError> {
        self.values.as_mut().and_then(|values| values.look_up(placeholder)).ok_or_else(|| {
            kind.invalid(format_args!(
                "An expression attribute value used in expression is not defined; attribute value: {placeholder}"
            ))
        })
    }
}

/// Placeholders sorted by key.
#[derive(Clone, Debug)]
struct Table<'a, T> {
    entries: Vec<Entry<'a, T>>,
}

#[derive(Clone, Debug)]
struct Entry<'a, T> {
    key: &'a str,
    meaning: &'a T,
    used: bool,
}

impl<'a, T> Table<'a, T> {
    /// `sorted` must come from a sorted map.
    fn new(sorted: impl Iterator<Item = (&'a String, &'a T)>) -> Self {
        Self {
            entries: sorted
                .map(|(key, meaning)| Entry {
                    key,
                    meaning,
                    used: false,
                })
                .collect(),
        }
    }

    fn look_up(&mut self, key: &str) -> Option<&'a T> {
        let at = self.entries.binary_search_by(|entry| entry.key.cmp(key)).ok()?;
        let entry = self.entries.get_mut(at)?;
        entry.used = true;
        Some(entry.meaning)
    }

    fn check_keys(&self, parameter: &str, sign: char) -> Result<(), ExprError> {
        if self.entries.is_empty() {
            return Err(ExprError(format!("{parameter} must not be empty")));
        }
        for Entry { key, .. } in &self.entries {
            let problem = if !is_placeholder(key, sign) {
                format!("Syntax error; key: \"{key}\"")
            } else if key.len() > KEY_BYTES_MAX {
                format!(
                    "The expression attribute map contains a key that is too long; size of key: {}",
                    key.len()
                )
            } else {
                continue;
            };
            return Err(ExprError(format!("{parameter} contains invalid key: {problem}")));
        }
        Ok(())
    }

    fn check_used(&self, parameter: &str) -> Result<(), ExprError> {
        let unused: Vec<&str> = self
            .entries
            .iter()
            .filter(|entry| !entry.used)
            .map(|entry| entry.key)
            .collect();
        if unused.is_empty() {
            return Ok(());
        }
        let unused = unused.join(", ");
        Err(ExprError(format!(
            "Value provided in {parameter} unused in expressions: keys: {{{unused}}}"
        )))
    }
}

fn is_placeholder(key: &str, sign: char) -> bool {
    key.strip_prefix(sign).is_some_and(|word| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn check_name(key: &str, name: &str) -> Result<(), ExprError> {
    match trestle_item::name_problem(name) {
        None => Ok(()),
        Some(problem) => Err(ExprError(format!(
            "{NAMES} contains invalid value: {problem} for key {key}"
        ))),
    }
}
