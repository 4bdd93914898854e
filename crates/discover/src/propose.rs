//! Makes a proposal from tables and their rows.

mod naming;

use std::collections::BTreeSet;

use trestle_item::Item;
use trestle_model::{Model, Severity};

use crate::draft::Draft;
use crate::facts::TableFacts;
use crate::hint::{self, Hint};
use crate::refine::{self, Refined, Subject, misfit};
use crate::row::{shown_key, slim};
use crate::tag::{self, Tag};
use crate::write::{self, Section};
use crate::{entries, group, head, layout, name};

/// How many rows that fit no entity are shown.
const STRANGERS_SHOWN: usize = 10;

/// A model file, with notes about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The model file, with the evidence in its comments. It loads without errors.
    pub text: String,
    /// The findings, and rows that fit no entity, one line each.
    pub notes: Vec<String>,
}

/// Proposes a model of one table from its rows.
pub fn infer(table: &TableFacts, rows: impl IntoIterator<Item = Item>) -> Proposal {
    let observed = Observed {
        facts: table.clone(),
        rows: rows.into_iter().map(slim).collect(),
        hints: Vec::new(),
    };
    propose(&table.name, &[observed])
}

/// A table, its rows without large values, and names for them.
pub(crate) struct Observed {
    pub(crate) facts: TableFacts,
    pub(crate) rows: Vec<Item>,
    pub(crate) hints: Vec<Hint>,
}

/// A table with its entities.
struct Part<'o> {
    observed: &'o Observed,
    name: String,
    tag: Option<Tag>,
    refined: Refined,
    /// Positions and reasons of rows that fit no entity.
    strangers: Vec<(usize, String)>,
    /// Notes about names that no entity got.
    unused_names: Vec<String>,
}

/// Proposes a model of several tables.
pub(crate) fn propose(model: &str, tables: &[Observed]) -> Proposal {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut taken = BTreeSet::new();
    for observed in tables {
        let section = name::free(name::entity(&observed.facts.name), |name| {
            parts.iter().any(|part| part.name == name)
        });
        let mut part = Part::of(observed, section);
        part.name_entities(&mut taken);
        parts.push(part);
    }
    let mut notes = Vec::new();
    if let Err(problem) = load(&text(model, &parts)) {
        notes.push(format!(
            "What the rows suggest could not be proved as a whole, so that every table has one entity: {problem}"
        ));
        taken.clear();
        for part in &mut parts {
            part.claim_little();
            part.name_entities(&mut taken);
        }
    }
    match load(&text(model, &parts)) {
        Ok(model) => parts.iter_mut().for_each(|part| part.compare(&model)),
        Err(problem) => notes.push(format!("The proposal does not load: {problem}")),
    }
    for part in &parts {
        notes.extend(part.notes());
    }
    Proposal {
        text: text(model, &parts),
        notes,
    }
}

fn text(model: &str, parts: &[Part<'_>]) -> String {
    let header = ["Proposed from rows. Read it, give things their names, and add access patterns."];
    let mut text = write::header(model, &header.map(str::to_owned));
    for part in parts {
        text += &part.text();
    }
    text
}

fn load(text: &str) -> Result<Model, String> {
    let loaded = trestle_model::load(text);
    let mut problems = loaded.problems.into_iter();
    let error = problems.find(|problem| problem.severity == Severity::Error);
    loaded
        .model
        .ok_or_else(|| error.map_or_else(unexplained, |problem| problem.to_string()))
}

/// The error for a model that does not load without a reported problem, which the loader rules out.
pub(crate) fn unexplained() -> String {
    debug_assert!(false, "a model does not load without an error");
    "the model does not load, and no error says why; this is a defect of the loader".to_owned()
}

impl<'o> Part<'o> {
    fn of(observed: &'o Observed, name: String) -> Self {
        let (facts, rows) = (&observed.facts, observed.rows.as_slice());
        let tag = tag::find(facts, rows);
        let (groups, _) = group::group(facts, rows, tag.as_ref().map(|tag| tag.attribute.as_str()));
        let subject = Subject {
            facts,
            rows,
            tag: tag.as_ref(),
        };
        let refined = refine::refine(&subject, groups);
        Part {
            observed,
            name,
            tag,
            refined,
            strangers: Vec::new(),
            unused_names: Vec::new(),
        }
    }

    /// One entity with only a key, if nothing else can be proved.
    fn claim_little(&mut self) {
        self.tag = None;
        let (facts, rows) = (&self.observed.facts, self.observed.rows.as_slice());
        let subject = Subject {
            facts,
            rows,
            tag: None,
        };
        let (groups, _) = group::group(facts, rows, None);
        let rows: Vec<usize> = groups.into_iter().flat_map(|group| group.rows).collect();
        self.refined = refine::modest(&subject, rows);
    }

    fn name_entities(&mut self, taken: &mut BTreeSet<String>) {
        let drafts = &mut self.refined.drafts;
        let hints = &self.observed.hints;
        let hinted = hint::names(hints, drafts, &self.observed.rows);
        let unused = hints
            .iter()
            .filter(|hint| !hinted.contains(&Some(hint.name.clone())));
        self.unused_names = unused.map(|hint| hint.why_unused(&self.observed.facts)).collect();
        naming::name(drafts, &hinted, &self.observed.facts, taken);
    }

    /// Finds the rows that fit no entity, and suggestions for entities.
    fn compare(&mut self, model: &Model) {
        let facts = &self.observed.facts;
        for (at, row) in self.observed.rows.iter().enumerate() {
            if let Some(why) = misfit(model, facts, row) {
                self.strangers.push((at, why));
            }
        }
        let rows = &self.observed.rows;
        let layouts = layout::suggestions(&self.refined.drafts);
        let heads = head::suggestions(&self.refined.drafts, rows, model);
        let entries = entries::suggestions(&self.refined.drafts, rows, model);
        let suggestions = layouts.into_iter().zip(heads).zip(entries);
        for (draft, ((layout, head), entries)) in self.refined.drafts.iter_mut().zip(suggestions) {
            draft.suggestions = layout.into_iter().chain(head).chain(entries).collect();
        }
    }

    fn text(&self) -> String {
        let drafts = &self.refined.drafts;
        let named = |at: usize| drafts.get(at).map(|draft| draft.name.clone());
        let pairs: Vec<(String, String)> = self
            .refined
            .same_shape
            .iter()
            .filter_map(|(one, two)| Some((named(*one)?, named(*two)?)))
            .collect();
        let mut notes = Vec::new();
        if !self.strangers.is_empty() {
            notes.push("Rows that are no entity of this model:".to_owned());
            notes.extend(self.shown_strangers());
        }
        let rows = self.observed.rows.len();
        let mut text = write::table(&Section {
            facts: &self.observed.facts,
            name: &self.name,
            tag: self.tag.as_ref(),
            rows,
            same_shape: &pairs,
            strangers: self.strangers.len(),
            notes: &notes,
        });
        for draft in drafts {
            text += &write::entity(&self.name, rows, draft);
        }
        text
    }

    fn shown_strangers(&self) -> Vec<String> {
        let facts = &self.observed.facts;
        let shown = self
            .strangers
            .iter()
            .take(STRANGERS_SHOWN)
            .filter_map(|(at, why)| {
                let row = self.observed.rows.get(*at)?;
                let keys = facts.key.attributes().map(|key| key.name.as_str());
                Some(format!("  {}: {why}", shown_key(row, keys)))
            });
        let mut lines: Vec<String> = shown.collect();
        let more = self.strangers.len().saturating_sub(STRANGERS_SHOWN);
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines
    }

    fn notes(&self) -> Vec<String> {
        let rows = self.observed.rows.len();
        let table = &self.observed.facts.name;
        let entities: Vec<String> = self.refined.drafts.iter().map(described).collect();
        let mut notes = match entities.as_slice() {
            [] => vec![format!(
                "table {table}: no rows, and so no entities; write some rows first, or describe them yourself"
            )],
            _ => vec![format!("table {table}: {rows} rows; {}", entities.join(", "))],
        };
        if !self.strangers.is_empty() {
            notes.push(format!(
                "table {table}: {} of {rows} rows fit no entity:",
                self.strangers.len()
            ));
            notes.extend(self.shown_strangers());
        }
        for draft in &self.refined.drafts {
            notes.extend(remarks(draft).map(|remark| format!("{}: {remark}", draft.name)));
        }
        notes.extend(self.unused_names.iter().cloned());
        notes
    }
}

/// Doubts about an entity.
fn remarks(draft: &Draft) -> impl Iterator<Item = String> {
    let doubts = draft
        .attributes
        .iter()
        .filter_map(|(name, found)| Some(format!("{name} is {}", found.doubt.as_ref()?)));
    let suggestions = draft.suggestions.iter().map(|found| found.short.clone());
    draft.notes.iter().cloned().chain(suggestions).chain(doubts)
}

fn described(draft: &Draft) -> String {
    format!("{} ({})", draft.name, draft.rows.len())
}
