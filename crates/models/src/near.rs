//! A repair near one row that changed without the models: its derived rows are corrected, without reading all
//! other rows.
//!
//! The row and those near it are audited as if there were no others; each repair then checks its finding
//! again on the stored rows. So a finding that is only due to unread rows changes nothing. Sums are the
//! exception: they are left to a repair of all rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trestle_api::Error;
use trestle_binding::WrongFact;
use trestle_hook::{HostView, Met};
use trestle_item::{Item, codec};
use trestle_model::audit::{Audit, AuditOptions, Finding, FindingKind};

use crate::audit::audit;
use crate::mending::{mend, mended};
use crate::{BindError, Models};

/// The result of a repair near a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NearRepair {
    /// What was mended.
    pub mended: BTreeMap<FindingKind, u64>,
    /// The findings about the row that cannot be repaired.
    pub left: Vec<WrongFact>,
    /// Something is wrong that only a repair of all rows can correct.
    pub needs_all: bool,
    /// The row is counted, or counts: only all rows together show whether the sum is right.
    pub is_counted: bool,
}

impl Models {
    /// Corrects the rows that follow from a row. `earlier` is the row as it was before each of its changes,
    /// as far as known. During a migration, and before rows have been filled in, nothing is done.
    pub fn repair_near(&self, table: &str, key: &Item, earlier: &[Item]) -> Result<NearRepair, BindError> {
        let held = self.held.lock().clone();
        let is_of = |held: &&crate::Held| {
            let model = held.model.as_ref().ok();
            model.is_some_and(|model| model.table(table).is_some())
        };
        let Some(held) = held.iter().find(is_of) else {
            return Ok(NearRepair::default());
        };
        let is_moving = held
            .migration
            .as_ref()
            .is_some_and(|migration| migration.document.state.is_under_way());
        if is_moving || !held.stored.filled_in || !self.are_in_force() {
            return Ok(NearRepair::default());
        }
        let model = held.model()?;
        let now = self.clock.now();
        let view = NearView::of(
            self.host.view(),
            &Audit::new(model, now, options()),
            table,
            key,
            earlier,
        )?;
        let mut repaired = NearRepair {
            is_counted: view.is_counted,
            ..NearRepair::default()
        };
        if view.rows.is_empty() {
            return Ok(repaired);
        }
        let audited = audit(&view, model, now, options(), held.leftovers(), &mut |_| Ok(()))?;
        for finding in audited.findings.in_order() {
            let finding = Arc::new(finding);
            match finding.kind {
                // Only a part of the rows was summed.
                FindingKind::Counter | FindingKind::CounterEvents => {}
                // Other rows of the group were not read.
                FindingKind::MissingHead | FindingKind::HeadBehind => repaired.needs_all = true,
                _ if !finding.can_be_mended() => repaired.leave(table, key, &finding, None),
                kind => match mended(mend(&*self.host, model, &finding))? {
                    // Two rows have the value: the right one follows only from all rows.
                    Ok(0) => repaired.needs_all |= kind == FindingKind::WrongUnique,
                    Ok(_) => *repaired.mended.entry(kind).or_default() += 1,
                    Err(error) => repaired.leave(table, key, &finding, Some(&error)),
                },
            }
        }
        Ok(repaired)
    }
}

impl NearRepair {
    /// Faults of rows near the row are reported when those rows change.
    fn leave(&mut self, table: &str, key: &Item, finding: &Finding, why: Option<&Error>) {
        if finding.table == table && finding.key == *key {
            self.left.push(WrongFact {
                reason: why.map(|why| why.message().to_owned()),
                ..WrongFact::from(finding)
            });
        }
    }
}

fn options() -> AuditOptions {
    AuditOptions::default()
}

/// The rows near a row, as if there were no others. Other rows are found by their keys.
struct NearView {
    all: Box<dyn HostView>,
    rows: BTreeMap<(String, Vec<u8>), Item>,
    is_counted: bool,
}

impl NearView {
    fn of(
        all: Box<dyn HostView>,
        audit: &Audit<'_>,
        table: &str,
        key: &Item,
        earlier: &[Item],
    ) -> Result<Self, Error> {
        let mut view = NearView {
            all,
            rows: BTreeMap::new(),
            is_counted: false,
        };
        let present = view.all.get(table, key)?;
        let mut looked = BTreeSet::new();
        for row in earlier.iter().chain(present.as_ref()) {
            let near = audit.near(table, row);
            view.is_counted |= near.is_counted;
            for (table, key) in near.keys {
                let id = (table, codec::encode(&key));
                if looked.insert(id.clone())
                    && view.all.has_table(&id.0)
                    && let Some(row) = view.all.get(&id.0, &key)?
                {
                    view.rows.insert(id, row);
                }
            }
        }
        if let Some(present) = present {
            view.rows.insert((table.to_owned(), codec::encode(key)), present);
        }
        Ok(view)
    }
}

impl HostView for NearView {
    fn has_table(&self, table: &str) -> bool {
        self.all.has_table(table)
    }

    fn row_count(&self, table: &str) -> u64 {
        self.rows.keys().filter(|(of, _)| of == table).count() as u64
    }

    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error> {
        self.all.get(table, key)
    }

    fn walk(
        &self,
        table: &str,
        _: (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let of_table = self.rows.iter().filter(|((of, _), _)| of == table);
        of_table.map(|(_, row)| Met::Row(row.clone())).try_for_each(each)
    }
}
