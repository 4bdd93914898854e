//! The entity of an item, determined once for each change.

mod versions;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use trestle_api::REINDEX_VERSION;
use trestle_item::Item;
use trestle_model::Model;

use versions::Versions;

/// Determines the entity of an item.
pub trait Typer: Send + Sync {
    /// The entity of an item of this table, of which at least the key is known.
    fn entity(&self, table: &str, item: &Item) -> Option<Arc<str>>;

    /// The key that the item with this key had in the earliest known layout; `None` if it is the same. The
    /// result must not depend on layouts that are added later, because it identifies all changes of an item.
    fn former_key(&self, _table: &str, _key: &Item) -> Option<Item> {
        None
    }

    /// The version attribute of an item, if a reindex that raises it changes exactly these attributes: the
    /// version, and index keys that are derived from it.
    fn raised_version(&self, _table: &str, _item: &Item, changed: &[String]) -> Option<String> {
        default_version(changed)
    }
}

/// The version attribute of items for which no model defines one.
fn default_version(changed: &[String]) -> Option<String> {
    match changed {
        [only] if only == REINDEX_VERSION => Some(only.clone()),
        _ => None,
    }
}

/// The entities of models, which can be replaced while changes are being typed.
#[derive(Default)]
pub struct ModelTyper {
    /// By the names of their tables.
    known: ArcSwap<HashMap<String, Versions>>,
}

impl ModelTyper {
    /// A typer with these models; see [`ModelTyper::set`].
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = Arc<Model>>) -> Self {
        let typer = Self::default();
        typer.set(models);
        typer
    }

    /// Replaces the models.
    ///
    /// Several versions of a model are given newest first. An item that the newest does not recognise is
    /// looked up in the earlier ones, and gets the name that the newest has for its entity: a change may have
    /// been written in a layout that is no longer in effect when it is read.
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

    /// Sets these models like [`ModelTyper::set`], with a version that will take effect soon: it is used for
    /// items that none of them recognises. Call this before a new layout takes effect; otherwise changes that
    /// are read at that moment would have no entity.
    pub fn expect(&self, upcoming: &Arc<Model>, models: impl IntoIterator<Item = Arc<Model>>) {
        let mut known: HashMap<String, Versions> = HashMap::new();
        for table in upcoming.tables() {
            let name = table.table_name();
            known.insert(name.to_owned(), Versions::expecting(upcoming));
        }
        self.store(known, models);
    }

    /// A row of an earlier layout in the form of the newest version; `None` if it is not of an earlier one,
    /// or cannot be converted.
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
