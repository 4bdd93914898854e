//! Whether rows, large values and their parts agree, in a view of one moment.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use trestle_api::Error;
use trestle_binding::WrongFact;
use trestle_hook::{HostView, Met};
use trestle_item::{AttributeValue, Item};
use trestle_model::audit::FindingKind;
use trestle_model::{
    LOOSE_VALUES_TABLE, LargeValue, LooseValue, Model, NAMED_VALUES_TABLE, NamedValue, PARTS_BYTES, PARTS_ID,
    PARTS_NUMBER, PARTS_TABLE, Table, ValueDigest,
};

/// The number of parts between progress reports.
const PROGRESS: u64 = 64;

/// Receives the number of parts read. The audit ends with its error.
type Progress<'p> = dyn FnMut(u64) -> Result<(), Error> + 'p;

/// A fault of large values.
#[derive(Clone, Debug)]
pub(crate) struct ValueFinding {
    /// What it is.
    pub(crate) fact: WrongFact,
    pub(crate) cure: ValueCure,
}

/// What mends it.
#[derive(Clone, Debug)]
pub(crate) enum ValueCure {
    /// Nothing does.
    None,
    /// The value is recorded as belonging to the row with this key.
    Name { named: Box<NamedValue>, key: Item },
    /// No row refers to the value: it will be removed after a while.
    Release(Box<NamedValue>),
    /// Parts without a value: they are removed.
    Remove { id: String },
    /// A row refers to the value, which must not be removed.
    Keep { id: String },
}

/// Reads all rows with large values, all values and all parts. `models` are all stored models.
pub(crate) fn audit_values(
    view: &dyn HostView,
    models: &[Arc<Model>],
    progress: &mut Progress<'_>,
) -> Result<Vec<ValueFinding>, Error> {
    let Some(first) = models.iter().find(|model| model.has_large_values()) else {
        return Ok(Vec::new());
    };
    let mut audit = ValueAudit {
        view,
        models,
        first,
        hasher: RandomState::new(),
        by_rows: HashSet::new(),
        in_parts: HashSet::new(),
        damaged: Vec::new(),
        findings: Vec::new(),
    };
    audit.look_at_rows()?;
    audit.look_at_parts(progress)?;
    audit.look_at_named()?;
    audit.look_at_loose()?;
    audit.report_damaged()?;
    Ok(audit.findings)
}

struct ValueAudit<'v> {
    view: &'v dyn HostView,
    models: &'v [Arc<Model>],
    /// Findings that belong to no model are reported with this one.
    first: &'v Model,
    hasher: RandomState,
    /// Values that rows refer to, as hashes: a collision can only hide a superfluous value.
    by_rows: HashSet<u64>,
    /// Values that have parts, as hashes.
    in_parts: HashSet<u64>,
    /// Values whose parts do not match their rows, and why.
    damaged: Vec<(LargeValue, String)>,
    findings: Vec<ValueFinding>,
}

impl ValueAudit<'_> {
    fn hash(&self, id: &str) -> u64 {
        self.hasher.hash_one(id)
    }

    /// For every row with a value: is the reference recorded?
    fn look_at_rows(&mut self) -> Result<(), Error> {
        let (view, models) = (self.view, self.models);
        each_named(view, models, &mut |table, row, named| {
            let hash = self.hash(&named.reference.id);
            self.by_rows.insert(hash);
            let noted = noted(view, &named.reference.id)?;
            if noted.is_some_and(|noted| noted.reference == named.reference) {
                return Ok(());
            }
            let parts = PartsOfValue::read(view, &named.reference)?;
            match parts.fault(&named.reference) {
                Some(fault) => self.damaged.push((named.reference, fault)),
                None => self.add_unnoted(table, row, named),
            }
            Ok(())
        })
    }

    fn add_unnoted(&mut self, table: &Table, row: &Item, named: NamedValue) {
        let key = key_in(table, row);
        let fact = WrongFact {
            there: "the value is not noted as named by this row".to_owned(),
            wanted: format!("{} in {NAMED_VALUES_TABLE}", named.reference.id),
            ..fact(FindingKind::MissingValue, table.table_name(), &key, &named)
        };
        let named = Box::new(named);
        self.findings.push(ValueFinding {
            fact,
            cure: ValueCure::Name { named, key },
        });
    }

    /// Reads every part once. Those of a value are contiguous and in order.
    fn look_at_parts(&mut self, progress: &mut Progress<'_>) -> Result<(), Error> {
        let view = self.view;
        let mut value = PartsOfValue::default();
        let mut looked_at = 0;
        each_row(view, PARTS_TABLE, &mut |part| {
            looked_at += 1;
            if looked_at % PROGRESS == 0 {
                progress(looked_at)?;
            }
            let id = part
                .get(PARTS_ID)
                .and_then(AttributeValue::as_s)
                .unwrap_or_default();
            if id != value.id {
                self.end_value(std::mem::replace(&mut value, PartsOfValue::of(id)))?;
            }
            value.take(&part);
            Ok(())
        })?;
        self.end_value(value)
    }

    /// All parts of a value were read.
    fn end_value(&mut self, value: PartsOfValue) -> Result<(), Error> {
        if value.parts == 0 {
            return Ok(());
        }
        let hash = self.hash(&value.id);
        self.in_parts.insert(hash);
        if let Some(noted) = noted(self.view, &value.id)? {
            if let Some(fault) = value.fault(&noted.reference) {
                self.damaged.push((noted.reference, fault));
            }
            return Ok(());
        }
        let is_loose = stored(self.view, LOOSE_VALUES_TABLE, &LooseValue::key_of(&value.id))?.is_some();
        if !is_loose && !self.by_rows.contains(&hash) {
            let id = value.id;
            self.findings.push(ValueFinding {
                fact: WrongFact {
                    kind: FindingKind::StrayValue,
                    model: self.first.name().to_owned(),
                    entity: String::new(),
                    effect: String::new(),
                    table: PARTS_TABLE.to_owned(),
                    key: serde_json::json!(LooseValue::key_of(&id)),
                    there: format!("{} parts of a large value", value.parts),
                    wanted: "none: no row names it, and it is not being uploaded".to_owned(),
                    reason: None,
                },
                cure: ValueCure::Remove { id },
            });
        }
        Ok(())
    }

    /// For every recorded value: does a row refer to it, and does it have parts? Values of removed models are
    /// skipped.
    fn look_at_named(&mut self) -> Result<(), Error> {
        each_row(self.view, NAMED_VALUES_TABLE, &mut |row| {
            let named = NamedValue::from_item(&row).ok_or_else(|| unreadable(NAMED_VALUES_TABLE, &row))?;
            if !self.models.iter().any(|model| model.name() == named.model) {
                return Ok(());
            }
            let hash = self.hash(&named.reference.id);
            if !self.by_rows.contains(&hash) {
                let there = format!("a large value of {} bytes", named.reference.size);
                let wanted = "none: no row names it".to_owned();
                self.findings.push(ValueFinding {
                    fact: WrongFact {
                        there,
                        wanted,
                        ..fact(FindingKind::StrayValue, NAMED_VALUES_TABLE, &named.key(), &named)
                    },
                    cure: ValueCure::Release(Box::new(named)),
                });
            } else if !self.in_parts.contains(&hash) {
                self.damaged
                    .push((named.reference, "all its parts are missing".to_owned()));
            }
            Ok(())
        })
    }

    /// For every value that is to be removed: is there really no row that refers to it?
    fn look_at_loose(&mut self) -> Result<(), Error> {
        let view = self.view;
        each_row(view, LOOSE_VALUES_TABLE, &mut |row| {
            let loose = LooseValue::from_item(&row).ok_or_else(|| unreadable(LOOSE_VALUES_TABLE, &row))?;
            let Some(named) = noted(view, &loose.id)? else {
                return Ok(());
            };
            if self.by_rows.contains(&self.hash(&loose.id)) {
                let kept = fact(FindingKind::StrayValue, LOOSE_VALUES_TABLE, &loose.key(), &named);
                self.findings.push(ValueFinding {
                    fact: WrongFact {
                        there: "the value is to be removed".to_owned(),
                        wanted: "that it stays: a row names it".to_owned(),
                        ..kept
                    },
                    cure: ValueCure::Keep { id: loose.id },
                });
            }
            Ok(())
        })
    }

    /// Finds the rows of damaged values, and reports each.
    fn report_damaged(&mut self) -> Result<(), Error> {
        if self.damaged.is_empty() {
            return Ok(());
        }
        let (view, models) = (self.view, self.models);
        let damaged = std::mem::take(&mut self.damaged);
        each_named(view, models, &mut |table, row, named| {
            let is_it = |(value, _): &&(LargeValue, String)| value.id == named.reference.id;
            if let Some((value, fault)) = damaged.iter().find(is_it) {
                let key = key_in(table, row);
                self.findings.push(ValueFinding {
                    fact: WrongFact {
                        there: format!("large value {} is damaged: {fault}", value.id),
                        wanted: format!("{} bytes in {} parts", value.size, value.parts),
                        ..fact(FindingKind::DamagedValue, table.table_name(), &key, &named)
                    },
                    cure: ValueCure::None,
                });
            }
            Ok(())
        })
    }
}

/// The parts of one value, in order.
#[derive(Default)]
struct PartsOfValue {
    id: String,
    parts: u64,
    /// Whether each part followed the previous one.
    has_gap: bool,
    size: u64,
    digest: ValueDigest,
}

impl PartsOfValue {
    fn of(id: &str) -> Self {
        PartsOfValue {
            id: id.to_owned(),
            ..PartsOfValue::default()
        }
    }

    /// Reads the parts that a reference names.
    fn read(view: &dyn HostView, reference: &LargeValue) -> Result<Self, Error> {
        let mut parts = Self::of(&reference.id);
        for number in 1..=reference.parts {
            let mut key = Item::from([(PARTS_ID, reference.id.as_str())]);
            key.insert(PARTS_NUMBER, trestle_item::Number::from(number));
            match stored(view, PARTS_TABLE, &key)? {
                Some(part) => parts.take(&part),
                None => break,
            }
        }
        Ok(parts)
    }

    fn take(&mut self, part: &Item) {
        self.parts += 1;
        let number = part.get(PARTS_NUMBER).and_then(AttributeValue::as_n);
        let number = number.and_then(trestle_item::Number::to_i64);
        let bytes = part.get(PARTS_BYTES).and_then(AttributeValue::as_b);
        self.has_gap |= number != i64::try_from(self.parts).ok() || bytes.is_none();
        let bytes = bytes.unwrap_or_default();
        self.size += bytes.len() as u64;
        self.digest.update(bytes);
    }

    /// Why they are not the value, if they are not.
    fn fault(&self, value: &LargeValue) -> Option<String> {
        if self.has_gap || self.parts != value.parts {
            return Some(format!("{} of {} parts are there", self.parts, value.parts));
        }
        if self.size != value.size {
            return Some(format!("its parts have {} bytes", self.size));
        }
        (self.digest.clone().finish() != value.sha256).then(|| "its SHA-256 is another".to_owned())
    }
}

/// Passes every value that a row refers to, with the row, to `each`.
fn each_named(
    view: &dyn HostView,
    models: &[Arc<Model>],
    each: &mut dyn FnMut(&Table, &Item, NamedValue) -> Result<(), Error>,
) -> Result<(), Error> {
    for model in models.iter().filter(|model| model.has_large_values()) {
        for table in model.tables() {
            each_row(view, table.table_name(), &mut |row| {
                for named in model.values_named_in(table.table_name(), &row) {
                    each(table, &row, named)?;
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Passes the rows of a table to `each`, in their present or future form. Rows that cannot be read are
/// reported elsewhere.
fn each_row(
    view: &dyn HostView,
    table: &str,
    each: &mut dyn FnMut(Item) -> Result<(), Error>,
) -> Result<(), Error> {
    if !view.has_table(table) {
        return Ok(());
    }
    view.walk(table, (0, 1), &mut |met| match met {
        Met::Row(row) | Met::ToMove(row) => each(row),
        Met::Stuck(..) | Met::Unreadable => Ok(()),
    })
}

/// The record about a value that a row refers to.
fn noted(view: &dyn HostView, id: &str) -> Result<Option<NamedValue>, Error> {
    let row = stored(view, NAMED_VALUES_TABLE, &NamedValue::key_of(id))?;
    Ok(row.as_ref().and_then(NamedValue::from_item))
}

fn stored(view: &dyn HostView, table: &str, key: &Item) -> Result<Option<Item>, Error> {
    match view.has_table(table) {
        true => view.get(table, key),
        false => Ok(None),
    }
}

fn key_in(table: &Table, row: &Item) -> Item {
    let names = table.key().attributes();
    let pairs = names.filter_map(|key| Some((key.name.clone(), row.get(&key.name)?.clone())));
    pairs.collect()
}

fn fact(kind: FindingKind, table: &str, key: &Item, named: &NamedValue) -> WrongFact {
    WrongFact {
        kind,
        model: named.model.clone(),
        entity: named.entity.clone(),
        effect: format!("large value {}", named.attribute),
        table: table.to_owned(),
        key: serde_json::json!(key),
        there: String::new(),
        wanted: String::new(),
        reason: None,
    }
}

fn unreadable(table: &str, row: &Item) -> Error {
    Error::internal(format!("a row of {table} cannot be read: {row:?}"))
}
