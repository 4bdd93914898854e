//! The row of another entity that a row refers to.

use trestle_item::Item;

use crate::effect::Pair;
use crate::entity::Entity;

/// What identifies the other entity's row, said with this row's attributes; `None` if one is missing.
pub(super) fn related(other: &Entity, with: &[Pair], item: &Item) -> Option<Item> {
    let identity = other.identity.iter().map(|name| {
        let pair = with.iter().find(|pair| pair.theirs == *name)?;
        Some((name.clone(), item.get(&pair.ours)?.clone()))
    });
    identity.collect()
}
