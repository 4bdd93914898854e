//! From attributes to a key.

use std::borrow::Cow;

use trestle_item::{AttributeValue, Item, ScalarType};

use super::{KeyTemplate, Part, Slot};

/// The known value of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'v> {
    /// Its value.
    Value(&'v AttributeValue),
    /// Its value, which is a text; for keys that are texts.
    Text(&'v str),
    /// Only its value in lower case; enough for a field that is folded.
    Folded(&'v str),
}

/// Why a key cannot be made from an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// The item lacks an attribute.
    Missing {
        /// The attribute.
        attribute: String,
    },
    /// An attribute cannot stand in the key.
    Unfit {
        /// The attribute.
        attribute: String,
        /// Why not; completes a sentence about the attribute.
        reason: String,
    },
}

impl KeyTemplate {
    /// The key's value for an item.
    pub fn render(&self, item: &Item) -> Result<AttributeValue, RenderError> {
        self.render_from(|name| item.get(name))
    }

    /// The key's value for the attributes that the function returns.
    pub(crate) fn render_from<'v>(
        &self,
        attribute: impl Fn(&str) -> Option<&'v AttributeValue>,
    ) -> Result<AttributeValue, RenderError> {
        self.render_given(|slot| attribute(&slot.attribute.name).map(Given::Value))
    }

    /// The key's value for the fields that the function returns.
    pub(crate) fn render_given<'v>(
        &self,
        given: impl Fn(&Slot) -> Option<Given<'v>>,
    ) -> Result<AttributeValue, RenderError> {
        self.render_parts(|_, slot| given(slot))
    }

    /// The same, with the positions of the parts.
    pub(crate) fn render_parts<'v>(
        &self,
        given: impl Fn(usize, &Slot) -> Option<Given<'v>>,
    ) -> Result<AttributeValue, RenderError> {
        if let Some(slot) = self.whole()
            && let Some(Given::Value(value)) = given(0, slot)
        {
            let value = self.whole_value(slot, value);
            return value.map_err(|reason| unfit(slot, reason));
        }
        let mut text = String::with_capacity(self.source.len() + 16);
        for (at, part) in self.parts.iter().enumerate() {
            text.push_str(&part.render_given(|slot| given(at, slot))?);
        }
        Ok(AttributeValue::S(text))
    }

    /// A key that is one attribute keeps its type if the key has it, too.
    pub(crate) fn whole_value(&self, slot: &Slot, value: &AttributeValue) -> Result<AttributeValue, String> {
        if self.kind == ScalarType::S {
            return slot.text(value).map(|text| AttributeValue::S(text.into_owned()));
        }
        slot.attribute.check(value)?;
        match value {
            AttributeValue::B(bytes) if bytes.is_empty() => Err("is empty, and a key may not be".to_owned()),
            _ => Ok(value.clone()),
        }
    }
}

impl Part {
    /// Its text in a key.
    pub(crate) fn render_given<'t, 'v: 't>(
        &'t self,
        given: impl Fn(&Slot) -> Option<Given<'v>>,
    ) -> Result<Cow<'t, str>, RenderError> {
        let slot = match self {
            Part::Literal(literal) => return Ok(Cow::Borrowed(literal)),
            Part::Slot(slot) => slot,
        };
        let text = match given(slot) {
            Some(Given::Value(value)) => slot.text(value),
            Some(Given::Text(text)) => slot.text_of(text),
            Some(Given::Folded(text)) => slot.folded_text(text),
            None => {
                let attribute = slot.attribute.name.clone();
                return Err(RenderError::Missing { attribute });
            }
        };
        text.map_err(|reason| unfit(slot, reason))
    }
}

fn unfit(slot: &Slot, reason: String) -> RenderError {
    RenderError::Unfit {
        attribute: slot.attribute.name.clone(),
        reason,
    }
}
