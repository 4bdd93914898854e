//! Compares existing rows with a model: which fit, which lack something, and which do not fit.

use std::collections::BTreeMap;

use trestle_api::Error;
use trestle_item::Item;
use trestle_model::{Derived, LayoutChange, Model, Refusal, Table};

use crate::clearing::Leftovers;
use crate::report::{Misfit, TableRows};

/// Why a model cannot be applied to rows of another layout without a migration.
const FORMER: &str = "the keys are of the version before: needs a migration, `trestle migrate plan FILE`, which moves \
                      the rows while they are read and written";

/// How many keys of misfits are shown for each reason.
const KEYS_SHOWN: usize = 10;

/// The table key of a row. Every row has one.
pub fn key_of(table: &Table, row: &Item) -> Result<Item, Error> {
    let names = table.key().attributes().map(|attribute| &attribute.name);
    let values = names.map(|name| match row.get(name) {
        Some(value) => Ok((name.clone(), value.clone())),
        None => Err(Error::defect(format_args!(
            "a row of table {} has no key attribute {name}",
            table.table_name()
        ))),
    });
    values.collect()
}

/// A key as DynamoDB's JSON, for reports.
pub(crate) fn key_json(key: &Item) -> Result<serde_json::Value, Error> {
    serde_json::to_value(key).map_err(|error| Error::defect(format_args!("a key is no JSON: {error}")))
}

/// Compares the rows of one table with the model.
pub struct Inspection<'m> {
    model: &'m Model,
    table: &'m Table,
    now_ms: u64,
    /// The layout change from the previous version to this one, if it is known.
    layout_change: Option<&'m LayoutChange>,
    /// What identifies rows of removed effects.
    leftovers: Vec<Leftovers>,
    found: TableRows,
    misfits: BTreeMap<String, Misfit>,
}

impl<'m> Inspection<'m> {
    /// An inspection before any row was read.
    pub fn new(model: &'m Model, table: &'m Table, now_ms: u64) -> Self {
        Inspection {
            model,
            table,
            now_ms,
            layout_change: None,
            leftovers: Vec::new(),
            found: TableRows {
                table: table.table_name().to_owned(),
                ..TableRows::default()
            },
            misfits: BTreeMap::new(),
        }
    }

    /// Distinguishes rows of the previous version from wrong rows.
    pub fn knowing(self, layout_change: Option<&'m LayoutChange>) -> Self {
        Inspection {
            layout_change,
            ..self
        }
    }

    /// Recognises the rows that the previous version left behind.
    pub fn leaving(self, leftovers: Vec<Leftovers>) -> Self {
        Inspection { leftovers, ..self }
    }

    /// The results.
    #[must_use]
    pub fn finish(mut self) -> TableRows {
        self.found.misfits = self.misfits.into_values().collect();
        self.found
    }

    /// Rows read so far.
    pub fn looked_at(&self) -> u64 {
        self.found.looked_at
    }

    /// Counts a row that is in its place.
    pub fn stays(&mut self) {
        self.found.looked_at += 1;
    }

    /// Counts a row that moves and will fit.
    pub fn moves(&mut self) {
        self.found.looked_at += 1;
        self.found.to_move += 1;
    }

    /// Counts a row that does not fit.
    pub fn misfit(
        &mut self,
        reason: String,
        example: &dyn std::fmt::Display,
        row: &Item,
    ) -> Result<(), Error> {
        self.found.looked_at += 1;
        add(&mut self.misfits, reason, example, &key_of(self.table, row)?)
    }

    /// Compares a row with the model.
    pub fn look_at(&mut self, row: &Item) -> Result<(), Error> {
        let name = self.table.table_name();
        if self
            .layout_change
            .is_some_and(|layout_change| layout_change.is_former(name, row))
        {
            return self.misfit(FORMER.to_owned(), &"its key is of the version before", row);
        }
        self.found.looked_at += 1;
        let mut leftovers = self.leftovers.iter();
        if leftovers.any(|leftovers| leftovers.has(self.model, name, row)) {
            return Ok(());
        }
        match self.model.derive(name, None, row, self.now_ms) {
            Err(Refusal::Mismatch { .. }) if self.differs_in_index_keys(row) => self.found.to_fill_in += 1,
            Ok(derived) => {
                self.found.to_fill_in += u64::from(derived.is_some_and(|derived| lacks(&derived, row)))
            }
            Err(refusal) => {
                let key = key_of(self.table, row)?;
                add(&mut self.misfits, reason(&refusal), &refusal, &key)?;
            }
        }
        Ok(())
    }
}

impl Inspection<'_> {
    /// Whether only index keys differ from the derived ones, so that they can be derived again.
    fn differs_in_index_keys(&self, row: &Item) -> bool {
        let derived = self
            .model
            .derive(self.table.table_name(), Some(row), row, self.now_ms);
        derived.is_ok()
    }
}

/// Whether a row lacks something. An existing time of the last write is never missing.
pub fn lacks(derived: &Derived<'_>, row: &Item) -> bool {
    let updated = derived.entity.updated();
    let mut set = derived.set.iter();
    !derived.remove.is_empty() || set.any(|(name, _)| Some(*name) != updated || !row.contains_key(name))
}

/// Adds a row to those with the same reason.
pub fn add(
    misfits: &mut BTreeMap<String, Misfit>,
    reason: String,
    example: &dyn std::fmt::Display,
    key: &Item,
) -> Result<(), Error> {
    let misfit = misfits.entry(reason.clone()).or_insert_with(|| Misfit {
        reason,
        example: example.to_string(),
        ..Misfit::default()
    });
    misfit.rows += 1;
    if misfit.keys.len() < KEYS_SHOWN {
        misfit.keys.push(key_json(key)?);
    }
    Ok(())
}

/// The reason without the parts that differ from row to row.
pub fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Unrecognised { .. } | Refusal::UnknownTag { .. } => {
            "no entity of the model: add the entity, or say `open = true` for the table".to_owned()
        }
        Refusal::Ambiguous { entities, .. } => format!(
            "could be any of {}: give the rows their tag, or set the entities apart by their keys",
            entities.join(", ")
        ),
        Refusal::Mismatch { entity, key, .. } => format!(
            "entity {entity}: key {key} is not what the attributes give: needs a migration (`trestle migrate plan FILE`), or correct the rows"
        ),
        Refusal::Missing {
            entity, attribute, ..
        } => format!(
            "entity {entity}: attribute {attribute} is missing: add it, or let the model say `optional` or a `default`"
        ),
        Refusal::Unfit {
            entity, attribute, ..
        } => format!("entity {entity}: attribute {attribute} is not as the model says"),
        Refusal::Undeclared { entity, attribute } => {
            format!("entity {entity}: attribute {attribute} is not declared, and the entity is closed")
        }
        Refusal::NoWayBack {
            entity,
            attribute,
            only,
            ..
        } => {
            format!("entity {entity}: the previous version cannot store rows whose {attribute} is not {only}")
        }
        other => other.to_string(),
    }
}
