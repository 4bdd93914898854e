//! The smallest database that fulfils the contract of `Model::change`: it applies the row and its companions,
//! and calls it again for each companion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_expr::{Condition, Kind, Placeholders};
use trestle_hook::{Becomes, By, Change, Companion, RowQuery, Rows};
use trestle_item::{AttributeValue, Item, Number};
use trestle_model::audit::{Audit, AuditOptions, Finding, Findings};
use trestle_model::{COPIES_KEY, COPIES_TABLE, COUNTS_KEY, COUNTS_TABLE, Model, Projection, Stopped, Table};

use crate::rows::{model, system};

/// A write of a transaction: the table, then the row, or a key and what is set there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Write<'a> {
    Put(&'a str, &'a str),
    Update(&'a str, &'a str, &'a str),
    Delete(&'a str, &'a str),
}

struct Written {
    table: String,
    key: Item,
    new: Option<Arc<Item>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Database {
    model: Model,
    /// By table and key.
    pub(crate) rows: BTreeMap<(String, String), Item>,
    pub(crate) now_ms: u64,
    /// How many rows the last write changed besides its own.
    pub(crate) followed: usize,
}

/// A row from a line: `text=a number:=1 set@=a,b truth?=true`, and anything in DynamoDB's JSON: `list*={"L":[…]}`.
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
        (name, "*") => (name.to_owned(), serde_json::from_str(value).unwrap()),
        _ => (name.to_owned(), value.into()),
    }
}

impl Rows for Database {
    fn get(&self, table_name: &str, key: &Item) -> Result<Option<Arc<Item>>, Error> {
        Ok(self.stored(table_name, key).map(Arc::new))
    }

    fn query(&self, query: &RowQuery) -> Result<Vec<Item>, Error> {
        let table = self.table(&query.table);
        let index = query.index.as_ref().map(|name| table.index(name).unwrap());
        let schema = index.map_or(table.key(), |index| &index.key);
        let printed = query.key_condition.print();
        query
            .key_condition
            .resolve(&schema.hash, &schema.range)
            .map_err(|error| Error::validation(error.to_string()))?;
        let mut placeholders = Placeholders::new(Some(&printed.names), Some(&printed.values));
        let condition = Condition::parse(Kind::Filter, &printed.text, &mut placeholders).unwrap();
        let all = self.rows.iter().filter(|((table, _), _)| *table == query.table);
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
        let mut own = [(COUNTS_TABLE, COUNTS_KEY), (COPIES_TABLE, COPIES_KEY)].into_iter();
        if let Some((_, key)) = own.find(|(own, _)| *own == table_name) {
            return (table_name.to_owned(), format!("{:?}", row.get(key).unwrap()));
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
        self.transact(&[Write::Put(table, line)])
    }

    /// TransactWriteItems.
    pub(crate) fn transact(&mut self, writes: &[Write<'_>]) -> Result<(), String> {
        let mut rows = Vec::new();
        for write in writes {
            rows.push(self.written(write)?);
        }
        let places = rows.iter().map(|row| self.place(&row.table, &row.key));
        if places.collect::<BTreeSet<_>>().len() < rows.len() {
            return Err("two writes of one row".to_owned());
        }
        self.write_all(rows, By::Client).map_err(|(_, refusal)| refusal)
    }

    /// The position of the write that a transaction is refused for, and why.
    pub(crate) fn blamed(&mut self, writes: &[Write<'_>]) -> (usize, String) {
        let rows = writes.iter().map(|write| self.written(write).unwrap()).collect();
        self.write_all(rows, By::Client).unwrap_err()
    }

    fn written(&self, write: &Write<'_>) -> Result<Written, String> {
        let (table, key, new) = match *write {
            Write::Put(table, line) => {
                let placed = self.model.place(table, item(line), self.now_ms);
                let placed = placed.map_err(|refusal| refusal.to_string())?;
                (table, placed.clone(), Some(placed))
            }
            Write::Update(table, key, line) => {
                let key = self.key(table, key);
                let mut new = self.stored(table, &key).unwrap_or_else(|| key.clone());
                for (name, value) in item(line) {
                    new.insert(name, value);
                }
                (table, key, Some(new))
            }
            Write::Delete(table, key) => (table, self.key(table, key), None),
        };
        Ok(Written {
            table: table.to_owned(),
            key,
            new: new.map(Arc::new),
        })
    }

    /// Writes a row with its keys, and nothing that follows from it.
    pub(crate) fn put_raw(&mut self, table: &str, line: &str) {
        let mut row = self.model.place(table, item(line), self.now_ms).unwrap();
        let derived = self.model.derive(table, None, &row, self.now_ms).unwrap();
        derived.unwrap().apply(&mut row);
        let place = self.place(table, &row);
        self.rows.insert(place, row);
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

    /// Raises a version, as a reindex does.
    pub(crate) fn touch(&mut self, table: &str, key: &str, line: &str) -> Result<(), String> {
        let key = self.key(table, key);
        let mut new = self.stored(table, &key).unwrap();
        for (name, value) in item(line) {
            new.insert(name, value);
        }
        self.write(table, &key, Some(new), By::Touch)
    }

    /// From here on, inserted rows of an entity get a version.
    pub(crate) fn set_version(&mut self, entity: &str, version: u64) {
        let versions = BTreeMap::from([(entity.to_owned(), version)]);
        self.model = self.model.with_versions_in_force(versions);
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

    /// A refusal stores nothing, as in the engine.
    fn write(&mut self, table: &str, key: &Item, new: Option<Item>, by: By) -> Result<(), String> {
        let written = Written {
            table: table.to_owned(),
            key: key.clone(),
            new: new.map(Arc::new),
        };
        self.write_all(vec![written], by).map_err(|(_, refusal)| refusal)
    }

    fn write_all(&mut self, writes: Vec<Written>, by: By) -> Result<(), (usize, String)> {
        let stored = |write: &Written| self.stored(&write.table, &write.key).map(Arc::new);
        let old: Vec<Option<Arc<Item>>> = writes.iter().map(stored).collect();
        let changes: Vec<Change<'_>> = writes
            .iter()
            .zip(&old)
            .map(|(write, old)| Change {
                table: &write.table,
                old: old.as_ref(),
                new: write.new.as_ref(),
                now: Timestamp::from_millis(self.now_ms),
                by,
            })
            .collect();
        let verdict = self.model.change(&changes, self);
        let verdict = verdict.map_err(|blamed| match blamed.why {
            Stopped::Refused(refusal) => (blamed.at, refusal.to_string()),
            Stopped::Rows(error) => panic!("{error}"),
        })?;
        let places: Vec<(String, String)> = writes
            .iter()
            .map(|write| self.place(&write.table, &write.key))
            .collect();
        // The removal of a missing row is not a change.
        let roots: Vec<(String, String)> = places
            .iter()
            .zip(writes.iter().zip(&old))
            .filter(|(_, (write, old))| write.new.is_some() || old.is_some())
            .map(|(place, _)| place.clone())
            .collect();
        for (at, (write, place)) in writes.into_iter().zip(&places).enumerate() {
            let becomes = verdict.row(at).clone();
            let is_as_written = becomes == Becomes::AsWritten;
            let row = becomes.apply(write.new.clone());
            assert_eq!(
                is_as_written,
                row == write.new,
                "a row that stays as it is written"
            );
            match row {
                Some(row) => {
                    assert_eq!(self.place(&write.table, &row), *place, "a row keeps its key");
                    self.rows.insert(place.clone(), Arc::unwrap_or_clone(row));
                }
                None => {
                    self.rows.remove(place);
                }
            }
        }
        self.followed = verdict.companions.len();
        for companion in verdict.companions {
            let place = self.place(&companion.table, &companion.key);
            assert!(
                !roots.contains(&place),
                "a companion that is a row of the request"
            );
            let before = self.stored(&companion.table, &companion.key);
            assert_ne!(
                before,
                companion.item.as_deref().cloned(),
                "a companion that changes nothing"
            );
            let followed = self.followed;
            let new = companion.item.map(Arc::unwrap_or_clone);
            self.write(&companion.table, &companion.key, new, By::Companion)
                .map_err(|refusal| (0, refusal))?;
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

impl Database {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms)
    }

    /// The findings of an audit, in the order of repairs.
    pub(crate) fn audit(&self, options: AuditOptions) -> Vec<Finding> {
        self.findings(options).in_order()
    }

    /// The findings of an audit that reads the rows in two parts.
    pub(crate) fn findings(&self, options: AuditOptions) -> Findings {
        let audit = Audit::new(&self.model, self.now(), options);
        let (mut survey, mut second) = (audit.survey(), audit.survey());
        for (at, ((table, _), row)) in self.rows.iter().enumerate() {
            let survey = if at % 2 == 0 { &mut survey } else { &mut second };
            survey.look(table, row, self).unwrap();
        }
        survey.merge(second);
        let surveyed = survey.finish();
        let mut found = surveyed.findings;
        for suspects in &surveyed.suspects {
            let (mut inquiry, mut second) = (audit.inquiry(suspects), audit.inquiry(suspects));
            for (at, ((table, _), row)) in self.rows.iter().enumerate() {
                let inquiry = if at % 2 == 0 { &mut inquiry } else { &mut second };
                inquiry.look(table, row, self).unwrap();
            }
            inquiry.merge(second);
            found.merge(inquiry.finish());
        }
        assert_eq!(found.total(), found.kept.len() as u64);
        found
    }

    /// The finding in short: kind, entity, and the present state.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let found = self.findings(AuditOptions::default()).kept;
        found
            .iter()
            .map(|f| format!("{} {}: {}", f.kind.name(), f.entity, f.there))
            .collect()
    }

    /// Stores rows as they are.
    pub(crate) fn store(&mut self, companions: Vec<Companion>) {
        for companion in companions {
            let place = self.place(&companion.table, &companion.key);
            match companion.item {
                Some(item) => self.rows.insert(place, Arc::unwrap_or_clone(item)),
                None => self.rows.remove(&place),
            };
        }
    }

    /// Repairs the findings of an audit until nothing can be repaired; returns the findings that are left.
    pub(crate) fn repair(&mut self, options: &AuditOptions) -> Vec<Finding> {
        for _ in 0..8 {
            let found = self.audit(options.clone());
            let (mendable, left): (Vec<_>, Vec<_>) = found.into_iter().partition(Finding::can_be_mended);
            if mendable.is_empty() {
                return left;
            }
            let mut mended = 0;
            for finding in &mendable {
                let Ok(companions) = self.model.mend(finding, self, self.now()) else {
                    continue;
                };
                mended += companions.len();
                self.store(companions);
            }
            if mended == 0 {
                return mendable.into_iter().chain(left).collect();
            }
        }
        panic!("never ends: {:?}", self.audit(options.clone()));
    }
}
