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
        if let Some(slot) = self.whole() {
            let value = find(slot, item)?;
            return self
                .whole_value(slot, value)
                .map_err(|reason| unfit(slot, reason));
        }
        let mut text = String::with_capacity(self.source.len() + 16);
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Slot(slot) => {
                    let value = find(slot, item)?;
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

fn find<'i>(slot: &Slot, item: &'i Item) -> Result<&'i AttributeValue, RenderError> {
    item.get(&slot.attribute.name)
        .ok_or_else(|| RenderError::Missing {
            attribute: slot.attribute.name.clone(),
        })
}

fn unfit(slot: &Slot, reason: String) -> RenderError {
    RenderError::Unfit {
        attribute: slot.attribute.name.clone(),
        reason,
    }
}
