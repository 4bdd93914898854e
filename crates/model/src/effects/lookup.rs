//! A lookup of rows of the ledger by a value, for ledgers with too many rows to examine for every query.

use std::collections::HashMap;

use trestle_expr::KeyOp;
use trestle_hook::RowQuery;
use trestle_item::{AttributeValue, key};

use super::ledger::At;

/// The rows of a ledger by the values of attributes that were queried.
#[derive(Default)]
pub(super) struct Lookup {
    /// Rows in the order in which they were entered or changed.
    changed: Vec<At>,
    /// By table and attribute.
    attributes: HashMap<(usize, String), Values>,
}

/// The rows by the values of one attribute, including rows that had a value before.
#[derive(Default)]
struct Values {
    /// How many changes have been indexed.
    read: usize,
    rows: HashMap<Vec<u8>, Vec<At>>,
}

impl Lookup {
    /// A row was entered or changed.
    pub(super) fn changed(&mut self, at: At) {
        self.changed.push(at);
    }

    /// The rows that a query of a table may find, each once and in order; `None` if its condition names no value. `value`
    /// is what a row of that table has for an attribute.
    pub(super) fn candidates<'v>(
        &mut self,
        table: usize,
        query: &RowQuery,
        value: impl Fn(At, &str) -> Option<&'v AttributeValue>,
    ) -> Option<Vec<At>> {
        let mut terms = query.key_condition.terms.iter();
        let (attribute, wanted) = terms.find_map(|term| match &term.op {
            KeyOp::Eq(wanted) => Some((&term.attribute, bytes(wanted)?)),
            _ => None,
        })?;
        let values = self.attributes.entry((table, attribute.clone())).or_default();
        for at in self.changed.iter().skip(values.read) {
            if let Some(bytes) = value(*at, attribute).and_then(bytes) {
                values.rows.entry(bytes).or_default().push(*at);
            }
        }
        values.read = self.changed.len();
        let mut found = values.rows.get(&wanted).cloned().unwrap_or_default();
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

/// The bytes of a value of a key. No query finds a value that is not a key.
fn bytes(value: &AttributeValue) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    key::encode_component(value, &mut bytes)?;
    Some(bytes)
}
