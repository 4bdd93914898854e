//! The smallest database that honours the contract of `Model::change`: it applies the row and its companions, and asks
//! about each companion again.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_expr::{Condition, Kind, Placeholders};
use trestle_item::{AttributeValue, Item, Number};
use trestle_model::{
    By, COUNTS_KEY, COUNTS_TABLE, Change, Model, Projection, RowQuery, Rows, Stopped, Table,
};

use crate::rows::{model, system};

#[derive(Clone, Debug)]
pub(crate) struct Database {
    model: Model,
    /// By table and key.
    pub(crate) rows: BTreeMap<(String, String), Item>,
    pub(crate) now_ms: u64,
    /// How many rows the last write changed besides its own.
    pub(crate) followed: usize,
}

/// A row from a line: `text=a number:=1 set@=a,b truth?=true`.
pub(crate) fn item(line: &str) -> Item {
    line.split_whitespace().map(attribute).collect()
}

fn attribute(word: &str) -> (String, AttributeValue) {
    let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("{word}"));
    match name.split_at(name.len() - 1) {
        (name, ":") => (name.to_owned(), AttributeValue::N(Number::parse(value).unwrap())),
        (name, "@") => {
            let members = value.split(',').map(str::to_owned).collect();
            (name.to_owned(), AttributeValue::string_set(members).unwrap())
        }
        (name, "?") => (name.to_owned(), AttributeValue::Bool(value == "true")),
        _ => (name.to_owned(), value.into()),
    }
}

impl Rows for Database {
    type Error = String;

    fn get(&self, table_name: &str, key: &Item) -> Result<Option<Arc<Item>>, String> {
        Ok(self.stored(table_name, key).map(Arc::new))
    }

    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, String> {
        let table = self.table(&query.table_name);
        let index = query.index.as_ref().map(|name| table.index(name).unwrap());
        let schema = index.map_or(table.key(), |index| &index.key);
        let printed = query.key_condition.print();
        query
            .key_condition
            .resolve(&schema.hash, &schema.range)
            .map_err(|error| error.to_string())?;
        let mut placeholders = Placeholders::new(Some(&printed.names), Some(&printed.values));
        let condition = Condition::parse(Kind::Filter, &printed.text, &mut placeholders).unwrap();
        let all = self
            .rows
            .iter()
            .filter(|((table, _), _)| *table == query.table_name);
        let all = all.map(|(_, row)| row);
        let found = all.filter(|row| {
            schema.attributes().all(|key| row.contains_key(&key.name))
                && condition.holds(row)
                && query.filter.as_ref().is_none_or(|filter| filter.holds(row))
        });
        Ok(found
            .map(|row| {
                let mut row = row.clone();
                if let Some(index) = index {
                    row.retain(|name, _| {
                        let is_key = |key: &trestle_expr::KeyAttribute| key.name == name;
                        table.key().attributes().any(is_key)
                            || index.key.attributes().any(is_key)
                            || match &index.projection {
                                Projection::All => true,
                                Projection::Keys => false,
                                Projection::Include(names) => names.iter().any(|known| known == name),
                            }
                    });
                }
                row
            })
            .collect())
    }
}

impl Database {
    pub(crate) fn new(text: &str) -> Self {
        Self::of(model(text))
    }

    pub(crate) fn system(name: &str) -> Self {
        Self::of(system(name))
    }

    fn of(model: Model) -> Self {
        Database {
            model,
            rows: BTreeMap::new(),
            now_ms: 1_577_734_334_000,
            followed: 0,
        }
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    fn table(&self, table_name: &str) -> &Table {
        self.model.table(table_name).unwrap()
    }

    fn place(&self, table_name: &str, row: &Item) -> (String, String) {
        if table_name == COUNTS_TABLE {
            return (
                table_name.to_owned(),
                format!("{:?}", row.get(COUNTS_KEY).unwrap()),
            );
        }
        let key: Vec<String> = self
            .table(table_name)
            .key()
            .attributes()
            .map(|key| format!("{:?}", row.get(&key.name).unwrap()))
            .collect();
        (table_name.to_owned(), key.join(" "))
    }

    /// PutItem.
    pub(crate) fn put(&mut self, table: &str, line: &str) -> Result<(), String> {
        let placed = self.model.place(table, item(line), self.now_ms);
        let placed = placed.map_err(|refusal| refusal.to_string())?;
        self.write(table, &placed.clone(), Some(placed), By::Client)
    }

    /// UpdateItem: sets what the line says, and removes what is named.
    pub(crate) fn update(
        &mut self,
        table: &str,
        key: &str,
        line: &str,
        remove: &[&str],
    ) -> Result<(), String> {
        let key = self.key(table, key);
        let mut new = self.stored(table, &key).unwrap_or_else(|| key.clone());
        for (name, value) in item(line) {
            new.insert(name, value);
        }
        for name in remove {
            new.remove(name);
        }
        self.write(table, &key, Some(new), By::Client)
    }

    pub(crate) fn delete(&mut self, table: &str, key: &str) -> Result<(), String> {
        let key = self.key(table, key);
        self.write(table, &key, None, By::Client)
    }

    pub(crate) fn expire(&mut self, table: &str, key: &str) {
        let key = self.key(table, key);
        self.write(table, &key, None, By::TimeToLive).unwrap();
    }

    fn key(&self, table: &str, key: &str) -> Item {
        self.model.key_of(table, &item(key)).unwrap()
    }

    fn stored(&self, table: &str, key: &Item) -> Option<Item> {
        self.rows.get(&self.place(table, key)).cloned()
    }

    pub(crate) fn row(&self, table: &str, key: &str) -> Option<Item> {
        self.stored(table, &self.key(table, key))
    }

    /// The rows of a table.
    pub(crate) fn all(&self, table: &str) -> impl Iterator<Item = &Item> {
        let rows = self.rows.iter();
        rows.filter(move |((of, _), _)| of == table).map(|(_, row)| row)
    }

    /// A refusal leaves nothing behind, as it does in the engine.
    fn write(&mut self, table: &str, key: &Item, new: Option<Item>, by: By) -> Result<(), String> {
        let old = self.stored(table, key);
        let changed = self.model.change(
            &Change {
                table_name: table,
                old: old.as_ref(),
                new: new.as_ref(),
                now_ms: self.now_ms,
                by,
            },
            self,
        );
        let changed = changed.map_err(|stopped| match stopped {
            Stopped::Refused(refusal) => refusal.to_string(),
            Stopped::Rows(error) => panic!("{error}"),
        })?;
        let place = self.place(table, key);
        match changed.item.or(new) {
            Some(row) => {
                assert_eq!(self.place(table, &row), place, "a row keeps its key");
                self.rows.insert(place, row);
            }
            None => {
                self.rows.remove(&place);
            }
        }
        self.followed = changed.companions.len();
        for companion in changed.companions {
            let before = self.stored(&companion.table_name, &companion.key);
            assert_ne!(before, companion.item, "a companion that changes nothing");
            let followed = self.followed;
            self.write(
                &companion.table_name,
                &companion.key,
                companion.item,
                By::Companion,
            )?;
            assert_eq!(self.followed, 0, "what follows from companions is among them");
            self.followed = followed;
        }
        Ok(())
    }
}

/// The attributes of a row as one line, without those named.
pub(crate) fn line(row: &Item, without: &[&str]) -> String {
    let words = row.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    let words = words.map(|(name, value)| match value {
        AttributeValue::S(text) => format!("{name}={text}"),
        AttributeValue::N(number) => format!("{name}:={number}"),
        AttributeValue::Ss(members) => format!("{name}@={}", members.join(",")),
        AttributeValue::Bool(truth) => format!("{name}?={truth}"),
        other => format!("{name}={other:?}"),
    });
    let mut words: Vec<String> = words.collect();
    words.sort();
    words.join(" ")
}
