//! Whether everything derived from rows agrees with them, and how to repair it. Pure.
//!
//! Most derived facts have two sides: a row wants something, and another row has it. The first pass reads all
//! rows once, in any order and in any number of parts: what is wanted is added to sums, and what exists is
//! subtracted ([`Survey`]). Sums of zero need no second pass. The rows behind other sums are read again and
//! compared one by one ([`Inquiry`]), as many at a time as fit into memory. Facts about a row and one other
//! row are looked up immediately.
//!
//! [`Model::mend`] repairs a [`Finding`] over the rows of the commit that writes the repair. It checks the
//! finding again, so that one that is no longer true changes nothing.

mod entries;
mod finding;
mod head;
mod inquiry;
mod memo;
mod mend;
mod near;
mod orphan;
mod relation;
mod single;
mod sums;
mod survey;
mod taken_over;

use std::borrow::Cow;
use std::collections::HashSet;

use trestle_env::Timestamp;
use trestle_item::{Item, key};

use self::relation::Relations;
use super::settle::fill_identity;
use crate::entity::Entity;
use crate::model::{Model, Table};

pub use finding::{Finding, FindingKind, Findings};
pub use inquiry::Inquiry;
pub use near::Near;
pub use survey::{Survey, Surveyed, Suspects};

/// The scope of an audit.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Rows may be older than the effects: derived rows that were never created are missing, too. Heads
    /// advance to the newest row of their group, missing counting rows are created, and a relation that only
    /// one side has is added to the other side.
    pub fill: bool,
    /// Entities whose heads were made before. They stay unchanged: a client may have set one back.
    pub heads_made: Vec<String>,
    /// Keys of heads that stay unchanged although a newer row exists, in the form of [`Audit::head_key`].
    pub set_back: HashSet<Vec<u8>>,
}

/// An audit of one model's rows at one moment.
#[derive(Debug)]
pub struct Audit<'m> {
    model: &'m Model,
    relations: Relations<'m>,
    now: Timestamp,
    options: AuditOptions,
}

impl<'m> Audit<'m> {
    /// An audit at a time: rows that have expired by then take no part in groups.
    #[must_use]
    pub fn new(model: &'m Model, now: Timestamp, options: AuditOptions) -> Self {
        Audit {
            model,
            relations: Relations::of(model, options.fill),
            now,
            options,
        }
    }

    /// The first pass. Several can share the rows and be merged.
    #[must_use]
    pub fn survey(&self) -> Survey<'_> {
        Survey::new(self)
    }

    /// The second pass, for these suspects.
    #[must_use]
    pub fn inquiry<'s>(&'s self, suspects: &'s Suspects) -> Inquiry<'s> {
        Inquiry::new(self, suspects)
    }

    /// Whether heads of an entity may be older than the model.
    fn fills_heads_of(&self, entity: &Entity) -> bool {
        self.options.fill && !self.options.heads_made.contains(&entity.name)
    }

    /// The key of a head as [`AuditOptions::set_back`] has it.
    #[must_use]
    pub fn head_key(finding: &Finding) -> Vec<u8> {
        let mut bytes = Vec::new();
        key_bytes(finding.key.values(), &mut bytes);
        bytes
    }
}

/// A row under audit.
pub(super) struct Looked<'a> {
    pub(super) table: &'a Table,
    pub(super) entity: &'a Entity,
    /// With its identity, which rows that are older than the model may have only in their key.
    pub(super) row: Cow<'a, Item>,
}

impl<'a> Looked<'a> {
    fn new(table: &'a Table, entity: &'a Entity, row: &'a Item) -> Self {
        let mut row = Cow::Borrowed(row);
        if entity.identity.iter().any(|name| !row.contains_key(name)) {
            fill_identity(entity, row.to_mut());
        }
        Looked { table, entity, row }
    }

    pub(super) fn key(&self) -> Item {
        super::ledger::key_in(self.table, &self.row)
    }

    /// Appends the bytes of its key.
    pub(super) fn key_bytes(&self, out: &mut Vec<u8>) {
        let names = self.table.key.attributes().map(|attribute| &attribute.name);
        key_bytes(names.filter_map(|name| self.row.get(name)), out);
    }
}

/// Appends the values of a key, so that different keys of one table have different bytes.
fn key_bytes<'v>(values: impl Iterator<Item = &'v trestle_item::AttributeValue>, out: &mut Vec<u8>) {
    for value in values {
        // A value that is not a key finds nothing; the row itself is reported as not fitting.
        let _ = key::encode_component(value, out);
    }
}
