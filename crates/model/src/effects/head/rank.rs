//! Which row of a group is the newest.

use std::cmp::Ordering;

use trestle_item::{AttributeValue, Item};

use crate::attribute::{AttributeKind, semver};
use crate::effect::Head;
use crate::entity::Entity;

impl Head {
    /// Whether one row of `entity` is newer than another. A row that takes no part is older than any row that
    /// does.
    #[must_use]
    pub fn is_newer(&self, entity: &Entity, one: &Item, two: &Item) -> bool {
        let (Some(one), Some(two)) = (self.rank(one), self.rank(two)) else {
            return self.rank(one).is_some();
        };
        let ranked = self.newest_by.iter().zip(one.into_iter().zip(two));
        let mut decided = ranked.map(|(name, (one, two))| compared(entity, name, one, two));
        decided.find(|ordering| ordering.is_ne()) == Some(Ordering::Greater)
    }

    /// Whether a row can be the newest: it has all of [`Head::newest_by`] and none of [`Head::retired_by`].
    #[must_use]
    pub fn takes_part(&self, item: &Item) -> bool {
        self.rank(item).is_some()
    }

    /// The values that decide which row is the newest; `None` for a row that takes no part.
    pub(crate) fn rank<'i>(&self, item: &'i Item) -> Option<Vec<&'i AttributeValue>> {
        if self.retired_by.iter().any(|name| item.contains_key(name)) {
            return None;
        }
        self.newest_by.iter().map(|name| item.get(name)).collect()
    }
}

fn compared(entity: &Entity, name: &str, one: &AttributeValue, two: &AttributeValue) -> Ordering {
    let kind = entity.attribute(name).map(|attribute| attribute.kind);
    let ordering = match (kind, one, two) {
        // Without the final `Z`, a whole second sorts before its fractions.
        (Some(AttributeKind::Timestamp), AttributeValue::S(one), AttributeValue::S(two)) => {
            Some(one.trim_end_matches('Z').cmp(two.trim_end_matches('Z')))
        }
        // By precedence, then by build metadata. A text that is not a version, from before the model, is
        // older than any.
        (Some(AttributeKind::Semver), AttributeValue::S(one), AttributeValue::S(two)) => {
            Some(semver::parse(one).ok().cmp(&semver::parse(two).ok()))
        }
        _ => one.compare(two),
    };
    ordering.unwrap_or(Ordering::Greater)
}
