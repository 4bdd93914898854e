//! Weakens a proposal until the loader of models accepts it and it holds for every row.
//!
//! Each group of rows has a claim. A claim must load alone and fit all its rows; if it does not, it is
//! weakened. Two claims must be disjoint; if they are not, their values are narrowed to the characters that
//! occur, then they are distinguished by the tag, and without a tag the two are merged.

mod build;

use std::collections::BTreeSet;

use trestle_item::Item;
use trestle_model::{Model, Severity};

use crate::draft::Draft;
use crate::facts::TableFacts;
use crate::group::Group;
use crate::propose::unexplained;
use crate::tag::Tag;
use crate::template::Level;
use crate::write::{self, Section};

/// More kinds of rows than this are not distinguished.
const CLAIMS_MAX: usize = 64;
/// The name of every table in proofs.
const TABLE: &str = "t";

/// A table with its rows.
pub(crate) struct Subject<'s> {
    pub(crate) facts: &'s TableFacts,
    pub(crate) rows: &'s [Item],
    pub(crate) tag: Option<&'s Tag>,
}

/// The result, in which everything is proved.
#[derive(Debug, Default)]
pub(crate) struct Refined {
    pub(crate) drafts: Vec<Draft>,
    /// The positions of drafts that are distinguished only by the tag.
    pub(crate) same_shape: Vec<(usize, usize)>,
}

/// The claim about one group.
struct Claim {
    id: usize,
    group: Group,
    level: Level,
    narrow: bool,
    /// Whether narrowing was tried.
    narrowed: bool,
    draft: Draft,
    notes: Vec<String>,
}

/// Makes consistent claims.
pub(crate) fn refine(subject: &Subject<'_>, groups: Vec<Group>) -> Refined {
    let mut work = Work {
        subject,
        claims: Vec::new(),
        ids: 0,
        disjoint: BTreeSet::new(),
        same_shape: Vec::new(),
    };
    for group in groups.into_iter().take(CLAIMS_MAX) {
        work.add(group);
    }
    while let Some((one, two)) = work.collision() {
        work.resolve(one, two);
    }
    work.finish()
}

/// One claim for all rows that contains only the key.
pub(crate) fn modest(subject: &Subject<'_>, rows: Vec<usize>) -> Refined {
    let group = Group { tag: None, rows };
    let mut draft = subject.build(&group, Level::Whole, false);
    draft.name = "e0".to_owned();
    Refined {
        drafts: vec![draft],
        same_shape: Vec::new(),
    }
}

struct Work<'s> {
    subject: &'s Subject<'s>,
    claims: Vec<Claim>,
    ids: usize,
    /// Pairs of ids that are proved; a changed claim gets a new id.
    disjoint: BTreeSet<(usize, usize)>,
    same_shape: Vec<(usize, usize)>,
}

impl Work<'_> {
    fn next_id(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    /// Adds the strongest claim for a group that holds alone.
    fn add(&mut self, group: Group) {
        let id = self.next_id();
        let mut level = Level::Precise;
        let mut notes = Vec::new();
        loop {
            let mut draft = self.subject.build(&group, level, false);
            draft.name = format!("e{id}");
            let fault = self.subject.fault(&draft);
            match (fault, level.weaker()) {
                (Some(fault), Some(weaker)) => {
                    if notes.is_empty() {
                        notes.push(format!("The keys suggested more, but it does not hold: {fault}"));
                    }
                    level = weaker;
                }
                _ => {
                    self.claims.push(Claim {
                        id,
                        group,
                        level,
                        narrow: false,
                        narrowed: false,
                        draft,
                        notes,
                    });
                    return;
                }
            }
        }
    }

    /// Two claims that could have the same key; all earlier pairs are proved.
    fn collision(&mut self) -> Option<(usize, usize)> {
        for (later, two) in self.claims.iter().enumerate() {
            for (earlier, one) in self.claims.iter().enumerate().take(later) {
                let pair = (one.id, two.id);
                if self.disjoint.contains(&pair) || self.same_shape.contains(&pair) {
                    continue;
                }
                if !begin_apart(&one.draft, &two.draft)
                    && self.subject.load(&[&one.draft, &two.draft]).is_err()
                {
                    return Some((earlier, later));
                }
                self.disjoint.insert(pair);
            }
        }
        None
    }

    fn resolve(&mut self, one: usize, two: usize) {
        let narrowed = [one, two].map(|at| self.narrow(at));
        if narrowed.contains(&true) {
            return;
        }
        let (Some(first), Some(second)) = (self.claims.get(one), self.claims.get(two)) else {
            return;
        };
        if first.group.tag.is_some() && second.group.tag.is_some() {
            self.same_shape.push((first.id, second.id));
            return;
        }
        self.merge(one, two);
    }

    /// Whether the claim could be narrowed to the characters that its values have.
    fn narrow(&mut self, at: usize) -> bool {
        let id = self.next_id();
        let subject = self.subject;
        let Some(claim) = self.claims.get_mut(at).filter(|claim| !claim.narrowed) else {
            return false;
        };
        claim.narrowed = true;
        let mut draft = subject.build(&claim.group, claim.level, true);
        draft.name = format!("e{id}");
        if draft.attributes == claim.draft.attributes || subject.fault(&draft).is_some() {
            return false;
        }
        claim.narrow = true;
        claim.draft = draft;
        // Proofs of the wider claim hold for the narrower one, but ids record what was checked.
        let old = claim.id;
        claim.id = id;
        for pair in &mut self.same_shape {
            if pair.0 == old {
                pair.0 = id;
            }
            if pair.1 == old {
                pair.1 = id;
            }
        }
        true
    }

    /// Merges two claims.
    fn merge(&mut self, one: usize, two: usize) {
        let later = self.claims.remove(two);
        let earlier = self.claims.remove(one);
        self.same_shape.retain(|(a, b)| {
            let gone = |id: usize| id == later.id || id == earlier.id;
            !gone(*a) && !gone(*b)
        });
        let mut group = earlier.group;
        group.rows.extend(later.group.rows);
        group.rows.sort_unstable();
        group.tag = group.tag.or(later.group.tag);
        self.add(group);
        if let Some(claim) = self.claims.last_mut() {
            claim.notes.push(
                "Rows of two shapes whose keys could not be proved to differ; give them different beginnings to tell them apart."
                    .to_owned(),
            );
        }
    }

    fn finish(mut self) -> Refined {
        self.claims
            .sort_by_key(|claim| std::cmp::Reverse(claim.group.rows.len()));
        let position = |id: usize| self.claims.iter().position(|claim| claim.id == id);
        let same_shape = self
            .same_shape
            .iter()
            .filter_map(|(one, two)| Some((position(*one)?, position(*two)?)))
            .collect();
        let drafts = self
            .claims
            .into_iter()
            .map(|claim| {
                let mut draft = claim.draft;
                draft.notes.extend(claim.notes);
                draft
            })
            .collect();
        Refined { drafts, same_shape }
    }
}

impl Subject<'_> {
    /// A model of only these entities, or its first error.
    fn load(&self, drafts: &[&Draft]) -> Result<Model, String> {
        let section = Section {
            facts: self.facts,
            name: TABLE,
            tag: self.tag,
            rows: self.rows.len(),
            same_shape: &[],
            strangers: 0,
            notes: &[],
        };
        let mut text = write::header("proof", &[]) + &write::table(&section);
        for draft in drafts {
            text += &write::entity(TABLE, self.rows.len(), draft);
        }
        let loaded = trestle_model::load(&text);
        let mut errors = loaded.problems.into_iter();
        let error = errors.find(|problem| problem.severity == Severity::Error);
        loaded
            .model
            .ok_or_else(|| error.map_or_else(unexplained, |problem| problem.message))
    }

    /// Why a draft does not hold alone: it does not load, or does not fit one of its rows.
    fn fault(&self, draft: &Draft) -> Option<String> {
        let model = match self.load(&[draft]) {
            Ok(model) => model,
            Err(message) => return Some(message),
        };
        let rows = draft.rows.iter().filter_map(|at| self.rows.get(*at));
        let mut faults = rows.filter_map(|row| misfit(&model, self.facts, row));
        faults.next()
    }
}

/// How a row differs from what the model would write; `None` if it does not.
pub(crate) fn misfit(model: &Model, facts: &TableFacts, row: &Item) -> Option<String> {
    match model.derive(&facts.name, None, row, 0) {
        Err(refusal) => Some(refusal.to_string()),
        Ok(None) => Some("no entity has a key of this shape".to_owned()),
        Ok(Some(derived)) => {
            let index_key = derived.set.iter().find(|(name, _)| facts.is_index_key(name));
            index_key
                .map(|(name, _)| format!("it lacks the index key {name}, which its attributes would give"))
        }
    }
}

/// Whether a key of the two begins with different texts, so that no search is necessary.
fn begin_apart(one: &Draft, two: &Draft) -> bool {
    one.keys.iter().zip(&two.keys).any(|(one, two)| {
        let (one, two) = (one.beginning(), two.beginning());
        !one.starts_with(two) && !two.starts_with(one)
    })
}
