//! Random items, conditions, updates and queries from small domains, so that they collide.

use trestle_api::ReturnValue;
use trestle_item::{AttributeValue, Item, ScalarType};

use super::Model;
use super::shapes::SHAPES;
use crate::oracle::condition::Condition;
use crate::oracle::query::{Ask, Compare};
use crate::oracle::update::{Change, How};
use crate::oracle::{Action, Write};
use crate::support::{b, n, s};

/// Texts that share prefixes and contain bytes that are critical for a key encoding.
const TEXTS: &[&str] = &["a", "a\0", "a\0b", "a#b", "ab", "b/ü", "\u{10FFFF}", "é"];
const BYTES: &[&[u8]] = &[&[0], &[0, 0], &[0, 1], &[0xFF], &[0xFF, 0xFF], &[1, 0], b"a"];
const NUMBERS: &[i64] = &[-1000, -2, -1, 0, 1, 2, 10, 99, 100];
/// Attributes that are index keys of some table, with their types.
const INDEX_KEYS: &[(&str, ScalarType)] = &[
    ("gs", ScalarType::S),
    ("gs2", ScalarType::S),
    ("gn", ScalarType::N),
    ("gb", ScalarType::B),
];

impl Model<'_> {
    pub(super) fn draw_scalar(&mut self, kind: ScalarType) -> AttributeValue {
        match kind {
            ScalarType::S => s(*self.rng.choice(TEXTS).unwrap()),
            ScalarType::N => n(*self.rng.choice(NUMBERS).unwrap()),
            ScalarType::B => b(self.rng.choice(BYTES).unwrap()),
        }
    }

    fn draw_key(&mut self, shape: usize) -> Item {
        let keys = crate::support::Keys::parse(SHAPES[shape].keys);
        let parts: Vec<_> = keys.hash.into_iter().chain(keys.range).collect();
        parts
            .into_iter()
            .map(|(name, kind)| (name, self.draw_scalar(kind)))
            .collect()
    }

    /// A value for an index key attribute; sometimes one that the index refuses.
    fn draw_index_key(&mut self, kind: ScalarType) -> AttributeValue {
        if self.rng.u32(..40) == 0 {
            return self.draw_any();
        }
        self.draw_scalar(kind)
    }

    fn draw_any(&mut self) -> AttributeValue {
        match self.rng.u32(..9) {
            0 => AttributeValue::Bool(self.rng.bool()),
            1 => AttributeValue::Null,
            2 => AttributeValue::L(vec![self.draw_scalar(ScalarType::N), s("x")]),
            3 => AttributeValue::M(Item::from([("inner", self.draw_scalar(ScalarType::S))])),
            4 => s(""),
            5 => s("long".repeat(self.rng.usize(..300))),
            6 => self.draw_scalar(ScalarType::B),
            7 => self.draw_scalar(ScalarType::N),
            _ => self.draw_scalar(ScalarType::S),
        }
    }

    fn draw_item(&mut self, key: &Item) -> Item {
        let mut item = key.clone();
        for (name, kind) in INDEX_KEYS {
            if self.rng.u32(..3) > 0 {
                let value = self.draw_index_key(*kind);
                item.insert(*name, value);
            }
        }
        for name in ["d", "m"] {
            if self.rng.bool() {
                let value = self.draw_any();
                item.insert(name, value);
            }
        }
        if self.rng.bool() {
            let number = self.draw_scalar(ScalarType::N);
            item.insert("n", number);
        }
        if self.rng.u32(..3) == 0 {
            let until = self.draw_expiry();
            item.insert("ttl", until);
        }
        item
    }

    /// Always in the future, so that nothing expires before the clock moves; or not a time at all.
    fn draw_expiry(&mut self) -> AttributeValue {
        if self.rng.u32(..5) == 0 {
            return s("never");
        }
        let now = self.fixture().now().as_secs() as i64;
        n(now + self.rng.i64(0..60))
    }

    fn draw_condition(&mut self, names: &[&str], depth: u32) -> Condition {
        let name = (*self.rng.choice(names).unwrap()).to_owned();
        let choices = if depth == 0 { 5 } else { 8 };
        match self.rng.u32(..choices) {
            0 => Condition::Exists(name),
            1 => Condition::Missing(name),
            2 => Condition::Equal(name, self.draw_any()),
            3 => Condition::Less(name, self.draw_scalar(ScalarType::N)),
            4 => Condition::BeginsWith(name, (*self.rng.choice(&["a", "long", ""]).unwrap()).to_owned()),
            5 => Condition::And(
                Box::new(self.draw_condition(names, depth - 1)),
                Box::new(self.draw_condition(names, depth - 1)),
            ),
            6 => Condition::Or(
                Box::new(self.draw_condition(names, depth - 1)),
                Box::new(self.draw_condition(names, depth - 1)),
            ),
            _ => Condition::Not(Box::new(self.draw_condition(names, depth - 1))),
        }
    }

    fn draw_changes(&mut self) -> Vec<Change> {
        let mut names = vec!["gs", "gs2", "gn", "gb", "d", "m", "n", "l", "set", "ttl"];
        self.rng.shuffle(&mut names);
        names.truncate(self.rng.usize(1..=4));
        names
            .into_iter()
            .map(|name| Change {
                attribute: name.to_owned(),
                how: self.draw_how(name),
            })
            .collect()
    }

    fn draw_how(&mut self, name: &str) -> How {
        if self.rng.u32(..5) == 0 {
            return How::Remove;
        }
        if let Some((_, kind)) = INDEX_KEYS.iter().find(|(key, _)| *key == name) {
            return How::Set(self.draw_index_key(*kind));
        }
        match name {
            "ttl" => How::Set(self.draw_expiry()),
            "n" => match self.rng.u32(..4) {
                0 => How::SetSum((*self.rng.choice(&["n", "gn", "d"]).unwrap()).to_owned(), 5),
                _ => How::AddNumber(self.rng.i64(-50..50)),
            },
            "l" => How::Append(self.draw_any()),
            "set" => {
                let members = self.draw_members();
                match self.rng.u32(..5) {
                    0..2 => How::DeleteMembers(members),
                    _ => How::AddMembers(members),
                }
            }
            _ => match self.rng.u32(..4) {
                0 => How::SetIfMissing(self.draw_any()),
                1 => How::AddNumber(1),
                _ => How::Set(self.draw_any()),
            },
        }
    }

    fn draw_members(&mut self) -> Vec<String> {
        let mut members = vec!["x".to_owned(), "y".to_owned(), "z".to_owned()];
        self.rng.shuffle(&mut members);
        members.truncate(self.rng.usize(1..=3));
        members
    }

    pub(super) fn draw_unconditional(&mut self, shape: usize) -> Write {
        let key = self.draw_key(shape);
        let action = match self.rng.u32(..4) {
            0 => Action::Delete,
            _ => Action::Put(self.draw_item(&key)),
        };
        Write {
            table: SHAPES[shape].name.to_owned(),
            key,
            action,
            condition: None,
            show_on_failure: false,
            returns: ReturnValue::None,
        }
    }

    pub(super) fn draw_write(&mut self, shape: usize) -> Write {
        let mut write = self.draw_unconditional(shape);
        if self.rng.bool() {
            write.action = Action::Update(self.draw_changes());
        }
        let returns: &[ReturnValue] = match write.action {
            Action::Update(_) => &[
                ReturnValue::None,
                ReturnValue::AllOld,
                ReturnValue::AllNew,
                ReturnValue::UpdatedOld,
                ReturnValue::UpdatedNew,
            ],
            _ => &[ReturnValue::None, ReturnValue::AllOld],
        };
        write.returns = *self.rng.choice(returns).unwrap();
        if self.rng.u32(..3) == 0 {
            write.condition = Some(self.draw_condition(&["pk", "gs", "gn", "d", "n"], 2));
            write.show_on_failure = self.rng.bool();
        }
        write
    }

    /// Conditions in a transaction hold more often: otherwise hardly any transaction would succeed.
    pub(super) fn draw_in_transaction(&mut self, shape: usize) -> Write {
        let mut write = self.draw_write(shape);
        if self.rng.u32(..3) > 0 {
            write.condition = None;
        }
        if self.rng.u32(..6) == 0 {
            write.action = Action::Check;
            write.condition = Some(self.draw_condition(&["gs", "n"], 1));
        }
        // An empty key fails the request, not the item; `transactions.rs` is the place for that.
        if let Action::Put(item) = &mut write.action {
            item.retain(|name, value| *value != s("") || INDEX_KEYS.iter().all(|(key, _)| *key != name));
        }
        write.show_on_failure = false;
        write.returns = ReturnValue::None;
        write
    }

    pub(super) fn draw_source(&mut self, shape: usize) -> Option<String> {
        let indexes = &self.oracle.table(SHAPES[shape].name).indexes;
        let at = self.rng.usize(..=indexes.len());
        indexes.get(at).map(|index| index.name.clone())
    }

    pub(super) fn draw_ask(&mut self, shape: usize) -> Ask {
        let index = self.draw_source(shape);
        let table = self.oracle.table(SHAPES[shape].name);
        let keys = index
            .as_deref()
            .map_or(&table.keys, |name| &table.index(name).keys);
        let (hash, range) = (keys.hash.clone(), keys.range.clone());
        let kept = index
            .as_deref()
            .and_then(|name| table.projected_names(table.index(name)));
        let global = index.as_deref().is_some_and(|name| !table.index(name).local);
        let hash = hash
            .into_iter()
            .map(|(name, kind)| (name, self.draw_scalar(kind)))
            .collect();
        let is_kept = |name: &str| kept.as_ref().is_none_or(|kept| kept.iter().any(|k| k == name));
        let filters: Vec<&str> = ["n", "d", "m"].into_iter().filter(|name| is_kept(name)).collect();
        let filter = (!filters.is_empty() && self.rng.bool()).then(|| self.draw_condition(&filters, 1));
        let wanted = ["pk", "gs", "gn", "d", "l", "ttl"].into_iter();
        let wanted: Vec<String> = wanted
            .filter(|name| !global || is_kept(name))
            .map(str::to_owned)
            .collect();
        Ask {
            table: SHAPES[shape].name.to_owned(),
            index,
            hash,
            range: self.draw_range(&range),
            filter,
            attributes: (self.rng.u32(..4) == 0).then_some(wanted),
            forward: self.rng.bool(),
        }
    }

    /// Equalities for the first sort key attributes, any comparison for the next.
    fn draw_range(&mut self, range: &[(String, ScalarType)]) -> Vec<(String, Compare)> {
        let given = self.rng.usize(..=range.len());
        let mut compares = Vec::new();
        for (at, (name, kind)) in range.iter().take(given).enumerate() {
            let value = self.draw_scalar(*kind);
            let compare = if at + 1 < given {
                Compare::Equal(value)
            } else {
                self.draw_compare(*kind, value)
            };
            compares.push((name.clone(), compare));
        }
        compares
    }

    fn draw_compare(&mut self, kind: ScalarType, value: AttributeValue) -> Compare {
        match self.rng.u32(..8) {
            0 => Compare::Less(value),
            1 => Compare::LessOrEqual(value),
            2 => Compare::Greater(value),
            3 => Compare::GreaterOrEqual(value),
            4 => {
                let other = self.draw_scalar(kind);
                match value.compare(&other).unwrap().is_le() {
                    true => Compare::Between(value, other),
                    false => Compare::Between(other, value),
                }
            }
            5 | 6 if kind != ScalarType::N => Compare::BeginsWith(value),
            _ => Compare::Equal(value),
        }
    }
}
