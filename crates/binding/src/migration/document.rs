//! A migration as stored beside the data: one document for each model, with its last migration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_env::Timestamp;

use super::{MigrationState, Rate, StuckRows, TableProgress};
use crate::stored;

const PREFIX: &str = "migration/";
/// The position after all rows of a table: rows are ordered by a hash of eight bytes.
const END_OF_TABLE: [u8; 8] = [u8::MAX; 8];

/// Everything that must be known after a restart. The texts of versions that took effect are separate
/// documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The model.
    pub model: String,
    /// Its state.
    pub state: MigrationState,
    /// The version that rows come from.
    pub from: u64,
    /// The version that rows go to.
    pub to: u64,
    /// After a rollback, the new version that equals `from`.
    pub back: Option<u64>,
    /// The text of the version that rows go to, until it is stored as one.
    pub text: Option<String>,
    /// The maximum rate of moves.
    pub rate: Rate,
    /// Whether the sweep was paused by a command.
    pub paused: bool,
    /// Whether to finish as soon as it is verified.
    pub finishes: bool,
    /// Whether this pass moves nothing and only checks.
    pub looks_only: bool,
    /// The progress of this pass.
    pub tables: Vec<TableProgress>,
    /// Rows that this pass could not move.
    pub stuck: StuckRows,
    /// Rows in former places that a checking pass has found.
    pub found: u64,
    /// Reads of former places, when this was last stored.
    pub double_reads: u64,
    /// The last error, if no later attempt succeeded.
    pub error: Option<String>,
    /// When it was planned.
    pub planned: Timestamp,
    /// When the new version took effect.
    pub started: Option<Timestamp>,
    /// When its state last changed.
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

    /// Whether a pass is finished, and some rows could not move.
    pub fn is_held_up(&self) -> bool {
        self.has_work() && self.stuck.rows > 0 && self.is_through()
    }

    /// Whether this pass has finished all tables.
    pub fn is_through(&self) -> bool {
        self.tables.iter().all(|table| table.finished)
    }

    /// The position in a table up to which all rows have moved; `None` if it is unknown.
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

    /// Whether this is the same state of the same migration, possibly with more progress.
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

    /// Begins a pass over all tables: one that moves rows, or one that only checks whether any is left.
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

    /// The document to be stored.
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
