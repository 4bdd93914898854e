//! Reads every row of a table before anything moves: how many rows will move, which ones could not, and which
//! reads will be slow meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use trestle_api::{Error, GetItem};
use trestle_binding::TableRows;
use trestle_binding::clearing::Leftovers;
use trestle_binding::rows::{Inspection, key_of, reason};
use trestle_expr::KeySelection;
use trestle_hook::Host;
use trestle_item::Item;
use trestle_model::{AccessPattern, KeySchema, LayoutChange, Model, Operation, Table};

use crate::call::call;
use crate::watcher::Watcher;

/// Two rows for one place.
const TAKEN: &str = "the place it belongs in is taken by another row: remove one of the two";

/// Rows that are read together.
const PAGE: usize = 500;

/// Surveys the rows of one table.
pub(crate) struct Survey<'m> {
    host: &'m dyn Host,
    layout_change: &'m LayoutChange,
    /// The migration that is rolled back, if this is a rollback.
    come: Option<&'m LayoutChange>,
    model: &'m Model,
    table: &'m Table,
    inspection: Inspection<'m>,
    moves: BTreeMap<String, u64>,
    slow: BTreeSet<String>,
}

/// The result for a table.
pub(crate) struct Surveyed {
    pub(crate) rows: TableRows,
    /// How many rows of each entity move.
    pub(crate) moves: BTreeMap<String, u64>,
    /// Access patterns that read the whole table while rows move.
    pub(crate) slow: BTreeSet<String>,
}

impl<'m> Survey<'m> {
    pub(crate) fn new(
        host: &'m dyn Host,
        layout_change: &'m LayoutChange,
        model: &'m Model,
        table: &'m Table,
        now_ms: u64,
    ) -> Self {
        Survey {
            host,
            layout_change,
            come: None,
            model,
            table,
            inspection: Inspection::new(model, table, now_ms),
            moves: BTreeMap::new(),
            slow: BTreeSet::new(),
        }
    }

    /// In a rollback, finds rows that have not moved yet and need not move back.
    pub(crate) fn of_way_back(self, come: Option<&'m LayoutChange>) -> Self {
        Survey { come, ..self }
    }

    /// Recognises rows that are still to be removed.
    pub(crate) fn leaving(self, leftovers: Vec<Leftovers>) -> Self {
        Survey {
            inspection: self.inspection.leaving(leftovers),
            ..self
        }
    }

    /// Receives every row in its stored place.
    pub(crate) fn run(mut self, watcher: &mut dyn Watcher) -> Result<Surveyed, Error> {
        let name = self.table.table_name();
        let mut from = None;
        loop {
            let page = self.host.lying(name, from.as_deref(), PAGE)?;
            for row in &page.rows {
                self.look_at(row)?;
                watcher.rows("checking rows", name, self.inspection.looked_at());
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        Ok(Surveyed {
            rows: self.inspection.finish(),
            moves: self.moves,
            slow: self.slow,
        })
    }

    fn look_at(&mut self, row: &Item) -> Result<(), Error> {
        let name = self.table.table_name();
        if self.come.is_some_and(|come| come.is_former(name, row)) {
            self.inspection.stays();
            return Ok(());
        }
        if !self.layout_change.is_former(name, row) {
            return self.stays(row);
        }
        let renewed = match self.layout_change.renew(name, row) {
            Ok(renewed) => renewed,
            Err(refusal) => {
                return self.inspection.misfit(reason(&refusal), &refusal, row);
            }
        };
        if let Err(error) = self.host.could_hold(name, &renewed) {
            return self.inspection.misfit(error.message().to_owned(), &"", row);
        }
        self.inspection.moves();
        let entity = self.model.recognise(name, &renewed).ok().flatten();
        let entity = entity
            .ok_or_else(|| Error::defect("a row that moves is of no entity"))?
            .name();
        match self.moves.get_mut(entity) {
            Some(rows) => *rows += 1,
            None => {
                self.moves.insert(entity.to_owned(), 1);
                self.slow_reads(entity, &renewed)?;
            }
        }
        Ok(())
    }

    /// A row in its own place, where no other row may belong.
    fn stays(&mut self, row: &Item) -> Result<(), Error> {
        let name = self.table.table_name();
        if let Some(place) = self.layout_change.former_place(name, row)
            && let Some(other) = self.lying(place)?
            && let Ok(renewed) = self.layout_change.renew(name, &other)
            && key_of(self.table, &renewed)? == key_of(self.table, row)?
        {
            return self.inspection.misfit(TAKEN.to_owned(), &"", &other);
        }
        self.inspection.look_at(row)
    }

    fn lying(&self, place: Item) -> Result<Option<Item>, Error> {
        let get = GetItem {
            table_name: self.table.table_name().to_owned(),
            key: place,
            consistent_read: Some(true),
            ..GetItem::default()
        };
        Ok(call(self.host, get)?.item)
    }

    /// The access patterns that must search everywhere for such rows while they move.
    fn slow_reads(&mut self, entity: &str, renewed: &Item) -> Result<(), Error> {
        let name = self.table.table_name();
        let returns = |pattern: &&AccessPattern| {
            pattern.table_name() == name && pattern.returns().iter().any(|returned| returned == entity)
        };
        for pattern in self.model.access_patterns().iter().filter(returns) {
            let index = pattern.index();
            let key = match index {
                Some(index) => {
                    let found = self.table.index(index);
                    let missing = || Error::defect(format_args!("a pattern uses an unknown index {index}"));
                    &found.ok_or_else(missing)?.key
                }
                None => self.table.key(),
            };
            let selection = match pattern.operation() {
                Operation::GetItem => continue,
                Operation::Query => partition(key, renewed),
                Operation::Scan => None,
            };
            if self
                .layout_change
                .sources(name, index, selection.as_ref())
                .everywhere
            {
                self.slow.insert(pattern.name().to_owned());
            }
        }
        Ok(())
    }
}

/// The partition of a row; `None` if it is not in that index.
fn partition(key: &KeySchema, row: &Item) -> Option<KeySelection> {
    let hash: Option<Vec<_>> = key.hash.iter().map(|part| row.get(&part.name).cloned()).collect();
    Some(KeySelection {
        hash: hash?,
        range_equal: Vec::new(),
        range_last: None,
    })
}
