//! The first pass: reads every row once, in any order and any number of parts.

use std::collections::HashMap;

use trestle_item::Item;

use super::finding::{Cure, FindingKind as Kind, Findings, about};
use super::head::{Standing, is_made_by, is_promoted};
use super::memo::Memo;
use super::orphan::Orphan;
use super::relation::{Relation, Step, rendered};
use super::single::{Single, said};
use super::sums::{Fact, Sums};
use super::{Audit, Looked, key_bytes};
use crate::effects::head;
use crate::effects::orphans::COUNTS_TABLE;
use crate::model::Table;
use trestle_api::Error;
use trestle_hook::Rows;

/// How many facts the second pass compares at a time.
const FACTS_MAX: u64 = 250_000;
/// How many groups without a right head are remembered by each part.
const GROUPS_MAX: usize = 50_000;

/// The first pass over some of the rows.
pub struct Survey<'a> {
    audit: &'a Audit<'a>,
    sums: Sums,
    memo: Memo,
    findings: Findings,
    /// Groups whose head is missing or outdated, by relation and key of the head, with their newest row.
    groups: HashMap<(usize, Vec<u8>), Newest>,
    scratch: Vec<u8>,
    rows: u64,
}

/// The newest row of a group without a right head.
struct Newest {
    head: Item,
    row: Item,
    /// Whether a head exists.
    behind: bool,
}

/// The result of a first pass over all rows.
#[derive(Debug)]
pub struct Surveyed {
    /// How many rows were read.
    pub rows: u64,
    /// Definite findings.
    pub findings: Findings,
    /// Facts to be read again: one second pass over all rows for each.
    pub suspects: Vec<Suspects>,
}

/// Groups of facts that do not add up.
#[derive(Debug, Default)]
pub struct Suspects {
    /// Relation and bucket.
    pub(super) buckets: std::collections::HashSet<(usize, usize)>,
    facts: u64,
}

impl<'a> Survey<'a> {
    pub(super) fn new(audit: &'a Audit<'a>) -> Self {
        Survey {
            audit,
            sums: Sums::new(audit.relations.all.len()),
            memo: Memo::new(),
            findings: Findings::default(),
            groups: HashMap::new(),
            scratch: Vec::with_capacity(256),
            rows: 0,
        }
    }

    /// Adds a row of a table of the database. `rows` are those of the same moment.
    pub fn look(&mut self, table_name: &str, row: &Item, rows: &dyn Rows) -> Result<(), Error> {
        let audit = self.audit;
        if table_name == COUNTS_TABLE {
            return self.orphan(row, rows);
        }
        let Some(table) = audit.model.table(table_name) else {
            return Ok(());
        };
        self.rows += 1;
        let entity = match audit.model.recognise_in(table, row) {
            Ok(Some(entity)) => entity,
            Ok(None) => return Ok(()),
            Err(refusal) => {
                self.unrecognised(table, row, &refusal.to_string());
                return Ok(());
            }
        };
        let looked = Looked::new(table, entity, row);
        let mut single = Single {
            audit,
            memo: &mut self.memo,
            findings: &mut self.findings,
        };
        single.check(&looked, row, rows)?;
        let sums = &mut self.sums;
        audit
            .relations
            .facts(&looked, &mut self.scratch, &mut |fact| sums.add(fact));
        for (at, relation) in audit.relations.wanting(entity) {
            if let Step::Head(step) = relation.step {
                self.stand(at, relation, step, &looked, rows)?;
            }
        }
        for (_, relation) in audit.relations.having(entity) {
            if let Step::Head(_) = relation.step {
                self.nameless_head(relation, &looked);
            }
        }
        Ok(())
    }

    /// What was counted for a row that is not there.
    fn orphan(&mut self, row: &Item, rows: &dyn Rows) -> Result<(), Error> {
        let orphan = Orphan::of(self.audit, row);
        let Some(orphan) = orphan else { return Ok(()) };
        let identity = &orphan.count.identity;
        let parent = self.memo.find(
            self.audit.model,
            orphan.relation.other,
            |name| identity.get(name),
            rows,
        )?;
        if parent.is_none() {
            orphan.fact(&mut self.scratch, &mut |fact| self.sums.add(fact));
            return Ok(());
        }
        let finding = about(self.audit.model, Kind::Counter, orphan.relation.other, orphan.key);
        let finding = finding.of(orphan.relation.effect()).saying(
            format!(
                "{} counted apart, as if the row were not there",
                orphan.count.count
            ),
            "nothing counted apart",
        );
        self.findings.add(finding.cured_by(Cure::Orphan {
            entity: orphan.relation.other.position,
            attribute: orphan.count.attribute,
            identity: orphan.count.identity,
        }));
        Ok(())
    }

    fn unrecognised(&mut self, table: &Table, row: &Item, why: &str) {
        let key = crate::effects::ledger::key_in(table, row);
        let finding = super::Finding {
            kind: Kind::Unfit,
            model: self.audit.model.name.clone(),
            entity: String::new(),
            effect: String::new(),
            table: table.table_name.clone(),
            key,
            there: "the row".to_owned(),
            wanted: why.to_owned(),
            is_kept: false,
            cure: Cure::None,
        };
        self.findings.add(finding);
    }

    /// The relation of a row to its head.
    fn stand(
        &mut self,
        at: usize,
        relation: &Relation<'_>,
        step: &head::Step,
        looked: &Looked<'_>,
        rows: &dyn Rows,
    ) -> Result<(), Error> {
        let audit = self.audit;
        let standing = Standing::of(audit.model, relation, step, looked, &mut self.memo, rows)?;
        let row = &*looked.row;
        if step.pointer.is_some() && standing.takes_part != standing.is_head {
            // The second pass finds heads whose rows do not name them.
            if standing.takes_part {
                self.group(at, relation, step, &standing, looked);
            }
            return Ok(());
        }
        let competes = standing.takes_part && !step.expires(row, audit.now);
        match &standing.head {
            Some(head) if standing.is_head => {
                if standing.takes_part {
                    self.scratch.clear();
                    looked.key_bytes(&mut self.scratch);
                    self.sums.add(&mut Fact::new(at, true, &mut self.scratch));
                }
                self.head_of(relation, step, looked, head);
            }
            Some(_) if step.is_marked(row) => {
                self.mark(relation, looked, "marked as the newest", "not marked")
            }
            Some(head) => {
                if competes && audit.fills_heads_of(relation.of) && step.head.is_newer(relation.of, row, head)
                {
                    self.group(at, relation, step, &standing, looked);
                }
            }
            // Where no query finds a group, a removed head cannot be replaced.
            None => {
                if competes && (step.group.is_some() || audit.fills_heads_of(relation.of)) {
                    self.group(at, relation, step, &standing, looked);
                }
            }
        }
        Ok(())
    }

    /// The row of a head: it must be marked, and the head must follow from it.
    fn head_of(&mut self, relation: &Relation<'_>, step: &head::Step, looked: &Looked<'_>, head: &Item) {
        let row = &*looked.row;
        if !is_promoted(step, row) {
            self.mark(relation, looked, "not marked as the newest", "marked");
        } else if !is_made_by(self.audit.model, relation.other, step, head, row) {
            let key = relation.other.key_from(row).unwrap_or_default();
            let finding = about(self.audit.model, Kind::WrongHead, relation.other, key).of(relation.effect());
            let finding = finding.saying(
                "other attributes than those of its row",
                format!("the attributes of the row {}", said(&looked.key())),
            );
            self.findings.add(finding.cured_by(row_cure(looked)));
        }
    }

    fn mark(&mut self, relation: &Relation<'_>, looked: &Looked<'_>, there: &str, wanted: &str) {
        let finding = about(self.audit.model, Kind::HeadMark, looked.entity, looked.key());
        let finding = finding.of(relation.effect()).saying(there, wanted);
        self.findings.add(finding.cured_by(row_cure(looked)));
    }

    /// A head from which its row cannot be determined.
    fn nameless_head(&mut self, relation: &Relation<'_>, looked: &Looked<'_>) {
        self.scratch.clear();
        if rendered(relation.of, |name| looked.row.get(name), &mut self.scratch) {
            return;
        }
        let key = looked.key();
        let finding = about(self.audit.model, Kind::StrayHead, looked.entity, key.clone());
        let finding = finding.of(relation.effect());
        let finding = finding.saying("a head that names no row", "a head of a row, or none");
        self.findings.add(finding.cured_by(Cure::Head {
            entity: relation.of.position,
            key,
            candidate: None,
            forward: false,
        }));
    }

    /// A row that should have the head, unless another row of the group is newer.
    fn group(
        &mut self,
        at: usize,
        relation: &Relation<'_>,
        step: &head::Step,
        standing: &Standing,
        looked: &Looked<'_>,
    ) {
        // A row that cannot have a head does not fit its entity.
        let Ok(head) = relation.other.key_from(&looked.row) else {
            return;
        };
        let mut bytes = Vec::new();
        key_bytes(head.values(), &mut bytes);
        if standing.head.is_some() && self.audit.options.set_back.contains(&bytes) {
            return;
        }
        let has_room = self.groups.len() < GROUPS_MAX;
        let id = (at, bytes);
        match self.groups.get_mut(&id) {
            Some(newest) if step.head.is_newer(relation.of, &looked.row, &newest.row) => {
                newest.row = looked.row.clone().into_owned();
            }
            Some(_) => {}
            None if !has_room => {}
            None => {
                self.groups.insert(
                    id,
                    Newest {
                        head,
                        row: looked.row.clone().into_owned(),
                        behind: standing.head.is_some(),
                    },
                );
            }
        }
    }

    /// Merges the results of another part of the rows.
    pub fn merge(&mut self, other: Survey<'_>) {
        self.rows += other.rows;
        self.sums.merge(other.sums);
        self.findings.merge(other.findings);
        for (id, newest) in other.groups {
            let relation = self.audit.relations.all.get(id.0);
            let is_older = self.groups.get(&id).is_some_and(|known| {
                match relation.map(|relation| (relation, relation.step)) {
                    Some((relation, Step::Head(step))) => {
                        !step.head.is_newer(relation.of, &newest.row, &known.row)
                    }
                    _ => false,
                }
            });
            if !is_older {
                self.groups.insert(id, newest);
            }
        }
    }

    /// The result of all rows together.
    #[must_use]
    pub fn finish(self) -> Surveyed {
        let mut findings = self.findings;
        for ((at, _), newest) in self.groups {
            let Some(relation) = self.audit.relations.all.get(at) else {
                continue;
            };
            let table = self.audit.model.tables.get(relation.of.table);
            let candidate = table.map(|table| crate::effects::ledger::key_in(table, &newest.row));
            let kind = if newest.behind {
                Kind::HeadBehind
            } else {
                Kind::MissingHead
            };
            let finding = about(self.audit.model, kind, relation.other, newest.head.clone());
            let there = if newest.behind {
                "a head at an older row"
            } else {
                "no head"
            };
            let wanted = format!(
                "a head at the row {}",
                candidate.as_ref().map(said).unwrap_or_default()
            );
            let finding = finding.of(relation.effect()).saying(there, wanted);
            findings.add(finding.cured_by(Cure::Head {
                entity: relation.of.position,
                key: newest.head,
                candidate,
                forward: newest.behind,
            }));
        }
        Surveyed {
            rows: self.rows,
            findings,
            suspects: batches(self.sums.suspects()),
        }
    }
}

impl std::fmt::Debug for Survey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Survey")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

pub(super) fn row_cure(looked: &Looked<'_>) -> Cure {
    Cure::Row {
        entity: looked.entity.position,
        key: looked.key(),
    }
}

/// Suspects, in groups that fit into memory.
fn batches(suspects: impl Iterator<Item = (usize, usize, u64)>) -> Vec<Suspects> {
    let mut batches: Vec<Suspects> = Vec::new();
    for (relation, bucket, facts) in suspects {
        if batches.last().is_none_or(|batch| batch.facts + facts > FACTS_MAX) {
            batches.push(Suspects::default());
        }
        if let Some(batch) = batches.last_mut() {
            batch.facts += facts;
            batch.buckets.insert((relation, bucket));
        }
    }
    batches
}
