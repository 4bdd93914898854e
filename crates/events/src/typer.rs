//! What an item is: asked once for each change.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use trestle_item::Item;
use trestle_model::Model;

/// Says which entity an item is.
pub trait Typer: Send + Sync {
    /// The entity of an item of this table, of which at least the key is known.
    fn entity(&self, table: &str, item: &Item) -> Option<Arc<str>>;
}

/// The entities of models, which can be exchanged while changes are being typed.
#[derive(Default)]
pub struct ModelTyper {
    known: ArcSwap<Known>,
}

#[derive(Default)]
struct Known {
    /// By the names of their tables.
    models: HashMap<String, Arc<Model>>,
    /// Every entity's name, so that typing a change allocates nothing.
    names: HashMap<String, Arc<str>>,
}

impl ModelTyper {
    /// Knows these models.
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = Arc<Model>>) -> Self {
        let typer = Self::default();
        typer.set(models);
        typer
    }

    /// From now on, knows these models and no others.
    pub fn set(&self, models: impl IntoIterator<Item = Arc<Model>>) {
        let mut known = Known::default();
        for model in models {
            for entity in model.entities() {
                let name = entity.name();
                known.names.insert(name.to_owned(), name.into());
            }
            for table in model.tables() {
                known
                    .models
                    .insert(table.table_name().to_owned(), Arc::clone(&model));
            }
        }
        self.known.store(Arc::new(known));
    }
}

impl Typer for ModelTyper {
    fn entity(&self, table: &str, item: &Item) -> Option<Arc<str>> {
        let known = self.known.load();
        // A row that the model would refuse is no entity; that is nothing to stop at here.
        let entity = known.models.get(table)?.recognise(table, item).ok()??;
        known.names.get(entity.name()).cloned()
    }
}

impl std::fmt::Debug for ModelTyper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelTyper").finish_non_exhaustive()
    }
}
