//! A key back to attributes.

use trestle_item::{AttributeValue, Item, ScalarType};

use super::{KeyTemplate, Part, Slot};

impl KeyTemplate {
    /// The attributes that a key was made of; `None` if it was not made by this template. A field folded to lower
    /// case cannot be read back and is left out.
    #[must_use]
    pub fn parse(&self, key: &AttributeValue) -> Option<Item> {
        let mut found = Item::new();
        if let Some(slot) = self.whole()
            && self.kind != ScalarType::S
        {
            slot.attribute.check(key).ok()?;
            found.insert(slot.attribute.name.as_str(), key.clone());
            return (key.scalar_type() == Some(self.kind)).then_some(found);
        }
        let mut rest = key.as_s()?;
        for part in &self.parts {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Slot(slot) => {
                    let (text, after) = split(slot, rest)?;
                    rest = after;
                    take(slot, text, &mut found)?;
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

/// The slot's text at the start of what is left: so many characters, or up to its separator, or everything.
fn split<'k>(slot: &Slot, rest: &'k str) -> Option<(&'k str, &'k str)> {
    let end = match (slot.fixed_length(), slot.ends_before) {
        (Some(length), _) => rest
            .char_indices()
            .map(|(at, _)| at)
            .chain([rest.len()])
            .nth(length)?,
        (None, Some(separator)) => rest.find(separator)?,
        (None, None) => rest.len(),
    };
    rest.split_at_checked(end)
}

fn take(slot: &Slot, text: &str, found: &mut Item) -> Option<()> {
    if slot.lower {
        let folded = !text.is_empty() && text.to_lowercase() == text;
        return folded.then_some(());
    }
    let value = slot.value(text)?;
    match found.insert(slot.attribute.name.as_str(), value.clone()) {
        Some(other) if other != value => None,
        _ => Some(()),
    }
}
