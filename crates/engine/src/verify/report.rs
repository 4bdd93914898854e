//! The results of a verification: disagreements as they are found, and a summary.

use serde::{Serialize, Serializer};
use trestle_store::Space;

/// Rows between two reports of progress.
const ROWS_PER_PROGRESS: u64 = 4096;

/// Receives the results of a verification while it runs.
pub trait Watcher {
    /// A disagreement was found.
    fn found(&mut self, disagreement: Disagreement);

    /// This many rows have been read in the walk over `what`.
    fn progress(&mut self, what: &'static str, rows: u64) {
        let _ = (what, rows);
    }
}

/// Collects the disagreements.
impl Watcher for Vec<Disagreement> {
    fn found(&mut self, disagreement: Disagreement) {
        self.push(disagreement);
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// What sort of thing is wrong.
    pub kind: DisagreementKind,
    /// The space the row is in, or should be in.
    pub space: &'static str,
    /// The table's name, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The index's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The key of the row in its space: names as text, everything else in hexadecimal digits.
    pub key: String,
    /// The key of the item, as DynamoDB's JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// A description of the error.
    pub what: String,
}

/// What sort of thing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DisagreementKind {
    /// A row cannot be decoded.
    Unreadable,
    /// A row belongs to a table, index or stream that does not exist and was not dropped either.
    NoOwner,
    /// A row's key contradicts its content.
    Misplaced,
    /// An item lacks a row in an index.
    MissingIndexRow,
    /// An index has a row that no item has.
    StrayIndexRow,
    /// An index row holds other attributes than its item.
    WrongIndexRow,
    /// An item lacks its expiry entry.
    MissingExpiry,
    /// An expiry entry does not belong to any item.
    StrayExpiry,
    /// A change record contradicts its stream, its item or its neighbours.
    WrongChange,
    /// Items or bytes are counted wrongly.
    WrongCount,
    /// A number was given that the counters have not reached, or was given twice.
    WrongCounter,
}

impl DisagreementKind {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::NoOwner => "no-owner",
            Self::Misplaced => "misplaced",
            Self::MissingIndexRow => "missing-index-row",
            Self::StrayIndexRow => "stray-index-row",
            Self::WrongIndexRow => "wrong-index-row",
            Self::MissingExpiry => "missing-expiry",
            Self::StrayExpiry => "stray-expiry",
            Self::WrongChange => "wrong-change",
            Self::WrongCount => "wrong-count",
            Self::WrongCounter => "wrong-counter",
        }
    }
}

impl Serialize for DisagreementKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Counts of everything walked and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Tables that exist.
    pub tables: u64,
    /// Secondary indexes that exist.
    pub indexes: u64,
    /// Streams that exist, enabled or not.
    pub streams: u64,
    /// Items of those tables.
    pub items: u64,
    /// Rows of those indexes.
    pub index_rows: u64,
    /// Change records.
    pub change_records: u64,
    /// Expiry entries.
    pub expiry_entries: u64,
    /// Idempotency tokens.
    pub tokens: u64,
    /// Rows of dropped tables and indexes, to be cleared in the background. They are no disagreement.
    pub rows_to_clear: u64,
    /// Disagreements found.
    pub disagreements: u64,
}

impl Summary {
    /// Whether everything agrees.
    pub fn is_clean(&self) -> bool {
        self.disagreements == 0
    }
}

/// Counts rows and disagreements and passes them on.
pub(super) struct Reporter<'w> {
    watcher: &'w mut dyn Watcher,
    pub(super) summary: Summary,
    walking: &'static str,
    rows: u64,
}

impl<'w> Reporter<'w> {
    pub(super) fn new(watcher: &'w mut dyn Watcher) -> Self {
        Self {
            watcher,
            summary: Summary::default(),
            walking: "",
            rows: 0,
        }
    }

    /// Begins another walk.
    pub(super) fn walking(&mut self, what: &'static str) {
        self.walking = what;
        self.rows = 0;
        self.watcher.progress(what, 0);
    }

    /// One more row has been read.
    pub(super) fn row(&mut self) {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_PER_PROGRESS) {
            self.watcher.progress(self.walking, self.rows);
        }
    }

    pub(super) fn found(&mut self, found: Found<'_>) {
        self.summary.disagreements += 1;
        self.watcher.found(Disagreement {
            kind: found.kind,
            space: found.space.name(),
            table: found.table.map(str::to_owned),
            index: found.index.map(str::to_owned),
            key: shown(found.space, found.key),
            item: found.item.and_then(|key| serde_json::to_string(key).ok()),
            what: found.what,
        });
    }

    pub(super) fn finish(self) -> Summary {
        self.summary
    }
}

/// A disagreement as a walk describes it.
pub(super) struct Found<'a> {
    kind: DisagreementKind,
    space: Space,
    key: &'a [u8],
    table: Option<&'a str>,
    index: Option<&'a str>,
    item: Option<&'a trestle_item::Item>,
    what: String,
}

impl<'a> Found<'a> {
    pub(super) fn new(kind: DisagreementKind, space: Space, key: &'a [u8], what: impl Into<String>) -> Self {
        Self {
            kind,
            space,
            key,
            table: None,
            index: None,
            item: None,
            what: what.into(),
        }
    }

    pub(super) fn table(self, name: &'a str) -> Self {
        Self {
            table: Some(name),
            ..self
        }
    }

    pub(super) fn index(self, name: &'a str) -> Self {
        Self {
            index: Some(name),
            ..self
        }
    }

    /// The key attributes of the item concerned.
    pub(super) fn item(self, key: &'a trestle_item::Item) -> Self {
        Self {
            item: Some(key),
            ..self
        }
    }
}

/// Rows of the meta space have names; a name ends where the binary id begins.
fn shown(space: Space, key: &[u8]) -> String {
    if space == Space::Meta {
        return key.escape_ascii().to_string();
    }
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}
