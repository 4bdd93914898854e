//! Conditions: what they mean, and how they are written for the engine.

use std::collections::BTreeMap;

use trestle_item::{AttributeValue, Item};

#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Exists(String),
    Missing(String),
    Equal(String, AttributeValue),
    Less(String, AttributeValue),
    BeginsWith(String, String),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    pub(crate) fn holds(&self, item: &Item) -> bool {
        match self {
            Self::Exists(name) => item.contains_key(name),
            Self::Missing(name) => !item.contains_key(name),
            Self::Equal(name, value) => item.get(name) == Some(value),
            Self::Less(name, value) => item
                .get(name)
                .and_then(|found| found.compare(value))
                .is_some_and(std::cmp::Ordering::is_lt),
            Self::BeginsWith(name, prefix) => {
                matches!(item.get(name), Some(AttributeValue::S(text)) if text.starts_with(prefix.as_str()))
            }
            Self::And(one, two) => one.holds(item) && two.holds(item),
            Self::Or(one, two) => one.holds(item) || two.holds(item),
            Self::Not(inner) => !inner.holds(item),
        }
    }
}

/// Collects names and values while expressions are written.
#[derive(Default)]
pub(crate) struct Writer {
    names: BTreeMap<String, String>,
    values: Item,
}

impl Writer {
    pub(crate) fn name(&mut self, attribute: &str) -> String {
        let placeholder = format!("#{attribute}");
        self.names.insert(placeholder.clone(), attribute.to_owned());
        placeholder
    }

    pub(crate) fn value(&mut self, value: impl Into<AttributeValue>) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value);
        placeholder
    }

    pub(crate) fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Exists(name) => format!("attribute_exists({})", self.name(name)),
            Condition::Missing(name) => format!("attribute_not_exists({})", self.name(name)),
            Condition::Equal(name, value) => format!("{} = {}", self.name(name), self.value(value.clone())),
            Condition::Less(name, value) => format!("{} < {}", self.name(name), self.value(value.clone())),
            Condition::BeginsWith(name, prefix) => {
                format!("begins_with({}, {})", self.name(name), self.value(prefix.clone()))
            }
            Condition::And(one, two) => format!("({}) AND ({})", self.condition(one), self.condition(two)),
            Condition::Or(one, two) => format!("({}) OR ({})", self.condition(one), self.condition(two)),
            Condition::Not(inner) => format!("NOT ({})", self.condition(inner)),
        }
    }

    pub(crate) fn names(&self) -> Option<BTreeMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    pub(crate) fn values(&self) -> Option<Item> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}
