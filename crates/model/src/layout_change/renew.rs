//! A former row as it will be. A pure function of the row.

use trestle_hook::Belongs;
use trestle_item::{AttributeValue, Item, Map};

use super::LayoutChange;
use super::pair::{MovedEntity, place};
use super::plan::MovedTable;
use crate::attribute::shown;
use crate::derive::{IndexKeys, mismatch, refused};
use crate::model::Table;
use crate::refusal::Refusal;
use crate::template::{RenderError, Said};

impl LayoutChange {
    pub(super) fn renewed(&self, moved: &MovedTable, row: Item) -> Result<Item, Refusal> {
        let Some((moving, said)) = self.former_row(moved, &row)? else {
            return Ok(row);
        };
        let Some(table) = self.present.tables.get(moved.present) else {
            return Ok(row);
        };
        self.check_tag(table, moving, &row)?;
        let mut item = moving.content(row, &said)?;
        // The row is its own predecessor: its values were not given by a client, and are not new.
        let derived = self
            .present
            .derive_as(table, moving.own, Some(&item), &item, IndexKeys::Left, None)?;
        derived.apply(&mut item);
        Ok(item)
    }

    pub(super) fn belonging(&self, moved: &MovedTable, key: &Item) -> Belongs {
        let mut found = self
            .moving(moved)
            .filter_map(|moving| Some((moving, moving.said(key)?)));
        match (found.next(), found.next()) {
            (None, _) => Belongs::Here,
            (Some((moving, said)), None) => moving.told_place(&said).map_or(Belongs::Elsewhere, Belongs::At),
            // The row shows which of the entities it belongs to.
            (Some(_), Some(_)) => Belongs::Elsewhere,
        }
    }

    pub(super) fn renewed_key(&self, moved: &MovedTable, key: &Item) -> Result<Item, Refusal> {
        let mut own: Option<(Item, &str)> = None;
        for moving in self.moving(moved) {
            let Some(said) = moving.said(key) else { continue };
            let place = moving.place_or_refuse(&said)?;
            match &own {
                Some((other, first)) if *other != place => {
                    return Err(self.ambiguous(moved, [*first, &moving.own.name]));
                }
                _ => own = Some((place, &moving.own.name)),
            }
        }
        Ok(own.map_or_else(|| key.clone(), |(place, _)| place))
    }

    pub(super) fn renewed_given(&self, moved: &MovedTable, item: Item) -> Result<Item, Refusal> {
        match self.former_row(moved, &item)? {
            Some((moving, said)) => moving.content(item, &said),
            None => Ok(item),
        }
    }

    /// The entity of a former row, and what its key says; `None` for a row in its own place.
    fn former_row<'r>(
        &'r self,
        moved: &'r MovedTable,
        row: &Item,
    ) -> Result<Option<(MovedEntity<'r>, Said)>, Refusal> {
        let found = self.moving(moved);
        let mut found: Vec<_> = found
            .filter_map(|moving| Some((moving, moving.said(row)?)))
            .collect();
        if found.len() > 1 {
            let names: Vec<&str> = found.iter().map(|(moving, _)| moving.own.name.as_str()).collect();
            let ambiguous = self.ambiguous(moved, names);
            let tag = self.tag_of(moved, row);
            found.retain(|(moving, _)| tag == Some(moving.former.tag.as_str()));
            if found.len() != 1 {
                return Err(ambiguous);
            }
        }
        Ok(found.pop())
    }

    fn tag_of<'i>(&self, moved: &MovedTable, row: &'i Item) -> Option<&'i str> {
        let table = self.former.table(&moved.name)?;
        row.get(table.entity_attribute.as_ref()?)?.as_s()
    }

    /// A row whose tag does not match its key belongs to no entity: after a move it could not be read.
    fn check_tag(&self, table: &Table, moving: MovedEntity<'_>, row: &Item) -> Result<(), Refusal> {
        let Some(attribute) = &table.entity_attribute else {
            return Ok(());
        };
        match row.get(attribute) {
            Some(value) if value.as_s() != Some(&moving.own.tag) => Err(Refusal::UnknownTag {
                table: table.table_name.clone(),
                attribute: attribute.clone(),
                tag: value.as_s().unwrap_or_default().to_owned(),
                known: vec![moving.own.tag.clone()],
            }),
            _ => Ok(()),
        }
    }

    fn ambiguous<'n>(&self, moved: &MovedTable, names: impl IntoIterator<Item = &'n str>) -> Refusal {
        let table = self.present.tables.get(moved.present);
        Refusal::Ambiguous {
            entities: names.into_iter().map(str::to_owned).collect(),
            entity_attribute: table.and_then(|table| table.entity_attribute.clone()),
        }
    }
}

impl MovedEntity<'_> {
    /// The row's content apart from its keys, in the present version.
    fn content(&self, row: Item, said: &Said) -> Result<Item, Refusal> {
        self.check_fixed(said)?;
        let mut item = self.without_keys(row, said)?;
        for (name, value) in self.pair.withdrawn.iter() {
            if item.get(name) == Some(value) {
                item.remove(name);
            }
        }
        self.fill(&mut item);
        Ok(item)
    }

    /// The row without attributes that its version derived, and with those that were only in its key.
    fn without_keys(&self, mut item: Item, said: &Said) -> Result<Item, Refusal> {
        for (name, value) in said.values.iter() {
            if !item.contains_key(name) {
                item.insert(name.as_str(), value.clone());
            }
        }
        // If the attributes give another key, no read would look for the row at this one.
        for template in &self.former.table_key {
            let derived = template.render(&item);
            let derived = derived.map_err(|error| refused(self.former, template, error))?;
            match item.get(&template.attribute) {
                Some(given) if *given != derived => {
                    return Err(mismatch(self.former, template, given, &derived));
                }
                _ => {}
            }
        }
        let keys = self.former.table_key.iter().chain(&self.former.index_keys);
        for template in keys.filter(|template| !template.is_identity()) {
            item.remove(&template.attribute);
        }
        Ok(item)
    }

    fn fill(&self, item: &mut Item) {
        for (name, value) in self.pair.given.iter() {
            if !item.contains_key(name) {
                item.insert(name.as_str(), value.clone());
            }
        }
    }

    /// Rows that the previous version cannot distinguish cannot move back to it.
    pub(super) fn check_fixed(&self, said: &Said) -> Result<(), Refusal> {
        for (name, only) in self.pair.fixed.iter() {
            let folded = only.as_s().map(|only| AttributeValue::from(only.to_lowercase()));
            let differs = |value: &&AttributeValue| *value != only;
            let differs_folded = |value: &&AttributeValue| Some(*value) != folded.as_ref();
            let other = said.values.get(name).filter(differs);
            let other = other.or_else(|| said.folded.get(name).filter(differs_folded));
            if let Some(value) = other {
                return Err(Refusal::NoWayBack {
                    entity: self.own.name.clone(),
                    attribute: name.clone(),
                    value: shown(value),
                    only: shown(only),
                });
            }
        }
        Ok(())
    }

    /// The own place of a former key, if it follows from that key alone: assumed values may be different in
    /// the row.
    fn told_place(&self, said: &Said) -> Option<Item> {
        self.check_fixed(said).ok()?;
        place(self.own, said, &Map::new()).ok()
    }

    /// The own place of a former key, or what the key does not contain.
    pub(super) fn place_or_refuse(&self, said: &Said) -> Result<Item, Refusal> {
        self.check_fixed(said)?;
        self.own_place(said).map_err(|error| self.untold(said, error))
    }

    /// Why the present key does not follow from a former one.
    pub(super) fn untold(&self, said: &Said, error: RenderError) -> Refusal {
        let entity = self.own.name.clone();
        match error {
            RenderError::Missing { .. } => Refusal::FormerKey {
                entity,
                lacking: self.lacking(said),
            },
            RenderError::Unfit { attribute, reason } => Refusal::Unfit {
                entity,
                attribute,
                reason,
            },
        }
    }
}
