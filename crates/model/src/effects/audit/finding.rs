//! What an audit finds, and what is needed to mend it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trestle_item::{Item, Number};

use crate::entity::Role;
use crate::model::Model;

/// How many findings are kept; more are counted. A repair goes on with the next audit.
const KEPT_MAX: usize = 50_000;

/// A derived fact that disagrees with its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What sort of fact.
    pub kind: FindingKind,
    /// The model.
    pub model: String,
    /// The entity of the row that is wrong.
    pub entity: String,
    /// What makes the fact, such as `counter orders of customer`; empty for what is derived from the row alone.
    pub effect: String,
    /// The table in the database.
    pub table: String,
    /// The key of the row that is wrong, missing or too many.
    pub key: Item,
    /// What is there.
    pub there: String,
    /// What is wanted.
    pub wanted: String,
    /// Whether the row is one that only the database writes.
    pub(super) is_kept: bool,
    pub(super) cure: Cure,
}

/// What sort of derived fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A row is not what the model allows. No repair can tell what it should be.
    Unfit,
    /// A key, the tag or a default of a row is not what its attributes give.
    Derived,
    /// A copy differs from its original.
    Copy,
    /// A group has rows and no head.
    MissingHead,
    /// A head stands for a row that is not there or takes no part.
    StrayHead,
    /// A head differs from the row it stands for.
    WrongHead,
    /// A row is marked as the newest and is not, or is and is not marked.
    HeadMark,
    /// A head stands for an older row than it should. Only found where rows are filled in: a client may set a head back.
    HeadBehind,
    /// The other side of a relation is missing.
    MissingInverse,
    /// The other side of a relation has what this side lacks.
    StrayInverse,
    /// A row of the other side differs from its row.
    WrongInverse,
    /// A counter is not the sum over its rows.
    Counter,
    /// A counter of events lacks an event, or is not the sum over the events it has seen.
    CounterEvents,
    /// A value that is unique has no row that keeps it.
    MissingUnique,
    /// A row keeps a value that no row has.
    StrayUnique,
    /// A row keeps a value for another row than the one that has it.
    WrongUnique,
    /// Two rows share a value. No repair can tell which one should have it.
    SharedValue,
    /// A member of an attribute has no entry.
    MissingEntry,
    /// An entry is of a member that no row has.
    StrayEntry,
    /// An entry differs from its row.
    WrongEntry,
    /// A row names a large value, and the database does not know that it does.
    MissingValue,
    /// The database has a large value that no row names.
    StrayValue,
    /// The bytes of a large value are missing, or are not those that were written. No repair can tell what they were.
    DamagedValue,
}

impl FindingKind {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unfit => "unfit",
            Self::Derived => "derived",
            Self::Copy => "copy",
            Self::MissingHead => "missing-head",
            Self::StrayHead => "stray-head",
            Self::WrongHead => "wrong-head",
            Self::HeadMark => "head-mark",
            Self::HeadBehind => "head-behind",
            Self::MissingInverse => "missing-inverse",
            Self::StrayInverse => "stray-inverse",
            Self::WrongInverse => "wrong-inverse",
            Self::Counter => "counter",
            Self::CounterEvents => "counter-events",
            Self::MissingUnique => "missing-unique",
            Self::StrayUnique => "stray-unique",
            Self::WrongUnique => "wrong-unique",
            Self::SharedValue => "shared-value",
            Self::MissingEntry => "missing-entry",
            Self::StrayEntry => "stray-entry",
            Self::WrongEntry => "wrong-entry",
            Self::MissingValue => "missing-value",
            Self::StrayValue => "stray-value",
            Self::DamagedValue => "damaged-value",
        }
    }
}

impl FindingKind {
    /// Whether no repair can tell what the row should be, so that a correction of the row is the only help.
    #[must_use]
    pub fn needs_correction(self) -> bool {
        matches!(self, Self::Unfit | Self::SharedValue | Self::DamagedValue)
    }
}

impl Finding {
    /// Whether a repair can mend it.
    #[must_use]
    pub fn can_be_mended(&self) -> bool {
        self.cure != Cure::None
    }
}

/// What a mend needs to know besides the rows. Positions are those of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cure {
    /// Nothing can be done.
    None,
    /// The row is settled again: its keys, copies, marks, and its head.
    Row { entity: usize, key: Item },
    /// The head is made anew, or moves forward.
    Head {
        entity: usize,
        key: Item,
        candidate: Option<Item>,
        forward: bool,
    },
    /// The row that keeps a value is given to the first of those that has it.
    Keeper {
        entity: usize,
        step: usize,
        key: Item,
        owners: Vec<Item>,
    },
    /// The entry becomes what its row says, or goes.
    Entry { entity: usize, step: usize, key: Item },
    /// All entries of a row are made.
    Entries { entity: usize, step: usize, row: Item },
    /// Both sides of a relation are held against each other.
    Member {
        entity: usize,
        step: usize,
        own: String,
        theirs: String,
        fill: bool,
    },
    /// A row and its mirror are held against each other.
    Mirror {
        entity: usize,
        step: usize,
        row: Option<Item>,
        mirror: Item,
        fill: bool,
    },
    /// The error of a sum is added. It stays the same under later writes, so it is added once.
    Count {
        entity: usize,
        step: usize,
        identity: Item,
        error: Number,
        fill: bool,
    },
    /// Nothing is counted apart for a row that is there.
    Orphan {
        entity: usize,
        attribute: String,
        identity: Item,
    },
    /// The event of a row is seen.
    Event { entity: usize, step: usize, key: Item },
    /// A sum of events is made of the events seen.
    Events { entity: usize, step: usize, key: Item },
}

/// Findings: so many of them as are kept, and how many there were of each kind.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The first of them.
    pub kept: Vec<Finding>,
    /// How many there were.
    pub counts: BTreeMap<FindingKind, u64>,
    /// Copies that are yet to follow their originals in the background. They are no faults, but can be mended at once.
    pub pending: Vec<Finding>,
    /// How many of those there were.
    pub to_copy: u64,
}

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        *self.counts.entry(finding.kind).or_default() += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(finding);
        }
    }

    pub(super) fn add_pending(&mut self, finding: Finding) {
        self.to_copy += 1;
        if self.pending.len() < KEPT_MAX {
            self.pending.push(finding);
        }
    }

    /// Takes in others.
    pub fn merge(&mut self, others: Findings) {
        for (kind, count) in others.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        let room = KEPT_MAX.saturating_sub(self.kept.len());
        self.kept.extend(others.kept.into_iter().take(room));
        self.to_copy += others.to_copy;
        let room = KEPT_MAX.saturating_sub(self.pending.len());
        self.pending.extend(others.pending.into_iter().take(room));
    }

    /// Those that are kept, then pending copies, in the order in which they are to be mended: a row is marked as its head
    /// says, so heads come first.
    #[must_use]
    pub fn in_order(mut self) -> Vec<Finding> {
        self.kept
            .sort_by_key(|finding| match (finding.kind, &finding.cure) {
                (FindingKind::Derived, _) if finding.is_kept => 0,
                (_, Cure::Head { .. }) => 1,
                (_, Cure::Keeper { .. }) => 2,
                (FindingKind::HeadMark, _) => 4,
                _ => 3,
            });
        self.kept.append(&mut self.pending);
        self.kept
    }

    /// How many there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// A finding about a row, to which what it says is added.
pub(super) fn about(model: &Model, kind: FindingKind, entity: &crate::Entity, key: Item) -> Finding {
    let table = model.tables.get(entity.table);
    Finding {
        kind,
        model: model.name.clone(),
        entity: entity.name.clone(),
        effect: String::new(),
        table: table.map(|table| table.table_name.clone()).unwrap_or_default(),
        key,
        there: String::new(),
        wanted: String::new(),
        is_kept: entity.role != Role::Declared,
        cure: Cure::None,
    }
}

impl Finding {
    pub(super) fn of(self, effect: String) -> Self {
        Finding { effect, ..self }
    }

    pub(super) fn saying(self, there: impl Into<String>, wanted: impl Into<String>) -> Self {
        Finding {
            there: there.into(),
            wanted: wanted.into(),
            ..self
        }
    }

    pub(super) fn cured_by(self, cure: Cure) -> Self {
        Finding { cure, ..self }
    }
}
