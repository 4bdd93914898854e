//! What an item is: asked once for each change.

mod versions;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use trestle_api::REINDEX_VERSION;
use trestle_item::Item;
use trestle_model::Model;

use versions::Versions;

/// Says which entity an item is.
pub trait Typer: Send + Sync {
    /// The entity of an item of this table, of which at least the key is known.
    fn entity(&self, table: &str, item: &Item) -> Option<Arc<str>>;

    /// The key that the item with this key had in the earliest layout that is known; `None` if it is the same. It must
    /// not depend on what is learnt later: by it, the changes of an item find each other.
    fn former_key(&self, _table: &str, _key: &Item) -> Option<Item> {
        None
    }

    /// The version attribute of an item, if a reindex that raises it changes these attributes and no others: the version, and
    /// index keys that are made of it.
    fn raised_version(&self, _table: &str, _item: &Item, changed: &[String]) -> Option<String> {
        default_version(changed)
    }
}

/// The version attribute of items of which no model says otherwise.
fn default_version(changed: &[String]) -> Option<String> {
    match changed {
        [only] if only == REINDEX_VERSION => Some(only.clone()),
        _ => None,
    }
}

/// The entities of models, which can be exchanged while changes are being typed.
#[derive(Default)]
pub struct ModelTyper {
    /// By the names of their tables.
    known: ArcSwap<HashMap<String, Versions>>,
}

impl ModelTyper {
    /// Knows these models, as [`ModelTyper::set`] does.
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = Arc<Model>>) -> Self {
        let typer = Self::default();
        typer.set(models);
        typer
    }

    /// From now on, knows these models and no others.
    ///
    /// Several versions of a model come newest first. What the newest does not recognise is looked up in those before,
    /// and has the name that the newest has for it: a change may have been written in a layout that is no longer in
    /// effect when it is read.
    pub fn set(&self, models: impl IntoIterator<Item = Arc<Model>>) {
        self.store(HashMap::new(), models);
    }

    fn store(&self, mut known: HashMap<String, Versions>, models: impl IntoIterator<Item = Arc<Model>>) {
        for model in models {
            for table in model.tables() {
                let name = table.table_name();
                known.entry(name.to_owned()).or_default().add(name, &model);
            }
        }
        self.known.store(Arc::new(known));
    }

    /// Knows these models as [`ModelTyper::set`] does, and a version that is about to take effect: it is asked about what
    /// none of them recognises. Call this before a new layout takes effect, or changes that are read at that
    /// moment would have no entity.
    pub fn expect(&self, upcoming: &Arc<Model>, models: impl IntoIterator<Item = Arc<Model>>) {
        let mut known: HashMap<String, Versions> = HashMap::new();
        for table in upcoming.tables() {
            let name = table.table_name();
            known.insert(name.to_owned(), Versions::expecting(upcoming));
        }
        self.store(known, models);
    }

    /// A row of an earlier layout as the newest version has it; `None` if it is not of an earlier one, or cannot be
    /// brought into the newest.
    #[must_use]
    pub fn renewed(&self, table: &str, row: &Item) -> Option<Item> {
        self.known.load().get(table)?.renewed(table, row)
    }
}

impl Typer for ModelTyper {
    fn entity(&self, table: &str, item: &Item) -> Option<Arc<str>> {
        self.known.load().get(table)?.entity(table, item)
    }

    fn former_key(&self, table: &str, key: &Item) -> Option<Item> {
        self.known.load().get(table)?.former_key(table, key)
    }

    fn raised_version(&self, table: &str, item: &Item, changed: &[String]) -> Option<String> {
        let known = self.known.load();
        let declared = known.get(table).and_then(|versions| {
            let (_, entity) = versions.recognised(table, item)?;
            let version = entity.reindex_version()?.to_owned();
            Some((entity.has_version_in_all(changed), version))
        });
        match declared {
            Some((is_all, version)) => is_all.then_some(version),
            None => default_version(changed),
        }
    }
}

impl std::fmt::Debug for ModelTyper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelTyper").finish_non_exhaustive()
    }
}
