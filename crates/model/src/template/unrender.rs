//! From a key back to attributes.

use trestle_item::{AttributeValue, Item, ScalarType};

use super::{KeyTemplate, Part, Slot};

/// What a key says about its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// The attributes that can be read back.
    pub(crate) values: Item,
    /// The texts of the attributes that are folded to lower case.
    pub(crate) folded: Item,
}

impl KeyTemplate {
    /// The attributes in a key; `None` if it does not match this template. A field folded to lower case
    /// cannot be read back and is left out.
    #[must_use]
    pub fn parse(&self, key: &AttributeValue) -> Option<Item> {
        let mut said = Said::default();
        self.read(key, &mut said)?;
        Some(said.values)
    }

    /// Whether a key has the beginning of all keys of this template. Cheaper than reading it.
    pub(crate) fn begins(&self, key: &AttributeValue) -> bool {
        self.begins_with(key.as_s().map(str::as_bytes))
    }

    /// The same for the bytes of a text; `None` for any other value.
    pub(crate) fn begins_with(&self, text: Option<&[u8]>) -> bool {
        match self.parts.first() {
            Some(Part::Literal(literal)) => text.is_some_and(|text| text.starts_with(literal.as_bytes())),
            _ => true,
        }
    }

    /// Adds what a key says; `None` if it does not match this template, or contradicts what is known.
    pub(crate) fn read(&self, key: &AttributeValue, said: &mut Said) -> Option<()> {
        if let Some(slot) = self.whole()
            && self.kind != ScalarType::S
        {
            slot.attribute.check(key).ok()?;
            let fits = key.scalar_type() == Some(self.kind);
            return note(&mut said.values, slot, key.clone()).filter(|()| fits);
        }
        let mut rest = key.as_s()?;
        for part in &self.parts {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Slot(slot) => {
                    let (text, after) = split(slot, rest)?;
                    rest = after;
                    take(slot, text, said)?;
                }
            }
        }
        rest.is_empty().then_some(())
    }

    /// Adds what every key with this beginning says: the fields that end within it. `None` if no key has this
    /// beginning.
    pub(crate) fn read_beginning(&self, text: &str, said: &mut Said) -> Option<()> {
        let mut rest = text;
        for part in &self.parts {
            match part {
                Part::Literal(literal) => match rest.strip_prefix(literal.as_str()) {
                    Some(after) => rest = after,
                    None => return literal.starts_with(rest).then_some(()),
                },
                Part::Slot(slot) => {
                    let ends = slot.fixed_length().is_some() || slot.ends_before.is_some();
                    let Some((text, after)) = split(slot, rest).filter(|_| ends) else {
                        return Some(());
                    };
                    rest = after;
                    take(slot, text, said)?;
                }
            }
        }
        rest.is_empty().then_some(())
    }
}

/// The slot's text at the start of the rest: a fixed number of characters, or up to its separator, or
/// everything.
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

fn take(slot: &Slot, text: &str, said: &mut Said) -> Option<()> {
    if slot.lower {
        note(&mut said.folded, slot, AttributeValue::S(slot.folded(text)?))
    } else {
        note(&mut said.values, slot, slot.value(text)?)
    }
}

fn note(known: &mut Item, slot: &Slot, value: AttributeValue) -> Option<()> {
    let name = slot.attribute.name.as_str();
    match known.get(name) {
        Some(other) => (*other == value).then_some(()),
        None => {
            known.insert(name, value);
            Some(())
        }
    }
}
