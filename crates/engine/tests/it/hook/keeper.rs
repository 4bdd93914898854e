//! A hook for documents with versions, small and simple: keys from identity, a head with a count.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_expr::{KeyCondition, KeyOp, KeyTerm};
use trestle_hook::{Becomes, By, Change, Companion, Edits, Hook, Refused, RowQuery, Rows, Verdict};
use trestle_item::{AttributeValue, Item};

use crate::support::{n, number, s};

/// Documents (`D`): `id` and `version` are in the key `pk`, `sk`. Heads (`H`): one row for each `id` with the newest
/// version and the number of versions. Chains (`C`): a row `n` is followed by row `n - 1`, down to 0.
///
/// Attributes of a document trigger the behaviour that a test needs: see [`Keeper::provoked`].
pub(super) struct Keeper {
    gate: Mutex<Receiver<()>>,
    /// The calls: the tables and writers of each request.
    pub(super) asked: Mutex<Vec<Vec<(String, By)>>>,
}

impl Keeper {
    /// The hook, and the sender that unblocks a document with `wait`.
    pub(super) fn new() -> (Self, Sender<()>) {
        let (open, gate) = channel();
        let gate = Mutex::new(gate);
        let asked = Mutex::default();
        (Self { gate, asked }, open)
    }

    /// The companions that a document requests by its attributes, besides its head.
    fn provoked(&self, change: &Change<'_>, item: &Item) -> Result<Vec<Companion>, Error> {
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
                item: Some(Arc::default()),
            }));
        }
        Ok(companions)
    }

    fn document(
        &self,
        change: &Change<'_>,
        gone: &[&Item],
        rows: &dyn Rows,
        companions: &mut Vec<Companion>,
    ) -> Result<Becomes, Error> {
        let shown = change.new.or(change.old).unwrap();
        companions.extend(self.provoked(change, shown)?);
        let id = shown.get("pk").and_then(AttributeValue::as_s).unwrap();
        let id = id.strip_prefix("doc#").unwrap();
        if change.old.is_none() || change.new.is_none() {
            let key = head_key(id);
            let known = companions.iter().position(|companion| companion.key == key);
            let before = match known.map(|at| companions.remove(at)) {
                Some(companion) => companion.item,
                None => rows.get("H", &key)?,
            };
            companions.push(head(change, before.as_deref(), gone, rows, id)?);
        }
        let Some(new) = change.new else {
            return Ok(Becomes::AsWritten);
        };
        let mut item = Item::clone(new);
        item.insert("id", s(id));
        item.insert("version", new.get("sk").unwrap().clone());
        item.insert("label", s(format!("{id}@{}", number(new, "sk"))));
        if let Some(author) = new.get("author") {
            item.insert("peers", n(peers(rows, author).unwrap()));
        }
        if new.contains_key("moves") {
            item.insert("sk", n(number(new, "sk") + 1));
        }
        Ok(Becomes::Item(Arc::new(item)))
    }

    fn row(
        &self,
        change: &Change<'_>,
        gone: &[&Item],
        rows: &dyn Rows,
        companions: &mut Vec<Companion>,
    ) -> Result<Becomes, Error> {
        match (change.table, change.new) {
            ("D", _) => return self.document(change, gone, rows, companions),
            ("H", _) if change.by == By::Client => {
                return Err(Error::validation(
                    "A head follows from its documents: write those",
                ));
            }
            ("H", Some(new)) if new.contains_key("refused") => {
                return Err(Error::validation("no such head, please"));
            }
            ("C", Some(new)) if number(new, "left") > 0 => companions.push(link(number(new, "left") - 1)),
            _ => {}
        }
        Ok(Becomes::AsWritten)
    }
}

/// The head of a document after one of its versions was added or removed.
fn head(
    change: &Change<'_>,
    before: Option<&Item>,
    gone: &[&Item],
    rows: &dyn Rows,
    id: &str,
) -> Result<Companion, Error> {
    let key = head_key(id);
    let known = before.map_or(0, |head| number(head, "versions"));
    let (latest, versions) = match change.new {
        Some(new) => {
            let newest = before.map_or(i64::MIN, |head| number(head, "latest"));
            (number(new, "sk").max(newest), known + 1)
        }
        // The removed versions are still stored: the newest of the others is the new head.
        None => (newest_but(rows, id, gone)?, known - 1),
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
        item: (versions > 0).then_some(Arc::new(head)),
    })
}

fn newest_but(rows: &dyn Rows, id: &str, gone: &[&Item]) -> Result<i64, Error> {
    let found = rows.query(&all("D", None, "pk", s(format!("doc#{id}"))))?;
    let left = found.iter().filter(|row| !gone.contains(row));
    Ok(left.map(|item| number(item, "sk")).max().unwrap_or(-1))
}

fn peers(rows: &dyn Rows, author: &AttributeValue) -> Result<i64, Error> {
    let found = rows.query(&all("D", Some("by-author"), "author", author.clone()))?;
    Ok(found.len() as i64)
}

/// All rows of a partition.
fn all(table: &str, index: Option<&str>, attribute: &str, value: AttributeValue) -> RowQuery {
    let term = KeyTerm {
        attribute: attribute.into(),
        op: KeyOp::Eq(value),
    };
    RowQuery {
        table: table.into(),
        index: index.map(str::to_owned),
        key_condition: KeyCondition { terms: vec![term] },
        filter: None,
        limit: None,
        is_guarded: false,
    }
}

fn link(left: i64) -> Companion {
    Companion {
        table: "C".into(),
        key: Item::from([("pk", s(format!("link-{left}")))]),
        item: Some(Arc::new(Item::from([("left", n(left))]))),
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

    fn place(&self, table: &str, item: &Item, _: Timestamp) -> Result<Edits, Error> {
        if table != "D" {
            return Ok(Edits::default());
        }
        let mut key = self.key(table, item)?;
        key.retain(|name, _| ["pk", "sk"].contains(&name));
        Ok(Edits {
            set: key.into_iter().collect(),
            ..Edits::default()
        })
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        let asked = changes.iter().map(|change| (change.table.to_owned(), change.by));
        self.asked.lock().push(asked.collect());
        let removed = changes.iter().filter(|change| change.new.is_none());
        let gone: Vec<&Item> = removed
            .filter_map(|change| change.old.map(|old| &**old))
            .collect();
        let mut verdict = Verdict::default();
        for (at, change) in changes.iter().enumerate() {
            let becomes = self.row(change, &gone, rows, &mut verdict.companions);
            verdict
                .rows
                .push(becomes.map_err(|error| Refused { at: Some(at), error })?);
        }
        Ok(verdict)
    }
}
