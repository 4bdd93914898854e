//! What a key condition says about the rows that it selects.

use trestle_expr::{KeyOp, KeySelection};
use trestle_item::{AttributeValue, Map, ScalarType};

use super::pair::given;
use crate::entity::Entity;
use crate::template::{KeyTemplate, Part, RenderError, Said, Slot};

/// What a selection of places says about each row of an entity that it selects; `None` if it selects none.
pub(super) fn said_by(entity: &Entity, selection: &KeySelection) -> Option<Said> {
    let mut said = Said::default();
    let mut templates = entity.table_key.iter();
    for (value, template) in selection.hash.iter().zip(templates.by_ref()) {
        template.read(value, &mut said)?;
    }
    let Some(sort) = templates.next() else {
        return Some(said);
    };
    if let Some(value) = selection.range_equal.first() {
        sort.read(value, &mut said)?;
    } else if sort.kind == ScalarType::S {
        sort.read_beginning(&beginning(selection), &mut said)?;
    }
    Some(said)
}

/// The common beginning of the first sort keys of a selection.
pub(super) fn beginning(selection: &KeySelection) -> String {
    if let Some(value) = selection.range_equal.first() {
        return value.as_s().unwrap_or_default().to_owned();
    }
    match &selection.range_last {
        Some(KeyOp::BeginsWith(value)) => value.as_s().unwrap_or_default().to_owned(),
        Some(KeyOp::Between(low, high)) => {
            common_beginning(low.as_s().unwrap_or_default(), high.as_s().unwrap_or_default())
        }
        _ => String::new(),
    }
}

pub(super) fn common_beginning(one: &str, two: &str) -> String {
    let characters = one.chars().zip(two.chars());
    characters
        .take_while(|(one, two)| one == two)
        .map(|(one, _)| one)
        .collect()
}

/// A template with known values filled in as text.
pub(super) struct Filled<'t> {
    /// What every key begins with.
    pub(super) beginning: String,
    rest: Vec<Open<'t>>,
}

/// A part of such a template after its beginning.
enum Open<'t> {
    Text(String),
    Slot(&'t Slot),
}

impl<'t> Filled<'t> {
    /// Fills in what is known. The error says that no row has such a key.
    pub(super) fn new(template: &'t KeyTemplate, said: &Said, constants: &Map) -> Result<Self, RenderError> {
        let mut filled = Filled {
            beginning: String::new(),
            rest: Vec::new(),
        };
        for part in &template.parts {
            match part.render_given(|slot| given(slot, said, constants)) {
                Ok(text) => filled.push_text(&text),
                Err(RenderError::Missing { .. }) => filled.push_slot(part),
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn push_text(&mut self, text: &str) {
        match self.rest.last_mut() {
            None => self.beginning.push_str(text),
            Some(Open::Text(last)) => last.push_str(text),
            Some(Open::Slot(_)) => self.rest.push(Open::Text(text.to_owned())),
        }
    }

    fn push_slot(&mut self, part: &'t Part) {
        if let Part::Slot(slot) = part {
            self.rest.push(Open::Slot(slot));
        }
    }

    /// Whether keys differ from those of another template only in their beginning.
    pub(super) fn goes_on_as(&self, other: &Self) -> bool {
        let parts = self.rest.iter().zip(&other.rest);
        self.rest.len() == other.rest.len()
            && parts.into_iter().all(|(one, two)| match (one, two) {
                (Open::Text(one), Open::Text(two)) => one == two,
                (Open::Slot(one), Open::Slot(two)) => one.renders_as(two),
                _ => false,
            })
    }
}

/// The sort keys of a partition that begin with a text.
pub(super) fn beginning_with(hash: Vec<AttributeValue>, text: String) -> KeySelection {
    let range_last = (!text.is_empty()).then_some(KeyOp::BeginsWith(AttributeValue::S(text)));
    KeySelection {
        hash,
        range_equal: Vec::new(),
        range_last,
    }
}
