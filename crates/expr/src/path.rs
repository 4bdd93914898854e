//! Document paths: `a.b[2].c`.

use std::fmt;

use trestle_item::{AttributeValue, Map};

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// `.name`, into a map.
    Name(String),
    /// `[index]`, into a list.
    Index(usize),
}

/// The location of a value: a top-level attribute, and steps into it.
///
/// Paths are ordered step by step, indexes by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The top-level attribute.
    pub attribute: String,
    /// The steps into it; empty for the attribute itself.
    pub steps: Vec<Step>,
}

impl Path {
    /// The path of a top-level attribute.
    #[must_use]
    pub fn top(attribute: impl Into<String>) -> Self {
        Self {
            attribute: attribute.into(),
            steps: Vec::new(),
        }
    }

    /// Whether this leads into an attribute rather than to it.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The value at this path.
    #[must_use]
    pub fn get<'m>(&self, item: &'m Map) -> Option<&'m AttributeValue> {
        self.steps
            .iter()
            .try_fold(item.get(&self.attribute)?, Step::into_value)
    }

    /// The value that contains this path's last step, and that step; outer `None` for a top-level attribute.
    pub(crate) fn holder<'m>(&self, item: &'m Map) -> Option<(Option<&'m AttributeValue>, &Step)> {
        let (last, before) = self.steps.split_last()?;
        let holder = item
            .get(&self.attribute)
            .and_then(|value| before.iter().try_fold(value, Step::into_value));
        Some((holder, last))
    }

    /// Like [`Path::holder`], mutable.
    pub(crate) fn holder_mut<'m>(
        &self,
        item: &'m mut Map,
    ) -> Option<(Option<&'m mut AttributeValue>, &Step)> {
        let (last, before) = self.steps.split_last()?;
        let attribute = item.get_mut(&self.attribute);
        let holder = attribute.and_then(|value| before.iter().try_fold(value, Step::into_value_mut));
        Some((holder, last))
    }
}

impl Step {
    fn into_value<'v>(value: &'v AttributeValue, step: &Self) -> Option<&'v AttributeValue> {
        match (value, step) {
            (AttributeValue::M(map), Self::Name(name)) => map.get(name),
            (AttributeValue::L(list), Self::Index(index)) => list.get(*index),
            _ => None,
        }
    }

    fn into_value_mut<'v>(value: &'v mut AttributeValue, step: &Self) -> Option<&'v mut AttributeValue> {
        match (value, step) {
            (AttributeValue::M(map), Self::Name(name)) => map.get_mut(name),
            (AttributeValue::L(list), Self::Index(index)) => list.get_mut(*index),
            _ => None,
        }
    }
}

/// The form used in messages: `[a, b, [2], c]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.attribute)?;
        for step in &self.steps {
            match step {
                Step::Name(name) => write!(f, ", {name}")?,
                Step::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}
