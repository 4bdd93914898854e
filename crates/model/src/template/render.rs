//! Attributes to a key.

use trestle_item::{AttributeValue, Item, ScalarType};

use super::{KeyTemplate, Part, Slot};

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
        /// Why not, as the rest of a sentence about it.
        reason: String,
    },
}

impl KeyTemplate {
    /// The key's value for an item.
    pub fn render(&self, item: &Item) -> Result<AttributeValue, RenderError> {
        self.render_from(|name| item.get(name))
    }

    /// The key's value for attributes that are found like this.
    pub(crate) fn render_from<'v>(
        &self,
        attribute: impl Fn(&str) -> Option<&'v AttributeValue>,
    ) -> Result<AttributeValue, RenderError> {
        if let Some(slot) = self.whole() {
            let value = find(slot, &attribute)?;
            return self
                .whole_value(slot, value)
                .map_err(|reason| unfit(slot, reason));
        }
        let mut text = String::with_capacity(self.source.len() + 16);
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Slot(slot) => {
                    let value = find(slot, &attribute)?;
                    text.push_str(&slot.text(value).map_err(|reason| unfit(slot, reason))?);
                }
            }
        }
        Ok(AttributeValue::S(text))
    }

    /// A key that is one attribute keeps its type if the key has it, too.
    pub(crate) fn whole_value(&self, slot: &Slot, value: &AttributeValue) -> Result<AttributeValue, String> {
        if self.kind == ScalarType::S {
            return slot.text(value).map(AttributeValue::S);
        }
        slot.attribute.check(value)?;
        match value {
            AttributeValue::B(bytes) if bytes.is_empty() => Err("is empty, and a key may not be".to_owned()),
            _ => Ok(value.clone()),
        }
    }
}

fn find<'v>(
    slot: &Slot,
    attribute: impl Fn(&str) -> Option<&'v AttributeValue>,
) -> Result<&'v AttributeValue, RenderError> {
    attribute(&slot.attribute.name).ok_or_else(|| RenderError::Missing {
        attribute: slot.attribute.name.clone(),
    })
}

fn unfit(slot: &Slot, reason: String) -> RenderError {
    RenderError::Unfit {
        attribute: slot.attribute.name.clone(),
        reason,
    }
}
