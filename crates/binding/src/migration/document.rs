//! A migration as it is kept beside the data: one document for each model, the last migration of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_env::Timestamp;

use super::{MigrationState, Rate, StuckRows, TableProgress};
use crate::stored;

const PREFIX: &str = "migration/";
/// Behind all rows of a table: rows lie in the order of a hash of eight bytes.
const END_OF_TABLE: [u8; 8] = [u8::MAX; 8];

/// Everything that has to be known after a restart. The texts of versions that took effect are documents of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The model.
    pub model: String,
    /// Where it stands.
    pub state: MigrationState,
    /// The version that rows come from.
    pub from: u64,
    /// The version that rows go to.
    pub to: u64,
    /// The version that is as the one which rows come from, once it is rolled back.
    pub back: Option<u64>,
    /// The text of the version that rows go to, as long as it is not stored as one.
    pub text: Option<String>,
    /// How fast rows move.
    pub rate: Rate,
    /// Whether the sweep was paused by a command.
    pub paused: bool,
    /// Whether it is done as soon as it is verified.
    pub finishes: bool,
    /// Whether this pass moves nothing and only looks.
    pub looks_only: bool,
    /// How far this pass is.
    pub tables: Vec<TableProgress>,
    /// Rows that this pass could not move.
    pub stuck: StuckRows,
    /// Former rows that a pass which only looks has found.
    pub found: u64,
    /// Reads that looked into former places, as of the last time this was stored.
    pub double_reads: u64,
    /// What went wrong last, if it has not gone well since.
    pub error: Option<String>,
    /// When it was planned.
    pub planned: Timestamp,
    /// When the new version took effect.
    pub started: Option<Timestamp>,
    /// When its state changed last.
    pub changed: Timestamp,
}

impl Document {
    /// A plan: nothing has changed.
    pub fn planned(model: &str, (from, to): (u64, u64), text: &str, now: Timestamp) -> Self {
        Document {
            model: model.to_owned(),
            state: MigrationState::Planned,
            from,
            to,
            back: None,
            text: Some(text.to_owned()),
            rate: Rate::default(),
            paused: false,
            finishes: false,
            looks_only: false,
            tables: Vec::new(),
            stuck: StuckRows::default(),
            found: 0,
            double_reads: 0,
            error: None,
            planned: now,
            started: None,
            changed: now,
        }
    }

    /// Whether there is something to sweep now.
    pub fn has_work(&self) -> bool {
        self.state.may_hold_rows() && !self.paused
    }

    /// Whether a pass is through, and rows are left that could not move.
    pub fn is_held_up(&self) -> bool {
        self.has_work() && self.stuck.rows > 0 && self.is_through()
    }

    /// Whether this pass is through with all tables.
    pub fn is_through(&self) -> bool {
        self.tables.iter().all(|table| table.finished)
    }

    /// The position in a table up to which all rows have moved; `None` if that is not known of any.
    pub fn swept(&self, table: &str) -> Option<Vec<u8>> {
        if self.stuck.rows > 0 || self.found > 0 {
            return None;
        }
        let progress = self.tables.iter().find(|progress| progress.table == table)?;
        if self.looks_only || progress.finished {
            return Some(END_OF_TABLE.to_vec());
        }
        progress.position.clone()
    }

    /// Whether this is the same state of the same migration, perhaps further on.
    #[must_use]
    pub fn is_progress_of(&self, known: &Self) -> bool {
        let said = |document: &Self| {
            (
                document.state,
                document.from,
                document.to,
                document.back,
                document.changed,
            )
        };
        said(self) == said(known) && self.paused == known.paused
    }

    /// Enters another state.
    pub fn enter(&mut self, state: MigrationState, now: Timestamp) {
        (self.state, self.changed) = (state, now);
    }

    /// Begins a pass over all tables: one that moves rows, or one that only looks whether any is left.
    pub fn begin_pass(&mut self, looks_only: bool, now: Timestamp) {
        self.looks_only = looks_only;
        self.found = 0;
        if !looks_only {
            self.stuck = StuckRows::default();
        }
        self.tables.iter_mut().for_each(TableProgress::restart);
        if self.state != MigrationState::RollingBack {
            let state = match looks_only {
                true => MigrationState::Verifying,
                false => MigrationState::Sweeping,
            };
            self.enter(state, now);
        }
    }

    /// The name of a model's document.
    pub fn name(model: &str) -> String {
        format!("{PREFIX}{model}")
    }

    /// To be stored.
    pub fn to_document(&self) -> Result<(String, Option<Vec<u8>>), Error> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((Self::name(&self.model), Some(bytes)))
    }
}

/// The migrations among stored documents, by model.
pub fn read(documents: Vec<(String, Vec<u8>)>) -> Result<BTreeMap<String, Document>, Error> {
    let documents = documents.into_iter();
    let migrations =
        documents.filter_map(|(name, bytes)| Some((name.strip_prefix(PREFIX)?.to_owned(), bytes)));
    migrations
        .map(|(model, bytes)| Ok((model.clone(), stored::parse(&Document::name(&model), &bytes)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_swept_is_what_lies_before_the_position_and_all_of_it_when_rows_are_looked_at_again() {
        let now = Timestamp::EPOCH;
        let mut document = Document::planned("m", (1, 2), "", now);
        document.tables = vec![TableProgress::new("a", 9, 9), TableProgress::new("b", 9, 9)];
        let swept = |document: &Document| ["a", "b", "c"].map(|table| document.swept(table));
        document.enter(MigrationState::Dual, now);
        assert_eq!(swept(&document), [None, None, None]);
        document.begin_pass(false, now);
        document.tables[0].page(4, 4, Some((vec![7], 0.1)));
        assert_eq!(swept(&document), [Some(vec![7]), None, None]);
        document.stuck.rows = 1;
        assert_eq!(swept(&document), [None, None, None], "a row was left behind");
        document.begin_pass(false, now);
        document.tables[0].page(4, 4, None);
        let all = Some(END_OF_TABLE.to_vec());
        assert_eq!(swept(&document), [all.clone(), None, None]);
        document.begin_pass(true, now);
        assert_eq!(swept(&document), [all.clone(), all, None]);
        document.found = 1;
        assert_eq!(
            swept(&document),
            [None, None, None],
            "a row was found all the same"
        );
    }
}
