//! Facts about a row alone, and about a row and one other row.

use trestle_item::{AttributeValue, Item, Number};

use super::finding::{Cure, Finding, FindingKind as Kind, Findings, about};
use super::memo::Memo;
use super::relation::{Relation, Step, paired};
use super::{Audit, Looked};
use crate::attribute::{plain, shown};
use crate::derive::IndexKeys;
use crate::effect::{Amount, Once};
use crate::effects::copy_note::CopyNote;
use crate::effects::pairs::related;
use crate::effects::{copy, counter};
use crate::entity::{Entity, Role};
use trestle_api::Error;
use trestle_hook::Rows;

/// The findings about one row.
pub(super) struct Single<'s, 'm> {
    pub(super) audit: &'s Audit<'m>,
    pub(super) memo: &'s mut Memo,
    pub(super) findings: &'s mut Findings,
}

impl Single<'_, '_> {
    pub(super) fn check(&mut self, looked: &Looked<'_>, stored: &Item, rows: &dyn Rows) -> Result<(), Error> {
        if self.copies(looked, rows)? {
            self.derived(looked, stored);
        }
        self.entries(looked, rows)?;
        for (_, relation) in self.audit.relations.wanting(looked.entity) {
            if let Step::Counter(step) = relation.step
                && let Once::Event { attributes, seen } = &step.counter.once
                && self.audit.options.fill
            {
                self.event(relation, step, (attributes, seen), looked, rows)?;
            }
        }
        for (_, relation) in self.audit.relations.having(looked.entity) {
            if let Step::Counter(step) = relation.step
                && let (Once::Event { seen, .. }, Amount::Fixed(amount)) =
                    (&step.counter.once, &step.counter.by)
            {
                self.events(relation, step, seen, *amount, looked);
            }
        }
        Ok(())
    }

    pub(super) fn about(&self, kind: Kind, looked: &Looked<'_>) -> Finding {
        about(self.audit.model, kind, looked.entity, looked.key())
    }

    fn row_cure(looked: &Looked<'_>) -> Cure {
        Cure::Row {
            entity: looked.entity.position,
            key: looked.key(),
        }
    }

    /// Keys, tag and defaults.
    fn derived(&mut self, looked: &Looked<'_>, stored: &Item) {
        let model = self.audit.model;
        let (table, entity) = (looked.table, looked.entity);
        match model.derive_as(table, entity, Some(stored), stored, IndexKeys::Left, None) {
            Ok(derived) if derived.is_empty() => {}
            Ok(derived) => {
                let said = |value: Option<&AttributeValue>| value.map_or("nothing".to_owned(), shown);
                let there = derived
                    .set
                    .iter()
                    .map(|(name, _)| *name)
                    .chain(derived.remove.iter().copied());
                let there: Vec<String> = there
                    .map(|name| format!("{name} is {}", said(stored.get(name))))
                    .collect();
                let wanted = derived.set.iter().map(|(name, value)| (*name, Some(value)));
                let wanted = wanted.chain(derived.remove.iter().map(|name| (*name, None)));
                let wanted: Vec<String> = wanted
                    .map(|(name, value)| format!("{name} is {}", said(value)))
                    .collect();
                let finding = self
                    .about(Kind::Derived, looked)
                    .saying(there.join(", "), wanted.join(", "));
                self.findings.add(finding.cured_by(Self::row_cure(looked)));
            }
            // Compares attributes that the database keeps with the rows they come from.
            Err(_) if entity.role != Role::Declared => {}
            Err(refusal) => {
                let finding = self.about(Kind::Unfit, looked);
                self.findings.add(finding.saying("the row", refusal.to_string()));
            }
        }
    }

    /// Copies in step. Returns whether all are right, or are known to be pending.
    fn copies(&mut self, looked: &Looked<'_>, rows: &dyn Rows) -> Result<bool, Error> {
        let model = self.audit.model;
        let Some(plan) = model
            .plan_of(looked.entity)
            .filter(|_| looked.entity.role == Role::Declared)
        else {
            return Ok(true);
        };
        for step in plan.copies.iter().filter(|step| step.copy.in_step.is_some()) {
            let Some(from) = model.entities.get(step.from) else {
                continue;
            };
            let (with, row) = (&step.copy.with, &*looked.row);
            // The copies of an original that is gone stay.
            let Some(original) = self
                .memo
                .find(model, from, |name| paired(with, row, name), rows)?
            else {
                continue;
            };
            let mut pairs = step.copy.attributes.iter();
            let wrong = pairs.find(|pair| looked.row.get(&pair.ours) != original.get(&pair.theirs));
            if let Some(pair) = wrong {
                let said = |name: &str, value: Option<&AttributeValue>| {
                    format!("{name} is {}", value.map_or("nothing".to_owned(), shown))
                };
                let finding = self.about(Kind::Copy, looked);
                let finding = finding.of(format!("copy {} of {}", step.copy.name, looked.entity.name));
                let finding = finding.saying(
                    said(&pair.ours, looked.row.get(&pair.ours)),
                    said(&pair.ours, original.get(&pair.theirs)),
                );
                let finding = finding.cured_by(Self::row_cure(looked));
                if self.is_noted(step, looked, from, rows)? {
                    self.findings.add_pending(finding);
                } else {
                    self.findings.add(finding);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether a row's copy is still to be updated in the background.
    fn is_noted(
        &self,
        step: &copy::Step,
        looked: &Looked<'_>,
        from: &Entity,
        rows: &dyn Rows,
    ) -> Result<bool, Error> {
        match related(from, &step.copy.with, &looked.row) {
            Some(identity) => {
                CopyNote::new(self.audit.model, looked.entity, &step.copy, identity).exists(rows)
            }
            None => Ok(false),
        }
    }

    /// The event of a row has been seen. Only checked where rows are filled in: a counting row that a client
    /// removes and writes again has seen no events.
    fn event(
        &mut self,
        relation: &Relation<'_>,
        step: &counter::Step,
        (attributes, seen): (&[String], &str),
        looked: &Looked<'_>,
        rows: &dyn Rows,
    ) -> Result<(), Error> {
        let row = &*looked.row;
        let Some(event) = counter::event(attributes, row).filter(|_| step.applies_to(row)) else {
            return Ok(());
        };
        let (with, model) = (&step.counter.with, self.audit.model);
        let parent = self
            .memo
            .find(model, relation.other, |name| paired(with, row, name), rows)?;
        if parent.is_some_and(|parent| has_member(&parent, seen, &event)) {
            return Ok(());
        }
        let Ok(key) = relation.other.key_where(|name| paired(with, row, name)) else {
            return Ok(());
        };
        let finding = about(model, Kind::CounterEvents, relation.other, key);
        let finding = finding.of(relation.effect());
        let finding = finding.saying(format!("{seen} lacks {event:?}"), format!("{seen} has {event:?}"));
        self.findings.add(finding.cured_by(Cure::Event {
            entity: relation.of.position,
            step: relation.at,
            key: looked.key(),
        }));
        Ok(())
    }

    /// A sum over events is the sum over the events seen.
    fn events(
        &mut self,
        relation: &Relation<'_>,
        step: &counter::Step,
        seen: &str,
        amount: i64,
        looked: &Looked<'_>,
    ) {
        let Some(counted) = relation.counted(step, &looked.row) else {
            return;
        };
        let wanted = events_sum(&looked.row, seen, amount);
        if counted == wanted {
            return;
        }
        let finding = self.about(Kind::CounterEvents, looked).of(relation.effect());
        let name = &step.counter.attribute;
        let finding = finding.saying(
            format!("{name} has counted {counted}"),
            format!("{name} has counted {wanted}, the sum over {seen}"),
        );
        self.findings.add(finding.cured_by(Cure::Events {
            entity: relation.of.position,
            step: relation.at,
            key: looked.key(),
        }));
    }
}

/// What the events that a row has seen count together.
pub(super) fn events_sum(row: &Item, seen: &str, amount: i64) -> Number {
    let events = match row.get(seen) {
        Some(AttributeValue::Ss(events)) => events.len() as i64,
        _ => 0,
    };
    Number::from(events.saturating_mul(amount))
}

fn has_member(row: &Item, set: &str, member: &str) -> bool {
    match row.get(set) {
        Some(AttributeValue::Ss(members)) => members
            .binary_search_by(|other| other.as_str().cmp(member))
            .is_ok(),
        _ => false,
    }
}

/// A key in words.
pub(super) fn said(key: &Item) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(name, value)| format!("{name} {}", plain(value)))
        .collect();
    parts.join(", ")
}
