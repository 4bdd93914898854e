//! Key templates: `lyr#{rgn}:{pckg}:{pyVrsn}`, read, checked, rendered and read back.

mod render;
mod slot;
mod syntax;
mod unrender;

use trestle_item::ScalarType;

use crate::language::{Language, Piece};

pub(crate) use render::Given;
pub use render::RenderError;
pub(crate) use slot::{RESERVED_END, Slot};
pub(crate) use syntax::{Field, RawPart, parse};
pub(crate) use unrender::Said;

/// A key attribute, composed of attributes of the entity.
///
/// *Invariant*: two different sets of values never render to the same key, except where a field is folded to
/// lower case, which is allowed only in index keys and for uniqueness.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyTemplate {
    pub(crate) attribute: String,
    pub(crate) kind: ScalarType,
    pub(crate) source: String,
    pub(crate) parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Literal(String),
    Slot(Slot),
}

impl KeyTemplate {
    /// The attribute of the key that this renders.
    #[must_use]
    pub fn attribute(&self) -> &str {
        &self.attribute
    }

    /// The type of that attribute.
    #[must_use]
    pub fn kind(&self) -> ScalarType {
        self.kind
    }

    /// The template as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The attributes of the entity it is made of, in order, each once.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for slot in self.slots() {
            if !names.contains(&slot.attribute.name.as_str()) {
                names.push(&slot.attribute.name);
            }
        }
        names
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(slot),
            Part::Literal(_) => None,
        })
    }

    /// The one field, if the key is just that attribute's value.
    pub(crate) fn whole(&self) -> Option<&Slot> {
        match self.parts.as_slice() {
            [Part::Slot(slot)] if slot.is_plain() => Some(slot),
            _ => None,
        }
    }

    /// Whether the key is the attribute of the same name, so that nothing is derived.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.whole().is_some_and(|slot| {
            slot.attribute.name == self.attribute && slot.attribute.kind.scalar_type() == Some(self.kind)
        })
    }

    /// What every key begins with.
    pub(crate) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// Whether it renders the same key for the same values as another template.
    pub(crate) fn renders_as(&self, other: &Self) -> bool {
        let parts = self.parts.iter().zip(&other.parts);
        self.kind == other.kind
            && self.parts.len() == other.parts.len()
            && parts.into_iter().all(|(one, two)| one.renders_as(two))
    }

    pub(crate) fn pieces(&self) -> Vec<Piece> {
        self.parts.iter().map(Part::piece).collect()
    }

    /// Every text the key can have.
    pub(crate) fn language(&self) -> Language {
        Language::of(&self.pieces())
    }
}

impl Part {
    /// Whether it renders the same text for the same values.
    pub(crate) fn renders_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Part::Literal(one), Part::Literal(two)) => one == two,
            (Part::Slot(one), Part::Slot(two)) => one.renders_as(two),
            _ => false,
        }
    }

    pub(crate) fn piece(&self) -> Piece {
        match self {
            Part::Literal(text) => Piece::Literal(text.clone()),
            Part::Slot(slot) => slot.piece(),
        }
    }
}
