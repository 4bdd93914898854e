//! Queries and scans: which rows a table or index has, which of them match, in which order.

use trestle_item::{AttributeValue, Item};

use super::condition::{Condition, Writer};
use super::{Index, Key, Table, is_key_value, is_within_key_size, only};

/// A comparison with one sort key attribute.
#[derive(Clone, Debug)]
pub(crate) enum Compare {
    Equal(AttributeValue),
    Less(AttributeValue),
    LessOrEqual(AttributeValue),
    Greater(AttributeValue),
    GreaterOrEqual(AttributeValue),
    Between(AttributeValue, AttributeValue),
    BeginsWith(AttributeValue),
}

/// A query, as data.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) hash: Vec<(String, AttributeValue)>,
    pub(crate) range: Vec<(String, Compare)>,
    pub(crate) filter: Option<Condition>,
    pub(crate) attributes: Option<Vec<String>>,
    pub(crate) forward: bool,
}

/// What a query gives: for each item that passes the filter its place in the order, and what is shown of it.
pub(crate) struct Found {
    /// How many rows matched the key condition.
    pub(crate) scanned: u32,
    /// Rows with equal keys have no order among themselves.
    pub(crate) shown: Vec<(Key, Item)>,
}

impl Table {
    pub(crate) fn index(&self, name: &str) -> &Index {
        self.indexes.iter().find(|index| index.name == name).unwrap()
    }

    /// The rows of an index: items that have all its key attributes, as far as they are projected.
    pub(crate) fn index_rows(&self, index: &Index) -> Vec<Item> {
        let all_keys = |item: &&Item| {
            let mut parts = index.keys.hash.iter().chain(&index.keys.range);
            parts.all(|(name, kind)| item.get(name).is_some_and(|value| is_key_value(value, *kind)))
                && is_within_key_size(&index.keys, item)
        };
        let holders = self.items.values().filter(all_keys);
        holders.map(|item| self.projected(index, item)).collect()
    }

    fn projected(&self, index: &Index, item: &Item) -> Item {
        match self.projected_names(index) {
            Some(names) => only(item, &names),
            None => item.clone(),
        }
    }

    /// The attributes an index keeps; `None` is all.
    pub(crate) fn projected_names(&self, index: &Index) -> Option<Vec<String>> {
        let mut names = self.key_names();
        let parts = index.keys.hash.iter().chain(&index.keys.range);
        names.extend(parts.map(|(name, _)| name.clone()));
        match index.projection.as_str() {
            "ALL" => return None,
            "KEYS_ONLY" => {}
            more => names.extend(more.split(',').map(str::to_owned)),
        }
        Some(names)
    }

    pub(crate) fn rows(&self, index: Option<&str>) -> Vec<Item> {
        match index {
            Some(name) => self.index_rows(self.index(name)),
            None => self.items.values().cloned().collect(),
        }
    }

    pub(crate) fn query(&self, ask: &Ask) -> Found {
        let order: Vec<String> = match &ask.index {
            Some(name) => &self.index(name).keys,
            None => &self.keys,
        }
        .range
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
        let mut matching: Vec<Item> = self
            .rows(ask.index.as_deref())
            .into_iter()
            .filter(|row| ask.matches(row))
            .collect();
        let place = |row: &Item| Key(order.iter().map(|name| row.get(name).unwrap().clone()).collect());
        matching.sort_by_key(place);
        if !ask.forward {
            matching.reverse();
        }
        let scanned = matching.len() as u32;
        let passing = matching
            .into_iter()
            .filter(|row| ask.filter.as_ref().is_none_or(|filter| filter.holds(row)));
        let shown = passing.map(|row| (place(&row), self.shown(ask, row))).collect();
        Found { scanned, shown }
    }

    /// A local index fetches from the table what it does not keep.
    fn shown(&self, ask: &Ask, row: Item) -> Item {
        let Some(names) = &ask.attributes else {
            return row;
        };
        match &ask.index {
            Some(name) if self.index(name).local => only(self.get(&row).unwrap(), names),
            _ => only(&row, names),
        }
    }
}

impl Ask {
    fn matches(&self, row: &Item) -> bool {
        self.hash.iter().all(|(name, value)| row.get(name) == Some(value))
            && self
                .range
                .iter()
                .all(|(name, compare)| compare.holds(row.get(name).unwrap()))
    }

    pub(crate) fn key_condition(&self, writer: &mut Writer) -> String {
        let mut parts = Vec::new();
        for (name, value) in &self.hash {
            parts.push(format!("{} = {}", writer.name(name), writer.value(value.clone())));
        }
        for (name, compare) in &self.range {
            parts.push(compare.text(name, writer));
        }
        parts.join(" AND ")
    }
}

impl Compare {
    fn holds(&self, found: &AttributeValue) -> bool {
        let with = |value: &AttributeValue| found.compare(value).unwrap();
        match self {
            Self::Equal(value) => with(value).is_eq(),
            Self::Less(value) => with(value).is_lt(),
            Self::LessOrEqual(value) => with(value).is_le(),
            Self::Greater(value) => with(value).is_gt(),
            Self::GreaterOrEqual(value) => with(value).is_ge(),
            Self::Between(low, high) => with(low).is_ge() && with(high).is_le(),
            Self::BeginsWith(AttributeValue::S(prefix)) => found.as_s().unwrap().starts_with(prefix),
            Self::BeginsWith(AttributeValue::B(prefix)) => found.as_b().unwrap().starts_with(prefix),
            Self::BeginsWith(other) => panic!("no prefix: {other:?}"),
        }
    }

    fn text(&self, name: &str, writer: &mut Writer) -> String {
        let name = writer.name(name);
        let (operator, value) = match self {
            Self::Equal(value) => ("=", value),
            Self::Less(value) => ("<", value),
            Self::LessOrEqual(value) => ("<=", value),
            Self::Greater(value) => (">", value),
            Self::GreaterOrEqual(value) => (">=", value),
            Self::Between(low, high) => {
                let (low, high) = (writer.value(low.clone()), writer.value(high.clone()));
                return format!("{name} BETWEEN {low} AND {high}");
            }
            Self::BeginsWith(prefix) => {
                return format!("begins_with({name}, {})", writer.value(prefix.clone()));
            }
        };
        format!("{name} {operator} {}", writer.value(value.clone()))
    }
}
