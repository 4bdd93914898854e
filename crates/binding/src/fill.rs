//! Rows that were there before the model: what they lack is filled in, and what follows from them is made.
//!
//! A row is filled in by a write that changes nothing. While rows are filled in, the hook takes such a write as the
//! row's first: then heads, inverses and unique values follow as they would have. Done twice, it changes nothing more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, Error, ErrorKind, UpdateItem, Wait};
use trestle_env::Timestamp;
use trestle_hook::{Becomes, By, Change, Companion, Former, Hook, Refused, Rows, Verdict};
use trestle_item::{AttributeValue, Item};
use trestle_model::{COUNTS_TABLE, Effect, Entity, Head, Model, Role, Table};

use crate::binding::row_counters;
use crate::models::{Models, asked, refused};
use crate::report::Misfit;
use crate::rows::{add, key_of, lacks, scan};
use crate::watcher::Watcher;

/// How many writes are under way together, so that they share commits.
const TOGETHER: usize = 256;

/// The hook while one model's rows are filled in.
#[derive(Debug)]
pub(crate) struct Filling {
    models: Models,
    model: Arc<Model>,
}

impl Filling {
    pub(crate) fn new(models: Models, model: Arc<Model>) -> Self {
        Filling { models, model }
    }

    fn fill(&self, change: &Change<'_>, row: &Arc<Item>, rows: &dyn Rows) -> Result<Verdict, Error> {
        let recognised = self.model.recognise(change.table, row);
        let Some(entity) = recognised.map_err(|refusal| refused(&refusal))? else {
            return Ok(Verdict::default());
        };
        let mut verdict = if *entity.role() == Role::Declared {
            self.first_write(entity, change, rows)?
        } else {
            self.derived(change, row)?
        };
        keep_time(entity, row, &mut verdict);
        Ok(verdict)
    }

    /// Heads and unique rows are the database's own: they are completed, and nothing follows from them.
    fn derived(&self, change: &Change<'_>, row: &Item) -> Result<Verdict, Error> {
        let derived = self
            .model
            .derive(change.table, Some(row), row, change.now.as_millis());
        let derived = derived.map_err(|refusal| refused(&refusal))?;
        let item = derived.map(|derived| {
            let mut item = row.clone();
            derived.apply(&mut item);
            Becomes::Item(Arc::new(item))
        });
        Ok(Verdict {
            rows: item.into_iter().collect(),
            ..Verdict::default()
        })
    }

    /// What would have followed had the row been written just now.
    fn first_write(&self, entity: &Entity, change: &Change<'_>, rows: &dyn Rows) -> Result<Verdict, Error> {
        // What the database keeps in the row is not given by a client, and stays as it is.
        let given = change.new.map(|row| Arc::new(without_kept(entity, row)));
        let asked_about = Change {
            old: None,
            new: given.as_ref(),
            ..*change
        };
        let mut first = self.asked(asked_about, rows)?;
        first
            .companions
            .retain(|companion| companion.table != COUNTS_TABLE && !self.is_counted(entity, companion));
        if let Some(row) = change.new {
            keep(entity, row, &mut first);
        }
        let head = first
            .companions
            .iter()
            .find(|companion| self.is_head(entity, companion));
        let Some(head) = head else { return Ok(first) };
        if rows.get(&head.table, &head.key)?.is_none() {
            return Ok(first);
        }
        // The group has a head, which may have been set back to an older row on purpose: it stays where it is.
        let mut kept = self.asked(*change, rows)?;
        let known = |companion: &Companion| {
            kept.companions
                .iter()
                .any(|known| known.key == companion.key && known.table == companion.table)
        };
        let others: Vec<Companion> = first
            .companions
            .into_iter()
            .filter(|companion| !self.is_of_group(entity, companion) && !known(companion))
            .collect();
        kept.companions.extend(others);
        Ok(kept)
    }

    fn asked(&self, change: Change<'_>, rows: &dyn Rows) -> Result<Verdict, Error> {
        asked(&self.model, &[change], rows).map_err(|refused| refused.error)
    }

    fn entity_of(&self, companion: &Companion) -> Option<&Entity> {
        let row = companion.item.as_deref().unwrap_or(&companion.key);
        self.model.recognise(&companion.table, row).ok().flatten()
    }

    fn is_counted(&self, entity: &Entity, companion: &Companion) -> bool {
        let Some(target) = self.entity_of(companion) else {
            return false;
        };
        row_counters(entity).any(|counter| counter.entity == target.name())
    }

    fn is_head(&self, entity: &Entity, companion: &Companion) -> bool {
        let target = self.entity_of(companion).map(Entity::name);
        heads(entity).any(|head| Some(head.entity.as_str()) == target)
    }

    fn is_of_group(&self, entity: &Entity, companion: &Companion) -> bool {
        self.is_head(entity, companion)
            || self
                .entity_of(companion)
                .is_some_and(|target| target.name() == entity.name())
    }
}

fn without_kept(entity: &Entity, row: &Item) -> Item {
    let mut row = row.clone();
    for kept in entity.kept() {
        row.remove(&kept.attribute);
    }
    row
}

/// Puts back what the database keeps in a row.
fn keep(entity: &Entity, row: &Item, verdict: &mut Verdict) {
    let stored = |name: &String| Some((name.clone(), row.get(name)?.clone()));
    let kept: Vec<_> = entity
        .kept()
        .iter()
        .filter_map(|kept| stored(&kept.attribute))
        .collect();
    if kept.is_empty() {
        return;
    }
    let Some(becomes) = verdict.rows.first_mut() else {
        return;
    };
    let mut item = match becomes {
        Becomes::Item(item) => Item::clone(item),
        _ => without_kept(entity, row),
    };
    for (name, value) in kept {
        item.insert(name, value);
    }
    *becomes = Becomes::Item(Arc::new(item));
}

/// Filling in is no change that a reader of the row should take note of.
fn keep_time(entity: &Entity, row: &Item, verdict: &mut Verdict) {
    if let (Some(updated), Some(Becomes::Item(item))) = (entity.updated(), verdict.rows.first_mut())
        && let Some(time) = row.get(updated)
    {
        Arc::make_mut(item).insert(updated, time.clone());
    }
}

fn heads(entity: &Entity) -> impl Iterator<Item = &Head> {
    entity.effects().iter().filter_map(|effect| match effect {
        Effect::Head(head) => Some(head),
        _ => None,
    })
}

impl Hook for Filling {
    fn covers(&self, table: &str) -> bool {
        self.models.covers(table)
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        self.models.former(table)
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        self.models.key(table, given)
    }

    fn place(&self, table: &str, item: Item, now: Timestamp) -> Result<Item, Error> {
        self.models.place(table, item, now)
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        match changes {
            [change]
                if change.by == By::Client
                    && change.new == change.old
                    && self.model.table(change.table).is_some() =>
            {
                match change.old {
                    Some(row) => Ok(self.fill(change, row, rows)?),
                    None => Ok(Verdict::default()),
                }
            }
            changes => self.models.change(changes, rows),
        }
    }
}

/// Fills in the rows of a table. Those that the model refuses are returned.
pub(crate) fn table(
    database: &dyn Database,
    model: &Model,
    name: &str,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Misfit>, Error> {
    let Some(table) = model.table(name) else {
        return Ok(Vec::new());
    };
    let mut writing = Writing {
        database,
        table,
        waiting: Vec::new(),
        written: 0,
        misfits: BTreeMap::new(),
        watcher,
    };
    // The newest of each group first, so that no row is promoted only to be demoted by the next.
    for key in newest(database, model, table)? {
        writing.write(key)?;
    }
    writing.finish()?;
    scan(database, name, |row| {
        if is_to_be_filled_in(model, table, row) {
            writing.write(key_of(table, row))?;
        }
        Ok(())
    })?;
    writing.finish()?;
    Ok(writing.misfits.into_values().collect())
}

fn is_to_be_filled_in(model: &Model, table: &Table, row: &Item) -> bool {
    match model.derive(table.table_name(), None, row, 0) {
        Ok(Some(derived)) => !derived.entity.effects().is_empty() || lacks(&derived, row),
        // A row of no entity in an open table; a row that does not fit says why when it is written.
        Ok(None) => false,
        Err(_) => true,
    }
}

/// The keys of the newest rows of all groups that have a head.
fn newest(database: &dyn Database, model: &Model, table: &Table) -> Result<Vec<Item>, Error> {
    if !model
        .entities_of(table)
        .any(|entity| heads(entity).next().is_some())
    {
        return Ok(Vec::new());
    }
    let mut newest: HashMap<String, Item> = HashMap::new();
    scan(database, table.table_name(), |row| {
        let Ok(Some(entity)) = model.recognise(table.table_name(), row) else {
            return Ok(());
        };
        let Some(identity) = entity.identify(row) else {
            return Ok(());
        };
        // Rows from before may have their identity only in their key.
        let mut row = row.clone();
        for (name, value) in identity {
            row.insert(name, value);
        }
        for head in heads(entity) {
            let Some(group) = group(model, head, &row) else {
                continue;
            };
            let known = newest.get(&group);
            if known.is_none_or(|known| head.is_newer(entity, &row, known)) {
                newest.insert(group, row.clone());
            }
        }
        Ok(())
    })?;
    Ok(newest.values().map(|row| key_of(table, row)).collect())
}

/// The head's identity, as text; `None` for a row that takes no part.
fn group(model: &Model, head: &Head, row: &Item) -> Option<String> {
    let of_head = model.entity(&head.entity)?.identity();
    let values: Vec<&AttributeValue> = of_head.iter().filter_map(|name| row.get(name)).collect();
    head.takes_part(row)
        .then(|| format!("{} {values:?}", head.entity))
}

/// Writes that change nothing, several under way together.
struct Writing<'a> {
    database: &'a dyn Database,
    table: &'a Table,
    waiting: Vec<Item>,
    written: u64,
    misfits: BTreeMap<String, Misfit>,
    watcher: &'a mut dyn Watcher,
}

impl Writing<'_> {
    fn write(&mut self, key: Item) -> Result<(), Error> {
        self.waiting.push(key);
        if self.waiting.len() < TOGETHER {
            return Ok(());
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Error> {
        let keys = std::mem::take(&mut self.waiting);
        let started: Vec<_> = keys
            .into_iter()
            .map(|key| (self.database.update_item(self.request(&key)), key))
            .collect();
        for (answer, key) in started {
            match answer.wait() {
                Ok(_) => self.written += 1,
                Err(error) if error.kind() == ErrorKind::Validation || error.taken_value().is_some() => {
                    add(&mut self.misfits, error.message().to_owned(), &"", &key);
                }
                // Removed meanwhile.
                Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => {}
                Err(error) => return Err(error),
            }
        }
        self.watcher
            .rows("filling in rows", self.table.table_name(), self.written);
        Ok(())
    }

    fn request(&self, key: &Item) -> UpdateItem {
        let mut names = BTreeMap::new();
        if let Some(attribute) = self.table.key().attributes().next() {
            names.insert("#k".to_owned(), attribute.name.clone());
        }
        UpdateItem {
            table_name: self.table.table_name().to_owned(),
            key: key.clone(),
            condition_expression: Some("attribute_exists(#k)".to_owned()),
            expression_attribute_names: Some(names),
            ..UpdateItem::default()
        }
    }
}
