//! Capacity units, as DynamoDB counts them.

use std::sync::Arc;

use trestle_api::{Capacity, ConsumedCapacity, ReturnConsumedCapacity};

use crate::catalog::{Index, Scope, Table};
use crate::transaction::Written;

const WRITE_UNIT_BYTES: usize = 1024;
const READ_UNIT_BYTES: usize = 4096;

/// The consistency of a read, which decides its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Half a unit per 4 KB.
    Eventual,
    /// One unit per 4 KB.
    Strong,
    /// Two units per 4 KB.
    Transactional,
}

impl Read {
    /// Strong if `ConsistentRead` was asked for.
    pub(crate) fn consistent(given: Option<bool>) -> Self {
        if given == Some(true) {
            Self::Strong
        } else {
            Self::Eventual
        }
    }

    /// Units for reading `bytes` at once.
    pub(crate) fn units(self, bytes: usize) -> f64 {
        let whole = bytes.div_ceil(READ_UNIT_BYTES).max(1) as f64;
        match self {
            Self::Eventual => whole / 2.0,
            Self::Strong => whole,
            Self::Transactional => whole * 2.0,
        }
    }
}

/// Units for writing one row of `bytes`.
pub(crate) fn write_units(bytes: usize) -> f64 {
    bytes.div_ceil(WRITE_UNIT_BYTES).max(1) as f64
}

/// The kind of units, for responses that distinguish them: those of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Units {
    /// Read capacity units.
    Read,
    /// Write capacity units.
    Write,
}

/// What one request used of one table.
#[derive(Debug, Default)]
pub(crate) struct Consumed {
    table: f64,
    indexes: Vec<(Arc<Index>, f64)>,
}

impl Consumed {
    /// A read of the table alone.
    pub(crate) fn table(units: f64) -> Self {
        Self {
            table: units,
            indexes: Vec::new(),
        }
    }

    /// A read of an index, with what was fetched from the table.
    pub(crate) fn index(index: &Arc<Index>, units: f64, fetched: f64) -> Self {
        Self {
            table: fetched,
            indexes: vec![(Arc::clone(index), units)],
        }
    }

    /// A write of an item, which was `old_bytes` and is now `new_bytes` large, with its index rows.
    pub(crate) fn write(old_bytes: usize, new_bytes: usize, written: &Written) -> Self {
        let mut consumed = Self::table(write_units(old_bytes.max(new_bytes)));
        for (index, sizes) in &written.indexes {
            consumed.indexes.push((
                Arc::clone(index),
                sizes.iter().map(|bytes| write_units(*bytes)).sum(),
            ));
        }
        consumed
    }

    /// Twice as much: what a transaction costs.
    pub(crate) fn doubled(mut self) -> Self {
        self.table *= 2.0;
        self.indexes.iter_mut().for_each(|(_, units)| *units *= 2.0);
        self
    }

    /// Adds what another item of the same table used.
    pub(crate) fn add(&mut self, other: Self) {
        self.table += other.table;
        for (index, units) in other.indexes {
            match self.indexes.iter_mut().find(|(known, _)| known.id == index.id) {
                Some((_, sum)) => *sum += units,
                None => self.indexes.push((index, units)),
            }
        }
    }

    /// All units together.
    pub(crate) fn total(&self) -> f64 {
        self.indexes
            .iter()
            .fold(self.table, |sum, (_, units)| sum + units)
    }

    /// The part of the response about capacity, if it was asked for.
    pub(crate) fn report(
        &self,
        table: &Table,
        wanted: Option<ReturnConsumedCapacity>,
    ) -> Option<ConsumedCapacity> {
        let mut report = ConsumedCapacity {
            table_name: Some(table.name.clone()),
            capacity_units: Some(self.total()),
            ..Default::default()
        };
        match wanted {
            None | Some(ReturnConsumedCapacity::None) => return None,
            Some(ReturnConsumedCapacity::Total) => {}
            Some(ReturnConsumedCapacity::Indexes) => {
                report.table = Some(units(self.table));
                for (index, used) in &self.indexes {
                    let by_name = match index.scope {
                        Scope::Local => &mut report.local_secondary_indexes,
                        Scope::Global => &mut report.global_secondary_indexes,
                    };
                    by_name
                        .get_or_insert_default()
                        .insert(index.name.clone(), units(*used));
                }
            }
        }
        Some(report)
    }

    /// Like [`Consumed::report`], but also with the units named as reads or writes.
    pub(crate) fn report_as(
        &self,
        table: &Table,
        wanted: Option<ReturnConsumedCapacity>,
        kind: Units,
    ) -> Option<ConsumedCapacity> {
        let mut report = self.report(table, wanted)?;
        name_units(
            kind,
            report.capacity_units,
            &mut report.read_capacity_units,
            &mut report.write_capacity_units,
        );
        let indexes = [
            &mut report.local_secondary_indexes,
            &mut report.global_secondary_indexes,
        ];
        let parts = indexes
            .into_iter()
            .flatten()
            .flat_map(std::collections::BTreeMap::values_mut);
        for part in report.table.iter_mut().chain(parts) {
            name_units(
                kind,
                part.capacity_units,
                &mut part.read_capacity_units,
                &mut part.write_capacity_units,
            );
        }
        Some(report)
    }
}

fn name_units(kind: Units, units: Option<f64>, read: &mut Option<f64>, write: &mut Option<f64>) {
    match kind {
        Units::Read => *read = units,
        Units::Write => *write = units,
    }
}

fn units(capacity_units: f64) -> Capacity {
    Capacity {
        capacity_units: Some(capacity_units),
        ..Default::default()
    }
}
