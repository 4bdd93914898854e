//! A hook for documents with versions, small enough to see through: keys from identity, a head with a count.

use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;
use trestle_api::{Error, Query};
use trestle_engine::{By, Companion, Hook, ItemChange, Rows, Verdict};
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item};

use crate::support::{n, number, s};

/// Documents (`D`): `id` and `version` are in the key `pk`, `sk`. Heads (`H`): one row for each `id` with the newest
/// version and the number of versions. Chains (`C`): a row `n` is followed by row `n - 1`, down to 0.
///
/// Attributes of a document make the hook do what a test is about: see [`Keeper::provoked`].
pub(super) struct Keeper {
    gate: Mutex<Receiver<()>>,
    /// What was asked about, by table and writer.
    pub(super) asked: Mutex<Vec<(String, By)>>,
}

impl Keeper {
    /// The hook, and what opens the gate for a document with `wait`.
    pub(super) fn new() -> (Self, Sender<()>) {
        let (open, gate) = channel();
        let gate = Mutex::new(gate);
        let asked = Mutex::default();
        (Self { gate, asked }, open)
    }

    /// What a document asks for by its attributes, besides its head.
    fn provoked(&self, change: &ItemChange<'_>, item: &Item) -> Result<Vec<Companion>, Error> {
        if item.contains_key("refused") {
            return Err(Error::validation("no such document, please"));
        }
        if item.contains_key("kept") && change.by == By::TimeToLive {
            return Err(Error::validation("this one stays"));
        }
        assert!(!item.contains_key("panics"), "a defect in the hook");
        if item.contains_key("waits") {
            self.gate.lock().recv().unwrap();
        }
        let mut companions = Vec::new();
        if item.contains_key("chain") {
            companions.push(link(number(item, "chain")));
        }
        if item.contains_key("many") {
            companions.extend((0..number(item, "many")).map(|at| Companion {
                table: "P".into(),
                key: Item::from([("pk", s(format!("many-{at}")))]),
                item: Some(Item::new()),
            }));
        }
        Ok(companions)
    }

    fn document(&self, change: &ItemChange<'_>, rows: &dyn Rows) -> Result<Verdict, Error> {
        let shown = change.new.or(change.old).unwrap();
        let mut companions = self.provoked(change, shown)?;
        let id = shown.get("pk").and_then(AttributeValue::as_s).unwrap();
        let id = id.strip_prefix("doc#").unwrap();
        let item = change.new.map(|new| {
            let mut item = new.clone();
            item.insert("id", s(id));
            item.insert("version", new.get("sk").unwrap().clone());
            item.insert("label", s(format!("{id}@{}", number(new, "sk"))));
            if let Some(author) = new.get("author") {
                item.insert("peers", n(peers(rows, author).unwrap()));
            }
            if new.contains_key("moves") {
                item.insert("sk", n(number(new, "sk") + 1));
            }
            item
        });
        if change.old.is_none() || change.new.is_none() {
            companions.push(head(change, rows, id)?);
        }
        Ok(Verdict { item, companions })
    }
}

/// The head of a document after one of its versions has come or gone.
fn head(change: &ItemChange<'_>, rows: &dyn Rows, id: &str) -> Result<Companion, Error> {
    let key = head_key(id);
    let before = rows.get("H", &key)?;
    let known = before.as_ref().map_or(0, |head| number(head, "versions"));
    let (latest, versions) = match change.new {
        Some(new) => {
            let newest = before.as_ref().map_or(i64::MIN, |head| number(head, "latest"));
            (number(new, "sk").max(newest), known + 1)
        }
        // The removed version is still there: the second newest may be the one that is left.
        None => (
            newest_but(rows, id, number(change.old.unwrap(), "sk"))?,
            known - 1,
        ),
    };
    let mut head = key.clone();
    head.insert("latest", n(latest));
    head.insert("versions", n(versions));
    if change.new.is_some_and(|new| new.contains_key("head_refused")) {
        head.insert("refused", true);
    }
    Ok(Companion {
        table: "H".into(),
        key,
        item: (versions > 0).then_some(head),
    })
}

fn newest_but(rows: &dyn Rows, id: &str, gone: i64) -> Result<i64, Error> {
    let query = Query {
        table_name: "D".into(),
        key_condition_expression: Some("pk = :p".into()),
        expression_attribute_values: Some(Item::from([(":p", s(format!("doc#{id}")))])),
        scan_index_forward: Some(false),
        limit: Some(2),
        ..Query::default()
    };
    let found = rows.query(&query)?;
    let mut versions = found.iter().map(|item| number(item, "sk"));
    Ok(versions.find(|version| *version != gone).unwrap_or(-1))
}

fn peers(rows: &dyn Rows, author: &AttributeValue) -> Result<i64, Error> {
    let query = Query {
        table_name: "D".into(),
        index_name: Some("by-author".into()),
        key_condition_expression: Some("author = :a".into()),
        expression_attribute_values: Some(Item::from([(":a", author.clone())])),
        ..Query::default()
    };
    Ok(rows.query(&query)?.len() as i64)
}

fn link(left: i64) -> Companion {
    Companion {
        table: "C".into(),
        key: Item::from([("pk", s(format!("link-{left}")))]),
        item: Some(Item::from([("left", n(left))])),
    }
}

pub(super) fn head_key(id: &str) -> Item {
    Item::from([("pk", s(format!("head#{id}")))])
}

impl Hook for Keeper {
    fn covers(&self, table: &str) -> bool {
        ["D", "H", "C"].contains(&table)
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        if table != "D" || given.contains_key("pk") {
            return Ok(given.clone());
        }
        match (
            given.get("id").and_then(AttributeValue::as_s),
            given.get("version"),
        ) {
            (Some(id), Some(version)) => Ok(Item::from([
                ("pk", s(format!("doc#{id}"))),
                ("sk", version.clone()),
            ])),
            _ => Err(Error::validation(
                "A document is identified by id and version: give both",
            )),
        }
    }

    fn place(&self, table: &str, mut item: Item, _: Timestamp) -> Result<Item, Error> {
        if table == "D" {
            let key = self.key(table, &item)?;
            for (name, value) in key
                .iter()
                .filter(|(name, _)| ["pk", "sk"].contains(&name.as_str()))
            {
                item.insert(name.clone(), value.clone());
            }
        }
        Ok(item)
    }

    fn change(&self, change: &ItemChange<'_>, rows: &dyn Rows) -> Result<Verdict, Error> {
        self.asked.lock().push((change.table.to_owned(), change.by));
        match (change.table, change.new) {
            ("D", _) => self.document(change, rows),
            ("H", _) if change.by == By::Client => Err(Error::validation(
                "A head follows from its documents: write those",
            )),
            ("H", Some(new)) if new.contains_key("refused") => Err(Error::validation("no such head, please")),
            ("C", Some(new)) if number(new, "left") > 0 => Ok(Verdict {
                item: None,
                companions: vec![link(number(new, "left") - 1)],
            }),
            _ => Ok(Verdict::default()),
        }
    }
}
