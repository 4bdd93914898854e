//! Removing the rows of effects that were dropped: a page at a time; each row is checked again in the commit
//! that removes it. Where a present effect keeps rows at such keys, they are rewritten instead.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trestle_binding::clearing::{Clearing, Document};
use trestle_binding::rows::key_of;
use trestle_hook::{Companion, amend};
use trestle_item::Item;
use trestle_model::Model;
use trestle_model::audit::Finding;

use crate::mending::{mend, mended};
use crate::sweep::or_gone;
use crate::watcher::{Until, go_on};
use crate::work::planned_table;
use crate::{BindError, Held, Models, not_held};

/// Rows that are read together.
const PAGE: usize = 500;
/// The position is stored after so many pages. Repeating work after a crash is harmless.
const PAGES_BETWEEN: u64 = 32;

impl Models {
    /// The models that have rows to remove.
    pub(crate) fn to_clear(&self) -> Vec<String> {
        let held = self.held.lock();
        let clearing = held.iter().filter(|held| held.can_clear());
        clearing.map(|held| held.stored.name.clone()).collect()
    }

    /// Clears a page of a model's rows. Returns whether there is more to do.
    pub(crate) fn clear_page(&self, model: &str) -> Result<bool, BindError> {
        let _one_at_a_time = self.applying.lock();
        self.clear_next(model)
    }

    /// Removes everything that an earlier version of a model left behind, before the next version takes effect.
    pub(super) fn clear_all(&self, model: &str) -> Result<(), BindError> {
        while self.clear_next(model)? {}
        Ok(())
    }

    /// As [`Models::clear_all`], a page at a time; fails once `stop` is set.
    pub(super) fn clear_until(&self, model: &str, stop: &AtomicBool) -> Result<(), BindError> {
        while self.clear_page(model)? {
            go_on(&Until(stop))?;
        }
        Ok(())
    }

    fn clear_next(&self, model: &str) -> Result<bool, BindError> {
        let held = self.held.lock().clone();
        let mut held = held.into_iter();
        let held = held.find(|held| held.stored.name == model && held.can_clear());
        let Some((held, clearing)) = held.and_then(|held| Some((held.clone(), held.clearing?))) else {
            return Ok(false);
        };
        let mut document = clearing.document.clone();
        match document.tables.iter_mut().find(|table| !table.finished) {
            Some(table) => {
                let name = table.table.clone();
                let next = self.clear_rows(&held, &clearing, &name, table.position.as_deref())?;
                table.page(PAGE as u64, 0, next.map(|next| self.with_walked(next, (0, 0))));
            }
            None => {
                self.host.store_documents(vec![(Document::name(model), None)])?;
                self.hold_clearing(model, None)?;
                return Ok(false);
            }
        }
        let pages: u64 = document
            .tables
            .iter()
            .map(|table| table.looked_at / PAGE as u64)
            .sum();
        if pages.is_multiple_of(PAGES_BETWEEN) {
            self.host.store_documents(vec![document.to_document()?])?;
        }
        self.hold_clearing(model, Some(Clearing { document, ..clearing }))?;
        Ok(true)
    }

    /// Removes the rows of one page that were left behind; returns where the next page begins.
    fn clear_rows(
        &self,
        held: &Held,
        clearing: &Clearing,
        table: &str,
        from: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, BindError> {
        let present = held.model()?;
        let former = &clearing.leftovers.0;
        let known = planned_table(former, table)?;
        if present.table(table).is_none() {
            // The model no longer has the table.
            return Ok(None);
        }
        let page = or_gone(self.host.lying(table, from, PAGE))?;
        let left = page
            .rows
            .iter()
            .filter(|row| clearing.leftovers.has(present, table, row));
        let (mut keys, mut taken_over) = (Vec::new(), Vec::new());
        for row in left {
            match present.taken_over(table, row) {
                Some(finding) => taken_over.push(Arc::new(finding)),
                None => keys.push(key_of(known, row)?),
            }
        }
        self.take_over(present, taken_over)?;
        self.remove_left(clearing, present, table, keys)?;
        Ok(page.next)
    }

    /// Rewrites rows that a present effect keeps at the keys of former ones. Rows that cannot be rewritten
    /// stay; an audit finds them.
    fn take_over(&self, present: &Arc<Model>, findings: Vec<Arc<Finding>>) -> Result<(), BindError> {
        let started: Vec<_> = findings
            .iter()
            .map(|finding| mend(&*self.host, present, finding))
            .collect();
        for (finding, amendment) in findings.iter().zip(started) {
            if let Err(refused) = mended(amendment)? {
                tracing::warn!(
                    "the row {:?} of {} stays as an earlier version wrote it: {}",
                    finding.key,
                    finding.entity,
                    refused.message()
                );
            }
        }
        Ok(())
    }

    /// Removes rows that are unchanged since the former version wrote them.
    fn remove_left(
        &self,
        clearing: &Clearing,
        present: &Arc<Model>,
        table: &str,
        keys: Vec<Item>,
    ) -> Result<(), BindError> {
        if keys.is_empty() {
            return Ok(());
        }
        let (leftovers, present) = (clearing.leftovers.clone(), Arc::clone(present));
        let table = table.to_owned();
        let amendment = amend(&*self.host, move |rows, _| {
            let mut removed = Vec::new();
            for key in &keys {
                let row = rows.get(&table, key)?;
                if row.is_some_and(|row| leftovers.has(&present, &table, &row)) {
                    removed.push(Companion {
                        table: table.clone(),
                        key: key.clone(),
                        item: None,
                    });
                }
            }
            Ok((removed, ()))
        });
        amendment.wait()?;
        Ok(())
    }

    fn hold_clearing(&self, model: &str, clearing: Option<Clearing>) -> Result<(), BindError> {
        let mut held = self.held.lock();
        match held.iter_mut().find(|held| held.stored.name == model) {
            Some(held) => held.clearing = clearing,
            None => return Err(not_held(model)),
        }
        Ok(())
    }
}
