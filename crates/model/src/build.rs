//! From draft to model: names are resolved, templates checked, and everything that the model promises is
//! proved.

mod access;
mod companion;
mod disjoint;
mod effect;
mod entity;
mod entries;
mod head;
mod history;
mod large_values;
mod migrate;
mod precision;
mod reindex_version;
mod table;
mod template;

use std::collections::BTreeMap;

use crate::draft::DraftModel;
use crate::effects::{has_effects, plans};
use crate::entity::Entity;
use crate::model::{Loaded, Model, Table};
use crate::problem::{Problems, suggestion};

/// Loads a model file: all its problems, and the model if none of them is an error.
#[must_use]
pub fn load(text: &str) -> Loaded {
    let mut problems = Problems::of(text);
    let draft = crate::read::read(text, &mut problems);
    let model = Builder::new(&draft, &mut problems).build();
    let sound = !problems.has_errors();
    Loaded {
        model: sound.then_some(model),
        problems: problems.into_list(),
    }
}

/// The model so far. Faulty parts are left out, so that the rest can still be checked.
struct Builder<'d, 'p, 't> {
    draft: &'d DraftModel,
    problems: &'p mut Problems<'t>,
    tables: Vec<Table>,
    entities: Vec<Entity>,
    /// The place of each entity's key in the file.
    places: Vec<usize>,
}

impl<'d, 'p, 't> Builder<'d, 'p, 't> {
    fn new(draft: &'d DraftModel, problems: &'p mut Problems<'t>) -> Self {
        Builder {
            draft,
            problems,
            tables: Vec::new(),
            entities: Vec::new(),
            places: Vec::new(),
        }
    }

    fn build(mut self) -> Model {
        self.add_tables();
        self.add_entities();
        self.check_tags();
        self.check_same_shapes();
        self.prove_disjoint();
        self.add_effects();
        self.check_versions_apart();
        self.check_large_values();
        let access = self.access_patterns();
        self.check_copies(&access);
        let plans = plans(&self.tables, &self.entities, &access);
        for table in &mut self.tables {
            table.has_effects = has_effects(table, &self.entities, &plans);
        }
        let names = self.tables.iter().enumerate();
        Model {
            by_table_name: names.map(|(at, table)| (table.table_name.clone(), at)).collect(),
            plans,
            name: self.draft.name.clone(),
            about: self.draft.about.clone(),
            tables: self.tables,
            entities: self.entities,
            access,
            versions_in_force: BTreeMap::new(),
        }
    }

    fn table_named(&mut self, name: &crate::draft::Name, what: &str) -> Option<usize> {
        let found = self.tables.iter().position(|table| table.name == name.value);
        if found.is_none() {
            let help = suggestion(&name.value, self.tables.iter().map(|table| table.name.as_str()));
            self.problems.error(
                name.at,
                format!("{what} names the table `{}`, which does not exist", name.value),
                help,
            );
        }
        found
    }

    /// Whether an entity exists but is faulty: its problems are already reported, and so are those of its
    /// head, its unique keys and its entries.
    fn is_broken(&self, name: &str) -> bool {
        let (owner, derived) = name.split_once('.').unwrap_or((name, ""));
        let mut drafts = self.draft.entities.iter();
        let Some(draft) = drafts.find(|entity| entity.name.value == owner) else {
            return false;
        };
        let is_built = self.entities.iter().any(|entity| entity.name == owner);
        !is_built
            || match derived.split_once('.') {
                None => match derived {
                    "head" => draft.head.is_some(),
                    "history" => draft.history.is_some(),
                    _ => false,
                },
                Some(("unique", name)) => draft.uniques.iter().any(|unique| unique.name.value == name),
                Some(("entries", name)) => draft.entries.iter().any(|entries| entries.name.value == name),
                Some(_) => false,
            }
    }

    fn entity_named(&mut self, name: &crate::draft::Name, what: &str) -> Option<usize> {
        let found = self.entities.iter().position(|entity| entity.name == name.value);
        if found.is_none() && !self.is_broken(&name.value) {
            let help = suggestion(
                &name.value,
                self.entities.iter().map(|entity| entity.name.as_str()),
            );
            self.problems.error(
                name.at,
                format!("{what} names the entity `{}`, which does not exist", name.value),
                help,
            );
        }
        found
    }
}
