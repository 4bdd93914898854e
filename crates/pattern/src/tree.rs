//! A pattern without `$or`, as a tree of fields, and how it is compared with an event.

use crate::comparison::Comparison;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Arrays in the event are followed to this depth; deeper values count as missing.
const EVENT_DEPTH_MAX: usize = 256;

/// The condition on a place in the event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// An object, or an array with an object, that has these fields.
    Fields(Vec<(String, Tree)>),
    /// One of these values.
    Leaf(Arc<Leaf>),
}

/// The alternatives of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    /// `{"exists": false}` is among them.
    pub(crate) may_be_absent: bool,
    pub(crate) comparisons: Vec<Comparison>,
}

/// The ways in which a place of the event can pass. Both, one or neither may be possible.
///
/// They are distinguished because of arrays: a value that passes selects its member of the array, and the
/// rest of the pattern applies to the same member; a field that must be absent selects none, so it must be
/// absent from all.
#[derive(Clone, Copy)]
struct Ways {
    /// A value passes, and all other conditions on its object hold.
    by_value: bool,
    /// There are only conditions that values are absent, and they are.
    by_absence: bool,
}

impl Ways {
    fn any(self) -> bool {
        self.by_value || self.by_absence
    }
}

impl Tree {
    pub(crate) fn matches(&self, event: &Value) -> bool {
        self.ways(Some(event), 0).any()
    }

    fn ways(&self, value: Option<&Value>, depth: usize) -> Ways {
        match (self, value) {
            (_, Some(Value::Array(members))) if depth < EVENT_DEPTH_MAX => self.among(members, depth + 1),
            (Tree::Fields(fields), Some(Value::Object(object))) => within(fields, Some(object), depth + 1),
            (Tree::Fields(fields), _) => within(fields, None, depth + 1),
            // Values are the leaves of an event; an object is not a value.
            (Tree::Leaf(leaf), None | Some(Value::Object(_) | Value::Array(_))) => Ways {
                by_value: false,
                by_absence: leaf.may_be_absent,
            },
            (Tree::Leaf(leaf), Some(value)) => Ways {
                by_value: leaf.comparisons.iter().any(|comparison| comparison.holds(value)),
                by_absence: false,
            },
        }
    }

    fn among(&self, members: &[Value], depth: usize) -> Ways {
        let mut found = Ways {
            by_value: false,
            by_absence: members.is_empty() && self.ways(None, depth).by_absence,
        };
        let mut absent_from_all = !members.is_empty();
        for member in members {
            let ways = self.ways(Some(member), depth);
            found.by_value |= ways.by_value;
            absent_from_all &= ways.by_absence;
        }
        found.by_absence |= absent_from_all;
        found
    }
}

fn within(fields: &[(String, Tree)], object: Option<&Map<String, Value>>, depth: usize) -> Ways {
    let mut found = Ways {
        by_value: false,
        by_absence: true,
    };
    let mut all = true;
    for (name, tree) in fields {
        let ways = tree.ways(object.and_then(|object| object.get(name)), depth);
        found.by_value |= ways.by_value;
        found.by_absence &= ways.by_absence;
        all &= ways.any();
        if !all {
            break;
        }
    }
    Ways {
        by_value: all && found.by_value,
        by_absence: all && found.by_absence,
    }
}
