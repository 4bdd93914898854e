//! Entries that are looked up one by one: members that cannot be entries and, where rows are filled in,
//! missing and superfluous entries.

use trestle_api::Error;
use trestle_hook::Rows;
use trestle_item::Item;

use super::Looked;
use super::finding::{Cure, FindingKind as Kind, about};
use super::relation::{Relation, Step};
use super::single::{Single, said};
use crate::effects::entries::{self, Entry, EntryRows};
use crate::effects::settle::identified;
use crate::model::Model;

impl Single<'_, '_> {
    pub(super) fn entries(&mut self, looked: &Looked<'_>, rows: &dyn Rows) -> Result<(), Error> {
        let (audit, fills) = (self.audit, self.audit.options.fill);
        if fills && self.has_too_many(looked) {
            return Ok(());
        }
        for (_, relation) in audit.relations.wanting(looked.entity) {
            if let Step::Entries(step) = relation.step {
                match step.rows(relation.of, relation.other, &looked.row) {
                    Ok(wanted) if fills => self.made(relation, &wanted, looked, rows)?,
                    Ok(_) => {}
                    Err(refusal) => {
                        let finding = self.about(Kind::Unfit, looked).of(relation.effect());
                        let wanted = format!("members of {} of which entries can be made", step.entries.of);
                        self.findings.add(finding.saying(refusal.to_string(), wanted));
                    }
                }
            }
        }
        let having = audit.relations.having(looked.entity);
        for (_, relation) in having.filter(|_| fills) {
            if let Step::Entries(step) = relation.step {
                self.owned(relation, step, looked, rows)?;
            }
        }
        Ok(())
    }

    /// Whether a row would have more entries than can be removed with it.
    fn has_too_many(&mut self, looked: &Looked<'_>) -> bool {
        let model = self.audit.model;
        let steps = model.plan_of(looked.entity).map_or(&[][..], |plan| &plan.entries);
        let refusal = entries::too_many_together(model, steps, looked.entity, &looked.row);
        let Some(refusal) = refusal else { return false };
        let finding = self.about(Kind::Unfit, looked);
        self.findings
            .add(finding.saying(refusal.to_string(), "fewer entries of one row"));
        true
    }

    /// If all entries of a row exist and are right, nothing changes; otherwise all of them are written.
    fn made(
        &mut self,
        relation: &Relation<'_>,
        wanted: &EntryRows,
        looked: &Looked<'_>,
        rows: &dyn Rows,
    ) -> Result<(), Error> {
        let model = self.audit.model;
        let Some(table) = model.tables.get(relation.other.table) else {
            return Ok(());
        };
        for entry in wanted.values() {
            let (kind, there) = match rows.get(&table.table_name, &entry.key)? {
                Some(stored) if is_as_wanted(model, relation, entry, &stored) => continue,
                Some(_) => (
                    Kind::WrongEntry,
                    "another row than the one that follows from its row",
                ),
                None => (Kind::MissingEntry, "nothing"),
            };
            let finding = about(model, kind, relation.other, entry.key.clone()).of(relation.effect());
            let finding = finding.saying(there, format!("an entry of the row {}", said(&looked.key())));
            self.findings.add(finding.cured_by(Cure::Entries {
                entity: relation.of.position,
                step: relation.at,
                row: looked.key(),
            }));
            return Ok(());
        }
        Ok(())
    }

    /// The row of an entry has its member.
    fn owned(
        &mut self,
        relation: &Relation<'_>,
        step: &entries::Step,
        looked: &Looked<'_>,
        rows: &dyn Rows,
    ) -> Result<(), Error> {
        let (of, entry, key) = (relation.of, relation.other, looked.key());
        let told = entry.identify(&key).unwrap_or_default();
        let row = self
            .memo
            .find(self.audit.model, of, |name| told.get(name), rows)?;
        // A row whose entries cannot all be created is itself reported.
        if row.is_some_and(|row| step.has(entry, &identified(of, row), &key)) {
            return Ok(());
        }
        let finding = self.about(Kind::StrayEntry, looked).of(relation.effect());
        let finding = finding.saying("an entry of a member that no row has", "nothing");
        self.findings.add(finding.cured_by(Cure::Entry {
            entity: of.position,
            step: relation.at,
            key,
        }));
        Ok(())
    }
}

/// Whether a stored row is an entry of this effect, with the attributes that it must have.
fn is_as_wanted(model: &Model, relation: &Relation<'_>, entry: &Entry, stored: &Item) -> bool {
    if model.tag_in(relation.other, stored) != model.tag_of(relation.other) {
        return false;
    }
    let mut attributes = relation.other.attributes.iter().map(|attribute| &attribute.name);
    attributes.all(|name| stored.get(name) == entry.content.get(name))
}
