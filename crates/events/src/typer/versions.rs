//! The versions of a table's model, for changes that were written under earlier ones.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_item::Item;
use trestle_model::{Entity, LayoutChange, Model};

/// The versions of a table's model, newest first.
#[derive(Default)]
pub(super) struct Versions {
    all: Vec<Version>,
    /// The first is not in effect yet: it is asked last, and the names are those of the second.
    is_first_upcoming: bool,
}

pub(super) struct Version {
    model: Arc<Model>,
    /// Every entity, with its name in the newest version, so that typing a change allocates nothing.
    names: HashMap<String, Arc<str>>,
    /// The layout change of this table from this version to the next, if there was one.
    moved: Option<LayoutChange>,
}

impl Versions {
    /// A version that is about to take effect.
    pub(super) fn expecting(upcoming: &Arc<Model>) -> Self {
        let entities = upcoming.entities().iter();
        let names = entities.map(|entity| (entity.name().to_owned(), entity.name().into()));
        Versions {
            all: vec![Version {
                names: names.collect(),
                model: Arc::clone(upcoming),
                moved: None,
            }],
            is_first_upcoming: true,
        }
    }

    /// Adds the version before the last.
    pub(super) fn add(&mut self, table: &str, model: &Arc<Model>) {
        let next = self.all.last();
        let moved = next.and_then(|next| moved(table, model, &next.model));
        let is_in_effect = self.is_first_upcoming && self.all.len() == 1;
        let renamed = |name: &str| {
            let mut moves = moved.iter().flat_map(LayoutChange::moves);
            let moved = moves.find(|moved| moved.former_entity == name);
            let later = moved.map_or(name, |moved| moved.entity);
            let newest = next.and_then(|next| next.names.get(later));
            newest.cloned().unwrap_or_else(|| later.into())
        };
        let entities = model.entities().iter();
        let names = entities.map(|entity| {
            let name = entity.name();
            let newest = if is_in_effect { name.into() } else { renamed(name) };
            (name.to_owned(), newest)
        });
        let names = names.collect();
        self.all.push(Version {
            names,
            model: Arc::clone(model),
            moved,
        });
    }

    pub(super) fn entity(&self, table: &str, item: &Item) -> Option<Arc<str>> {
        let (version, entity) = self.recognised(table, item)?;
        version.names.get(entity.name()).cloned()
    }

    /// The entity of an item, in the first version that recognises it.
    pub(super) fn recognised(&self, table: &str, item: &Item) -> Option<(&Version, &Entity)> {
        let (upcoming, known) = self.all.split_at(usize::from(self.is_first_upcoming));
        known.iter().chain(upcoming).find_map(|version| {
            // A row that the model would refuse has no entity; that is no error here.
            let entity = version.model.recognise(table, item).ok()??;
            Some((version, entity))
        })
    }

    pub(super) fn former_key(&self, table: &str, key: &Item) -> Option<Item> {
        let moved = self.all.iter().filter_map(|version| version.moved.as_ref());
        let first = moved.fold(None, |known: Option<Item>, moved| {
            let place = moved.former_place(table, known.as_ref().unwrap_or(key));
            place.or(known)
        });
        first.filter(|first| first != key)
    }

    pub(super) fn renewed(&self, table: &str, row: &Item) -> Option<Item> {
        let moved = self.all.iter().rev().filter_map(|version| version.moved.as_ref());
        let newest = moved.fold(None, |known: Option<Item>, moved| {
            let row = known.as_ref().unwrap_or(row);
            let is_former = moved.is_former(table, row);
            is_former
                .then(|| moved.renew(table, row).ok())
                .flatten()
                .or(known)
        });
        newest.filter(|newest| newest != row)
    }
}

/// The layout change of a table between two versions. If it can only be computed in the other direction, the
/// newer version is the result of a rollback.
fn moved(table: &str, former: &Arc<Model>, present: &Arc<Model>) -> Option<LayoutChange> {
    if former.name() != present.name() {
        return None;
    }
    let moves = |found: &LayoutChange| found.tables().any(|moved| moved == table);
    let out = LayoutChange::between(former, present).ok().filter(moves);
    let back = || LayoutChange::between(present, former).and_then(|out| out.reversed());
    out.or_else(|| back().ok().filter(moves))
}
