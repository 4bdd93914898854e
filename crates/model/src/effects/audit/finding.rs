//! The findings of an audit, and what is needed to repair them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trestle_item::{Item, Number};

use crate::entity::Role;
use crate::model::Model;

/// How many findings are kept; others are only counted. A repair continues with the next audit.
const KEPT_MAX: usize = 50_000;

/// A derived fact that disagrees with its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The kind of derived fact.
    pub kind: FindingKind,
    /// The model.
    pub model: String,
    /// The entity of the row that is wrong.
    pub entity: String,
    /// The source of the fact, such as `counter orders of customer`; empty for attributes that are derived
    /// from the row alone.
    pub effect: String,
    /// The table in the database.
    pub table: String,
    /// The key of the row that is wrong, missing or superfluous.
    pub key: Item,
    /// The present state.
    pub there: String,
    /// The right state.
    pub wanted: String,
    /// Whether the row is one that only the database writes.
    pub(super) is_kept: bool,
    pub(super) cure: Cure,
}

/// The kind of a derived fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// The model does not allow a row. No repair can determine the right content.
    Unfit,
    /// A key, the tag or a default of a row does not follow from its attributes.
    Derived,
    /// A copy differs from its original.
    Copy,
    /// A group has rows and no head.
    MissingHead,
    /// A head stands for a row that does not exist or takes no part.
    StrayHead,
    /// A head differs from the row it stands for.
    WrongHead,
    /// A row is marked as the newest and is not, or is the newest and is not marked.
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
    /// Two rows share a value. No repair can decide which one should have it.
    SharedValue,
    /// A member of an attribute has no entry.
    MissingEntry,
    /// An entry has a member that no row has.
    StrayEntry,
    /// An entry differs from its row.
    WrongEntry,
    /// A row refers to a large value, and the database has not recorded that.
    MissingValue,
    /// The database has a large value that no row refers to.
    StrayValue,
    /// The bytes of a large value are missing, or are not those that were written. No repair can restore
    /// them.
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
    /// Whether no repair can determine the right content of the row, so that a client has to correct it.
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

/// What a repair needs to know besides the rows. Positions are those of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cure {
    /// No repair is possible.
    None,
    /// The row is settled again: its keys, copies, marks, and its head.
    Row { entity: usize, key: Item },
    /// The head is computed again, or advances.
    Head {
        entity: usize,
        key: Item,
        candidate: Option<Item>,
        forward: bool,
    },
    /// The row that keeps a value is assigned to the first row that has the value.
    Keeper {
        entity: usize,
        step: usize,
        key: Item,
        owners: Vec<Item>,
    },
    /// The entry is updated from its row, or removed.
    Entry { entity: usize, step: usize, key: Item },
    /// All entries of a row are written.
    Entries { entity: usize, step: usize, row: Item },
    /// Both sides of a relation are compared.
    Member {
        entity: usize,
        step: usize,
        own: String,
        theirs: String,
        fill: bool,
    },
    /// A row and its mirror are compared.
    Mirror {
        entity: usize,
        step: usize,
        row: Option<Item>,
        mirror: Item,
        fill: bool,
    },
    /// The error of a sum is added. Later writes do not change the error, so it is added once.
    Count {
        entity: usize,
        step: usize,
        identity: Item,
        error: Number,
        fill: bool,
    },
    /// The orphan count of a row that exists is removed.
    Orphan {
        entity: usize,
        attribute: String,
        identity: Item,
    },
    /// The event of a row is recorded as seen.
    Event { entity: usize, step: usize, key: Item },
    /// A sum of events is computed from the events seen.
    Events { entity: usize, step: usize, key: Item },
}

/// Findings: those that are kept, and the number of each kind.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The first findings.
    pub kept: Vec<Finding>,
    /// The number of findings of each kind.
    pub counts: BTreeMap<FindingKind, u64>,
    /// Copies that are still to be updated in the background. They are not faults, but can be repaired
    /// immediately.
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

    /// The kept findings, then pending copies, in the order of repair: the marks of a row depend on its head,
    /// so heads come first.
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

/// A finding about a row, before its details are added.
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
