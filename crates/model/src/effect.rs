//! Effects: what else a write changes in the same commit. Here they are data; the commit applies them.

use trestle_item::{AttributeValue, Map};

use crate::attribute::AttributeKind;

/// Something that a write of an entity causes.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A row that always holds the newest of a group.
    Head(Head),
    /// The other direction of a relation.
    Inverse(Inverse),
    /// A count of rows, each once.
    Counter(Counter),
    /// A value that no two rows share.
    Unique(Unique),
    /// Attributes taken from a row of another entity.
    Copy(Copy),
    /// A row for each member of an attribute.
    Entries(Entries),
    /// A row for each change of some attributes.
    History(History),
}

impl Effect {
    /// The entity of the rows that only this effect writes; `None` where it writes to rows of other entities.
    #[must_use]
    pub fn own_rows(&self) -> Option<&str> {
        match self {
            Self::Head(head) => Some(&head.entity),
            Self::Unique(unique) => Some(&unique.entity),
            Self::Entries(entries) => Some(&entries.entity),
            Self::History(history) => Some(&history.entity),
            Self::Inverse(_) | Self::Counter(_) | Self::Copy(_) => None,
        }
    }
}

/// A row that always holds the newest of a group: of the rows that share the head's identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The entity of the head, such as `layer.head`.
    pub entity: String,
    /// The attributes whose greatest values make a row the newest, compared in this order. Empty for a head
    /// that follows a row.
    pub newest_by: Vec<String>,
    /// The pointer that names the head's row, for heads that do not follow the newest row.
    pub follows: Option<Follows>,
    /// A row that has one of these attributes takes no part.
    pub retired_by: Vec<String>,
    /// Attributes of the rows that the head does not have.
    pub omit: Vec<String>,
    /// What the head remembers of its predecessor.
    pub previous: Vec<Remembered>,
    /// What happens to the row that becomes the newest.
    pub promote: Edit,
    /// What happens to the row that was the newest.
    pub demote: Edit,
}

/// A row of another entity that names the row of a head. All heads that follow it move with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follows {
    /// The entity of that row. Its identity is part of the head's identity.
    pub entity: String,
    /// Its attributes that, with the head's identity, identify a row of the group.
    pub named_by: Vec<String>,
}

/// An attribute of the head with a former value of its predecessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The head's attribute.
    pub attribute: String,
    /// The predecessor's.
    pub of: String,
}

/// A row for each change of some attributes of a row, in the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The entity of the history rows, such as `release.history`.
    pub entity: String,
    /// The attributes whose changes are kept.
    pub of: Vec<String>,
    /// The attribute with the time.
    pub at: String,
    /// The old values in a history row.
    pub previous: Vec<Remembered>,
    /// The most history rows that a row has.
    pub keep: usize,
    /// The time until a history row expires.
    pub expire_after_seconds: Option<u64>,
}

/// The changes to a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    /// Attributes to set.
    pub set: Map,
    /// Attributes to remove.
    pub remove: Vec<String>,
    /// The time until it expires.
    pub expire_after_seconds: Option<u64>,
}

impl Edit {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty() && self.expire_after_seconds.is_none()
    }
}

/// The other direction of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverse {
    /// Its name.
    pub name: String,
    /// The entity on the other side.
    pub entity: String,
    /// The form in which the other side keeps it.
    pub form: InverseForm,
}

/// The form in which the other side of a relation is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum InverseForm {
    /// A set on the other side's row collects this side's identities.
    Set {
        /// This side's attribute with the other side's identity, or with several.
        of: String,
        /// Whether that is a set.
        many: bool,
        /// This side's identifying attribute, whose values are collected.
        member: String,
        /// The other side's set.
        set: String,
    },
    /// A row for each row.
    Row {
        /// The other side's attributes, and this side's.
        with: Vec<Pair>,
    },
}

/// An attribute of the other entity, and the attribute of this one that it equals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Theirs.
    pub theirs: String,
    /// Ours.
    pub ours: String,
}

/// A count of rows, each once.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// The entity that holds the count.
    pub entity: String,
    /// How its row is found.
    pub with: Vec<Pair>,
    /// Its attribute that counts.
    pub attribute: String,
    /// By how much a row raises the count.
    pub by: Amount,
    /// Only rows with these values count.
    pub only: Vec<(String, AttributeValue)>,
    /// What makes two rows count as the same event.
    pub once: Once,
}

/// By how much a row raises the count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Always this.
    Fixed(i64),
    /// By the value of this attribute.
    Attribute(String),
}

/// What makes two rows the same event, which counts once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Once {
    /// The row's key: inserting counts, replacing does not, removing takes away.
    Row,
    /// These attributes, remembered in a set of the counting row.
    Event {
        /// The attributes of this entity.
        attributes: Vec<String>,
        /// The counting entity's set.
        seen: String,
    },
}

/// A value that no two rows share.
#[derive(Clone, Debug, PartialEq)]
pub struct Unique {
    /// Its name.
    pub name: String,
    /// The entity of the row that holds the value, such as `user.unique.email`.
    pub entity: String,
    /// The attributes that are unique together.
    pub attributes: Vec<String>,
}

/// Attributes taken from a row of another entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// Its name.
    pub name: String,
    /// The entity to copy from.
    pub from: String,
    /// How its row is found.
    pub with: Vec<Pair>,
    /// The attributes to copy.
    pub attributes: Vec<Pair>,
    /// The access pattern that finds the copies when the original changes; without it, copies do not change.
    pub in_step: Option<String>,
    /// Whether copies in step are updated in the background, after the commit of the original.
    pub background: bool,
}

/// A row for each member of an attribute: a list, a set or a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// Its name.
    pub name: String,
    /// The entity of the entries, such as `run.entries.by_tag`.
    pub entity: String,
    /// The attribute whose members they are.
    pub of: String,
    /// The parts of its member that an entry holds.
    pub member: Member,
    /// Further attributes of the row that its entries carry, sorted: projected attributes, and those in keys
    /// of indexes.
    pub project: Vec<String>,
}

/// The parts of its member that an entry holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// The member of a list or set.
    Element(MemberPart),
    /// The name and the value of a map's pair.
    Pair {
        /// The name.
        name: MemberPart,
        /// The attribute of the value, if entries have it.
        value: Option<MemberPart>,
    },
}

/// An attribute of an entry that holds a part of its member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPart {
    /// The attribute's name.
    pub attribute: String,
    /// Its type. A string holds the text of a string, of a number or of a boolean.
    pub kind: AttributeKind,
}

impl Member {
    /// The attributes that hold the parts of the member.
    pub fn parts(&self) -> impl Iterator<Item = &MemberPart> {
        let (first, second) = match self {
            Self::Element(part) => (part, None),
            Self::Pair { name, value } => (name, value.as_ref()),
        };
        std::iter::once(first).chain(second)
    }

    /// The attribute that distinguishes the entries of a row.
    #[must_use]
    pub fn identifying(&self) -> &MemberPart {
        match self {
            Self::Element(part) | Self::Pair { name: part, .. } => part,
        }
    }
}
