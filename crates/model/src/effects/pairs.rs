//! The row of another entity that a row refers to.

use trestle_item::Item;

use crate::attribute::said;
use crate::effect::Pair;
use crate::entity::Entity;
use crate::refusal::Refusal;

/// The key of the other entity's row. If it has none, the refusal names the row that needs it.
pub(super) fn key_of_other(written: &Entity, other: &Entity, identity: &Item) -> Result<Item, Refusal> {
    other.key_from(identity).map_err(|cause| Refusal::Following {
        written: written.name.clone(),
        consequence: format!("need the row of entity {} with {}", other.name, said(identity)),
        cause: Box::new(cause),
    })
}

/// What identifies the other entity's row, from this row's attributes; `None` if one is missing.
pub(super) fn related(other: &Entity, with: &[Pair], item: &Item) -> Option<Item> {
    let identity = other.identity.iter().map(|name| {
        let pair = with.iter().find(|pair| pair.theirs == *name)?;
        Some((name.clone(), item.get(&pair.ours)?.clone()))
    });
    identity.collect()
}
