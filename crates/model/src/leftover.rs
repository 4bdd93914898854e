//! Rows of effects that a later version of the model does not have: heads, rows that keep a value unique, and entries.

use trestle_item::Item;

use crate::effect::Effect;
use crate::entity::{Entity, Role};
use crate::layout_change::LayoutChange;
use crate::model::Model;

impl Model {
    /// Whether the database wrote rows under this version that have no meaning under `present`: an effect was
    /// dropped, or its rows have other keys or another tag in `present` and do not move.
    #[must_use]
    pub fn leaves_rows_behind(&self, present: &Model, layout_change: Option<&LayoutChange>) -> bool {
        let is_moved = |entity: &Entity| {
            let mut moves = layout_change.into_iter().flat_map(LayoutChange::moves);
            moves.any(|moved| moved.former_entity == entity.name)
        };
        let mut derived = self.entities.iter().filter(|entity| entity.is_derived());
        derived.any(|entity| !present.keeps(self, entity) && !is_moved(entity))
    }

    /// Whether the database wrote a row under this version that has no meaning under `present`. An effect of
    /// `present` may keep its own row at that key: see [`Model::taken_over`].
    #[must_use]
    pub fn left_behind(&self, present: &Model, table_name: &str, row: &Item) -> bool {
        let is_own = |entity: &Entity| entity.is_derived() && entity.lies_in_place(row);
        let was_own = self.recognise(table_name, row).ok().flatten().is_some_and(is_own);
        was_own
            && match present.recognise(table_name, row) {
                Ok(Some(entity)) => {
                    entity.is_derived() && (!is_own(entity) || present.is_tagged_otherwise(entity, row))
                }
                Ok(None) | Err(_) => true,
            }
    }

    /// Whether the rows of an effect of a former version have other keys in this version: they would have to
    /// move, or be created again.
    #[must_use]
    pub fn displaces(&self, former: &Model, effect: &Effect) -> bool {
        let rows = effect
            .own_rows()
            .and_then(|name| Some((former.entity(name)?, self.entity(name)?)));
        rows.is_some_and(|(before, own)| {
            let table =
                |model: &Model, entity: &Entity| model.table_of(entity).map(|table| table.table_name.clone());
            let mut templates = before.table_key.iter().zip(&own.table_key);
            table(former, before) != table(self, own)
                || before.table_key.len() != own.table_key.len()
                || templates.any(|(before, now)| !before.renders_as(now))
        })
    }

    /// Whether the rows of an effect of a former version had another tag. A head has no attribute that its
    /// row lacks, so it must not keep a tag in an attribute that no longer holds tags.
    #[must_use]
    pub fn retags(&self, former: &Model, effect: &Effect) -> bool {
        let attribute = |model: &Model, entity: &Entity| {
            let table = model.table_of(entity);
            table.and_then(|table| table.entity_attribute.clone())
        };
        let rows = effect
            .own_rows()
            .and_then(|name| Some((former.entity(name)?, self.entity(name)?)));
        rows.is_some_and(|(before, own)| {
            let is_head = matches!(effect, Effect::Head(_));
            self.has_other_tag(own, former, before)
                || is_head && attribute(former, before) != attribute(self, own)
        })
    }

    /// Rows without a tag are recognised by their keys.
    fn has_other_tag(&self, own: &Entity, former: &Model, before: &Entity) -> bool {
        let tags = self.tag_of(own).zip(former.tag_of(before));
        tags.is_some_and(|(own, before)| own != before)
    }

    /// Whether rows of a derived entity of another version have the same keys here.
    fn keeps(&self, former: &Model, entity: &Entity) -> bool {
        let name_of =
            |model: &Model, entity: &Entity| model.table_of(entity).map(|table| table.table_name.clone());
        let own = self.entity(&entity.name);
        own.is_some_and(|own| {
            own.role == entity.role
                && own.table_key == entity.table_key
                && !self.has_other_tag(own, former, entity)
                && name_of(self, own) == name_of(former, entity)
        })
    }
}

impl Entity {
    /// Whether a row's key follows from its attributes. Those that it lacks are in its key.
    pub(crate) fn lies_in_place(&self, row: &Item) -> bool {
        let Some(identity) = self.identify(row) else {
            return false;
        };
        let key = self.key_where(|name| row.get(name).or_else(|| identity.get(name)));
        key.is_ok_and(|key| key.iter().all(|(name, value)| row.get(name) == Some(value)))
    }

    /// Whether the database writes its rows.
    pub(crate) fn is_derived(&self) -> bool {
        self.role != Role::Declared
    }
}
