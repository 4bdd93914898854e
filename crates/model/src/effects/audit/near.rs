//! The rows near a row: those derived from it, and those from which it is derived. An audit of a changed row
//! checks these.

use trestle_item::Item;

use super::relation::{Relation, Step, paired};
use super::{Audit, Looked};
use crate::effect::Once;
use crate::effects::inverse::{Form, identities, identity};
use crate::entity::Entity;

/// The rows near a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Near {
    /// Table and key of each, whether it exists or not.
    pub keys: Vec<(String, Item)>,
    /// Whether the row is counted or counts: whether the sum is right follows only from all rows together.
    pub is_counted: bool,
}

impl Audit<'_> {
    /// The rows near a row of a table of the database.
    #[must_use]
    pub fn near(&self, table_name: &str, row: &Item) -> Near {
        let mut near = Near::default();
        let Some(table) = self.model.table(table_name) else {
            return near;
        };
        // A row that cannot be recognised has no derived rows.
        let Ok(Some(entity)) = self.model.recognise_in(table, row) else {
            return near;
        };
        let looked = Looked::new(table, entity, row);
        for (_, relation) in self.relations.wanting(entity) {
            match &relation.step {
                Step::Counter(step) => near.is_counted |= step.applies_to(&looked.row),
                _ => self.add(&mut near, relation.other, relation.wanted_keys(&looked.row)),
            }
        }
        for (_, relation) in self.relations.having(entity) {
            match &relation.step {
                Step::Counter(step) => near.is_counted |= step.counter.once == Once::Row,
                _ => self.add(&mut near, relation.of, relation.wanting_keys(&looked.row)),
            }
        }
        near
    }

    fn add(&self, near: &mut Near, entity: &Entity, keys: Vec<Item>) {
        if let Some(table) = self.model.tables.get(entity.table) {
            let named = keys.into_iter().map(|key| (table.table_name.clone(), key));
            near.keys.extend(named);
        }
    }
}

impl Relation<'_> {
    /// The keys of the rows that must exist because of a row.
    fn wanted_keys(&self, row: &Item) -> Vec<Item> {
        match &self.step {
            Step::Head(_) => self.other.key_from(row).into_iter().collect(),
            Step::Entries(step) => {
                let entries = step.rows(self.of, self.other, row).into_iter().flatten();
                entries.map(|(_, entry)| entry.key).collect()
            }
            Step::Inverse(step) => match &step.form {
                Form::Identities { of, .. } => keys_of(self.other, row, of),
                Form::Rows { .. } => self.target(row).into_iter().collect(),
            },
            Step::Unique(_) => self.target(row).into_iter().collect(),
            Step::Counter(_) => Vec::new(),
        }
    }

    /// The keys of the rows that require a row, as far as it names them.
    fn wanting_keys(&self, row: &Item) -> Vec<Item> {
        match &self.step {
            Step::Head(_) | Step::Unique(_) | Step::Entries(_) => self.of.key_from(row).into_iter().collect(),
            Step::Inverse(step) => match &step.form {
                Form::Identities { theirs, .. } => keys_of(self.of, row, theirs),
                Form::Rows { back, .. } => {
                    let key = self.of.key_where(|name| paired(back, row, name));
                    key.into_iter().collect()
                }
            },
            Step::Counter(_) => Vec::new(),
        }
    }
}

/// The keys of the rows whose identities are in a set of a row.
fn keys_of(entity: &Entity, row: &Item, set: &str) -> Vec<Item> {
    let members = identities(Some(row), set).into_iter();
    let keys = members.filter_map(|member| entity.key_from(&identity(entity, member)).ok());
    keys.collect()
}
