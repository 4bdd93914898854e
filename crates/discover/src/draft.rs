//! An entity as it is proposed.

use std::collections::BTreeMap;

use trestle_model::{AttributeKind, Precision};

/// A part of a key template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    Field {
        attribute: String,
        /// Digits a number is padded to.
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

    /// Whether it is the attribute itself, and needs no template.
    pub(crate) fn is_itself(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Field { attribute, width: None }] if *attribute == self.attribute)
    }

    /// What every key begins with.
    pub(crate) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// As it stands in a model file.
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

/// An attribute as it is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftAttribute {
    pub(crate) kind: AttributeKind,
    pub(crate) optional: bool,
    pub(crate) one_of: Vec<String>,
    pub(crate) chars: Option<String>,
    /// That of all its timestamps, if it is one.
    pub(crate) precision: Option<Precision>,
    /// Why, in a few words.
    pub(crate) evidence: String,
    /// What speaks against it, in a few words.
    pub(crate) doubt: Option<String>,
}

/// Something that an entity may be. Only ever suggested: the rows do not prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// In one sentence.
    pub(crate) short: String,
    /// As comments before the entity.
    pub(crate) comments: Vec<String>,
}

/// An entity as it is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    /// Positions among the table's rows.
    pub(crate) rows: Vec<usize>,
    /// One for each key attribute of the table.
    pub(crate) keys: Vec<DraftKey>,
    pub(crate) index_keys: Vec<DraftKey>,
    pub(crate) attributes: BTreeMap<String, DraftAttribute>,
    /// Sentences about it.
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

    /// Gives an attribute another name, wherever it is mentioned.
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
