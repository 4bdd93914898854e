//! The second pass: compares both sides of the facts that do not add up, one by one.

use std::collections::HashMap;

use trestle_item::{Item, Number, key};

use super::finding::{Cure, Finding, FindingKind as Kind, Findings, about};
use super::head::Standing;
use super::memo::Memo;
use super::orphan::Orphan;
use super::relation::{Relation, Step};
use super::single::said;
use super::sums::Fact;
use super::{Audit, Looked, Suspects};
use crate::effect::Once;
use crate::effects::counter;
use crate::effects::inverse::{Form, identity};
use crate::effects::orphans::COUNTS_TABLE;
use crate::effects::pairs::related;
use trestle_api::Error;
use trestle_hook::Rows;

/// How many rows that share a value are reported.
const OWNERS_MAX: usize = 16;

/// The second pass over some of the rows.
pub struct Inquiry<'a> {
    audit: &'a Audit<'a>,
    suspects: &'a Suspects,
    cases: HashMap<(usize, Vec<u8>), Case>,
    memo: Memo,
    scratch: Vec<u8>,
}

/// Both sides of one group of facts.
#[derive(Default)]
struct Case {
    /// The rows that want it, each with a hash of what it wants.
    wanting: Vec<(Item, u64)>,
    /// The rows that have it.
    having: Vec<(Item, u64)>,
    wanted: u64,
    had: u64,
    /// The sum that should have been counted; `None` if it cannot be a number.
    sum: Option<Number>,
    counted: Option<Number>,
    /// The identity of the counting row.
    identity: Item,
    pair: Option<(String, String)>,
    /// The key of the row that is wanted.
    target: Option<Item>,
}

impl<'a> Inquiry<'a> {
    pub(super) fn new(audit: &'a Audit<'a>, suspects: &'a Suspects) -> Self {
        Inquiry {
            audit,
            suspects,
            cases: HashMap::new(),
            memo: Memo::new(),
            scratch: Vec::with_capacity(256),
        }
    }

    /// Reads a row again.
    pub fn look(&mut self, table_name: &str, row: &Item, rows: &dyn Rows) -> Result<(), Error> {
        let audit = self.audit;
        if table_name == COUNTS_TABLE {
            return self.orphan(row, rows);
        }
        let recognised = audit.model.table(table_name).and_then(|table| {
            let entity = audit.model.recognise_in(table, row).ok().flatten()?;
            Some(Looked::new(table, entity, row))
        });
        let Some(looked) = recognised else { return Ok(()) };
        let (suspects, cases) = (self.suspects, &mut self.cases);
        let mut take = |fact: &mut Fact<'_>| {
            if suspects.buckets.contains(&(fact.relation, fact.bucket())) {
                let case = cases.entry((fact.relation, fact.group().to_vec())).or_default();
                if let Some(relation) = audit.relations.all.get(fact.relation) {
                    case.take(relation, fact, &looked);
                }
            }
        };
        audit.relations.facts(&looked, &mut self.scratch, &mut take);
        for (at, relation) in audit.relations.wanting(looked.entity) {
            let Step::Head(step) = relation.step else { continue };
            let standing = Standing::of(audit.model, relation, step, &looked, &mut self.memo, rows)?;
            if standing.is_head && standing.takes_part {
                self.scratch.clear();
                looked.key_bytes(&mut self.scratch);
                take(&mut Fact::new(at, true, &mut self.scratch));
            }
        }
        Ok(())
    }

    /// What was counted for a row that is not there.
    fn orphan(&mut self, row: &Item, rows: &dyn Rows) -> Result<(), Error> {
        let Some(orphan) = Orphan::of(self.audit, row) else {
            return Ok(());
        };
        let identity = &orphan.count.identity;
        let parent = self.memo.find(
            self.audit.model,
            orphan.relation.other,
            |name| identity.get(name),
            rows,
        )?;
        if parent.is_some() {
            return Ok(());
        }
        let (suspects, cases) = (self.suspects, &mut self.cases);
        orphan.fact(&mut self.scratch, &mut |fact| {
            if suspects.buckets.contains(&(fact.relation, fact.bucket())) {
                let case = cases.entry((fact.relation, fact.group().to_vec())).or_default();
                case.had += 1;
                case.counted = Some(orphan.count.count);
                case.identity.clone_from(&orphan.count.identity);
            }
        });
        Ok(())
    }

    /// Merges the results of another part of the rows.
    pub fn merge(&mut self, other: Inquiry<'_>) {
        for (id, case) in other.cases {
            self.cases.entry(id).or_default().merge(case);
        }
    }

    /// What is wrong.
    #[must_use]
    pub fn finish(self) -> Findings {
        let mut findings = Findings::default();
        let mut cases: Vec<_> = self.cases.into_iter().collect();
        // In a fixed order, independent of the order of the rows.
        cases.sort_by(|one, two| one.0.cmp(&two.0));
        for ((at, _), case) in cases {
            if let Some(relation) = self.audit.relations.all.get(at) {
                Judgement {
                    audit: self.audit,
                    relation,
                    findings: &mut findings,
                }
                .judge(case);
            }
        }
        findings
    }
}

impl std::fmt::Debug for Inquiry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inquiry")
            .field("cases", &self.cases.len())
            .finish_non_exhaustive()
    }
}

impl Case {
    fn take(&mut self, relation: &Relation<'_>, fact: &Fact<'_>, looked: &Looked<'_>) {
        if let Some(amount) = fact.amount {
            self.count(relation, fact.wanted, amount, looked);
        }
        if let Some((own, theirs)) = fact.pair {
            self.pair
                .get_or_insert_with(|| (own.to_owned(), theirs.to_owned()));
        }
        if fact.wanted && self.target.is_none() {
            let of_fact = fact.target.cloned();
            self.target = of_fact.or_else(|| relation.target(&looked.row));
        }
        let (count, rows) = if fact.wanted {
            (&mut self.wanted, &mut self.wanting)
        } else {
            (&mut self.had, &mut self.having)
        };
        *count += 1;
        // Any number of rows can contribute to a counter.
        if rows.len() < OWNERS_MAX && !(fact.wanted && fact.amount.is_some()) {
            let content = fact.bytes.get(fact.group..).unwrap_or_default();
            rows.push((looked.key(), key::hash(content)));
        }
    }

    fn count(&mut self, relation: &Relation<'_>, wanted: bool, amount: Number, looked: &Looked<'_>) {
        let Step::Counter(step) = relation.step else {
            return;
        };
        if wanted {
            let sum = if self.wanted == 0 {
                Some(Number::ZERO)
            } else {
                self.sum
            };
            self.sum = sum.and_then(|sum| sum.checked_add(&amount).ok());
            if self.identity.is_empty() {
                self.identity = related(relation.other, &step.counter.with, &looked.row).unwrap_or_default();
            }
        } else {
            self.counted = Some(amount);
            let names = relation.other.identity.iter();
            self.identity = names
                .filter_map(|name| Some((name.clone(), looked.row.get(name)?.clone())))
                .collect();
        }
    }

    fn merge(&mut self, other: Case) {
        self.sum = match (self.wanted, other.wanted) {
            (_, 0) => self.sum,
            (0, _) => other.sum,
            _ => self
                .sum
                .zip(other.sum)
                .and_then(|(one, two)| one.checked_add(&two).ok()),
        };
        if other.had > 0 || self.identity.is_empty() {
            self.identity = other.identity;
        }
        self.counted = self.counted.or(other.counted);
        self.pair = self.pair.take().or(other.pair);
        self.target = self.target.take().or(other.target);
        self.wanted += other.wanted;
        self.had += other.had;
        self.wanting.extend(other.wanting);
        self.having.extend(other.having);
        if self.wanting.len() > 1 {
            self.wanting.sort_by_key(|(key, _)| said(key));
            self.wanting.truncate(OWNERS_MAX);
        }
    }
}

/// One case, and what is found about it.
struct Judgement<'j> {
    audit: &'j Audit<'j>,
    relation: &'j Relation<'j>,
    findings: &'j mut Findings,
}

impl Judgement<'_> {
    fn judge(&mut self, case: Case) {
        match self.relation.step {
            Step::Head(_) => self.head(case),
            Step::Unique(_) => self.unique(case),
            Step::Entries(_) => self.entry(case),
            Step::Counter(step) if step.counter.once == Once::Row => self.counter(step, case),
            Step::Counter(_) => {}
            Step::Inverse(step) => match &step.form {
                Form::Identities { theirs, .. } => self.member(theirs, case),
                Form::Rows { .. } => self.mirror(case),
            },
        }
    }

    fn about(&self, kind: Kind, key: Item) -> Finding {
        about(self.audit.model, kind, self.relation.other, key).of(self.relation.effect())
    }

    /// Heads whose row does not name them as its head.
    fn head(&mut self, case: Case) {
        if case.wanted > 0 {
            return;
        }
        for (key, _) in case.having {
            let finding = self.about(Kind::StrayHead, key.clone());
            let finding = finding.saying(
                "a head of a row that is not there, or takes no part",
                "a head of the newest row of the group, or none",
            );
            self.findings.add(finding.cured_by(Cure::Head {
                entity: self.relation.of.position,
                key,
                candidate: None,
                forward: false,
            }));
        }
    }

    fn unique(&mut self, case: Case) {
        let kept = case.having.first();
        let owner = case
            .wanting
            .iter()
            .find(|(_, wants)| kept.is_some_and(|(_, has)| has == wants));
        if owner.is_none() {
            self.keeper(&case);
        }
        if case.wanted < 2 {
            return;
        }
        let first = owner.or(case.wanting.first()).map(|(key, _)| key.clone());
        for (key, _) in case.wanting.iter().filter(|(key, _)| Some(key) != first.as_ref()) {
            let finding = about(self.audit.model, Kind::SharedValue, self.relation.of, key.clone());
            let other = first.as_ref().map(said).unwrap_or_default();
            let finding = finding.of(self.relation.effect());
            self.findings.add(finding.saying(
                format!("the value of the row {other}"),
                "a value of its own: correct one of the two rows",
            ));
        }
    }

    /// The row that keeps a value names a row that does not have it.
    fn keeper(&mut self, case: &Case) {
        let (kind, there) = match (case.wanting.first(), case.having.first()) {
            (None, None) => return,
            (Some(_), None) => (Kind::MissingUnique, "nothing"),
            (None, Some(_)) => (Kind::StrayUnique, "a row for a value that no row has"),
            (Some(_), Some(_)) => (Kind::WrongUnique, "a row that names another row"),
        };
        let owners: Vec<Item> = case.wanting.iter().map(|(key, _)| key.clone()).collect();
        let wanted = match owners.first() {
            Some(owner) => format!("a row that keeps the value for the row {}", said(owner)),
            None => "nothing".to_owned(),
        };
        let key = case.having.first().map(|(key, _)| key.clone());
        let Some(key) = key.or_else(|| case.target.clone()) else {
            return;
        };
        let finding = self.about(kind, key.clone()).saying(there, wanted);
        self.findings.add(finding.cured_by(Cure::Keeper {
            entity: self.relation.of.position,
            step: self.relation.at,
            key,
            owners,
        }));
    }

    fn member(&mut self, set: &str, case: Case) {
        let Some((own, theirs)) = case.pair else { return };
        let kind = match (case.wanted, case.had) {
            (0, 1..) => Kind::StrayInverse,
            (1.., 0) => Kind::MissingInverse,
            _ => return,
        };
        let other = self.relation.other;
        let key = other.key_from(&identity(other, &theirs)).unwrap_or_default();
        let (has, lacks) = (format!("{set} has {own:?}"), format!("{set} lacks {own:?}"));
        let (there, wanted) = if case.had > 0 { (has, lacks) } else { (lacks, has) };
        let finding = self.about(kind, key).saying(there, wanted);
        self.findings.add(finding.cured_by(Cure::Member {
            entity: self.relation.of.position,
            step: self.relation.at,
            own,
            theirs,
            fill: self.audit.options.fill,
        }));
    }

    fn entry(&mut self, case: Case) {
        let (row, entry) = (case.wanting.first(), case.having.first());
        let (kind, there) = match (row, entry) {
            (Some((_, wanted)), Some((_, had))) if wanted == had => return,
            (Some(_), Some(_)) => (Kind::WrongEntry, "other attributes than those of its row"),
            (Some(_), None) => (Kind::MissingEntry, "nothing"),
            (None, Some(_)) => (Kind::StrayEntry, "an entry of a member that no row has"),
            (None, None) => return,
        };
        let wanted = row.map_or("nothing".to_owned(), |(row, _)| {
            format!("an entry of the row {}", said(row))
        });
        let Some(key) = entry.map(|(key, _)| key.clone()).or(case.target) else {
            return;
        };
        let finding = self.about(kind, key.clone()).saying(there, wanted);
        self.findings.add(finding.cured_by(Cure::Entry {
            entity: self.relation.of.position,
            step: self.relation.at,
            key,
        }));
    }

    fn mirror(&mut self, case: Case) {
        let (row, mirror) = (case.wanting.first(), case.having.first());
        let kind = match (row, mirror) {
            (Some((_, wanted)), Some((_, had))) if wanted == had => return,
            (Some(_), Some(_)) => Kind::WrongInverse,
            (Some(_), None) => Kind::MissingInverse,
            (None, Some(_)) => Kind::StrayInverse,
            (None, None) => return,
        };
        let row = row.map(|(key, _)| key.clone());
        let (there, wanted) = match kind {
            Kind::WrongInverse => ("other attributes than those of its row", row.as_ref().map(said)),
            Kind::MissingInverse => ("nothing", row.as_ref().map(said)),
            _ => ("a row whose other side is not there", None),
        };
        let wanted = wanted.map_or("nothing".to_owned(), |row| {
            format!("the other side of the row {row}")
        });
        let Some(key) = mirror.map(|(key, _)| key.clone()).or(case.target) else {
            return;
        };
        let finding = self.about(kind, key.clone()).saying(there, wanted);
        self.findings.add(finding.cured_by(Cure::Mirror {
            entity: self.relation.of.position,
            step: self.relation.at,
            row,
            mirror: key,
            fill: self.audit.options.fill,
        }));
    }

    fn counter(&mut self, step: &counter::Step, case: Case) {
        let sum = if case.wanted == 0 {
            Some(Number::ZERO)
        } else {
            case.sum
        };
        let Ok(key) = self.relation.other.key_from(&case.identity) else {
            return;
        };
        let counted = case.counted.unwrap_or(Number::ZERO);
        let error = sum.and_then(|sum| sum.checked_sub(&counted).ok());
        if error.is_some_and(|error| error.is_zero()) {
            return;
        }
        let name = &step.counter.attribute;
        let wanted = sum.map_or("a sum that is no number".to_owned(), |sum| sum.to_string());
        let finding = self.about(Kind::Counter, key).saying(
            format!("{name} has counted {counted}"),
            match case.wanted {
                1 => format!("{name} has counted {wanted}, the sum over 1 row"),
                rows => format!("{name} has counted {wanted}, the sum over {rows} rows"),
            },
        );
        let cure = error.map_or(Cure::None, |error| Cure::Count {
            entity: self.relation.of.position,
            step: self.relation.at,
            identity: case.identity,
            error,
            fill: self.audit.options.fill,
        });
        self.findings.add(finding.cured_by(cure));
    }
}
