//! A proposed entity.

use std::collections::BTreeMap;

use trestle_model::{AttributeKind, Precision};

/// A part of a key template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    Field {
        attribute: String,
        /// The number of digits to which a number is padded.
        width: Option<usize>,
    },
}

/// The template of a key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftKey {
    pub(crate) attribute: String,
    pub(crate) parts: Vec<Part>,
}

impl DraftKey {
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Field { attribute, .. } => Some(attribute.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// Whether the key is the attribute itself, without a template.
    pub(crate) fn is_itself(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Field { attribute, width: None }] if *attribute == self.attribute)
    }

    /// The prefix of every key.
    pub(crate) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// The form in a model file.
    pub(crate) fn source(&self) -> String {
        let mut source = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => source += &text.replace('{', "{{").replace('}', "}}"),
                Part::Field {
                    attribute,
                    width: None,
                } => source += &format!("{{{attribute}}}"),
                Part::Field {
                    attribute,
                    width: Some(width),
                } => source += &format!("{{{attribute}:0{width}}}"),
            }
        }
        source
    }
}

/// A proposed attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftAttribute {
    pub(crate) kind: AttributeKind,
    pub(crate) optional: bool,
    pub(crate) one_of: Vec<String>,
    pub(crate) chars: Option<String>,
    /// The precision of all its timestamps, if it is one.
    pub(crate) precision: Option<Precision>,
    /// The evidence, in a few words.
    pub(crate) evidence: String,
    /// Doubts, in a few words.
    pub(crate) doubt: Option<String>,
}

/// What an entity may be. Only suggested, because the rows do not prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// In one sentence.
    pub(crate) short: String,
    /// The suggestion as comments before the entity.
    pub(crate) comments: Vec<String>,
}

/// A proposed entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    /// The positions of its rows in the table.
    pub(crate) rows: Vec<usize>,
    /// One for each key attribute of the table.
    pub(crate) keys: Vec<DraftKey>,
    pub(crate) index_keys: Vec<DraftKey>,
    pub(crate) attributes: BTreeMap<String, DraftAttribute>,
    /// Notes about it.
    pub(crate) notes: Vec<String>,
    pub(crate) suggestions: Vec<Suggestion>,
}

impl Draft {
    /// The attributes that identify a row.
    pub(crate) fn identity(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.keys.iter().flat_map(DraftKey::fields) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Renames an attribute wherever it occurs.
    pub(crate) fn rename(&mut self, old: &str, new: &str) {
        let keys = self.keys.iter_mut().chain(&mut self.index_keys);
        for part in keys.flat_map(|key| &mut key.parts) {
            if let Part::Field { attribute, .. } = part
                && attribute == old
            {
                new.clone_into(attribute);
            }
        }
        if let Some(found) = self.attributes.remove(old) {
            self.attributes.insert(new.to_owned(), found);
        }
    }
}
