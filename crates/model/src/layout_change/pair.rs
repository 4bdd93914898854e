//! One entity in both versions.

use std::collections::BTreeSet;

use trestle_item::{AttributeValue, Item, Map};

use super::ChangeDirection;
use super::apart::differ_in_width_only;
use super::recipe::Recipe;
use crate::entity::Entity;
use crate::model::Table;
use crate::template::{Given, KeyTemplate, RenderError, Said, Slot};

/// An entity whose table key differs between the versions.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Position in the former version's entities.
    pub(super) former: usize,
    /// Position in the present version's entities.
    pub(super) own: usize,
    /// The values that a row gets where it lacks them.
    pub(super) given: Map,
    /// Those that, according to its version, no former row has: they are known without the row.
    pub(super) assumed: Map,
    /// Attributes that are only in the former key; only rows with these values can move.
    pub(super) fixed: Map,
    /// Attributes with just these values are removed, because the present version does not know them.
    pub(super) withdrawn: Map,
    /// Whether a key can belong to both layouts: such a row is in its own place. Otherwise it is proved that
    /// no key does.
    pub(super) may_stay: bool,
    /// What is read of a row's stored form.
    pub(super) recipe: Recipe,
}

impl Pair {
    pub(super) fn new(way: ChangeDirection, former: (&Table, &Entity), own: (&Table, &Entity)) -> Self {
        let (former_table, former) = former;
        let (table, own) = own;
        let given = match way {
            ChangeDirection::Forward => own.migrate.set.clone(),
            ChangeDirection::Back => Map::new(),
        };
        let pair = Pair {
            former: former.position,
            own: own.position,
            assumed: only(&given, |name| former.attribute(name).is_none()),
            fixed: match way {
                ChangeDirection::Forward => Map::new(),
                ChangeDirection::Back => only(&former.migrate.set, |name| {
                    has_field(&former.table_key, name) && !has_field(&own.table_key, name)
                }),
            },
            withdrawn: withdrawn(way, former_table, former, table, own),
            may_stay: differ_in_width_only(former, own),
            recipe: Recipe::default(),
            given,
        };
        Pair {
            recipe: Recipe::new(&pair, former, own, table),
            ..pair
        }
    }
}

/// The values that a move forward gave rows and that the older version does not know.
fn withdrawn(
    way: ChangeDirection,
    former_table: &Table,
    former: &Entity,
    table: &Table,
    own: &Entity,
) -> Map {
    let mut added = Map::new();
    if way == ChangeDirection::Back {
        let defaults = former.attributes.iter();
        let defaults = defaults.filter_map(|attribute| Some((&attribute.name, attribute.default.as_ref()?)));
        for (name, value) in defaults.chain(former.migrate.set.iter()) {
            added.insert(name.as_str(), value.clone());
        }
    }
    if let Some(tag) = &former_table.entity_attribute
        && table.entity_attribute.as_ref() != Some(tag)
    {
        added.insert(tag.as_str(), AttributeValue::S(former.tag.clone()));
    }
    only(&added, |name| {
        own.attribute(name).is_none() && own.key_template(name).is_none()
    })
}

fn only(map: &Map, keep: impl Fn(&str) -> bool) -> Map {
    let kept = map.iter().filter(|(name, _)| keep(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn has_field(key: &[KeyTemplate], name: &str) -> bool {
    key.iter()
        .flat_map(KeyTemplate::slots)
        .any(|slot| slot.attribute.name == name)
}

/// A pair with its entities.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovedEntity<'r> {
    pub(super) pair: &'r Pair,
    pub(super) former: &'r Entity,
    pub(super) own: &'r Entity,
}

impl MovedEntity<'_> {
    /// What a key says, if it belongs to a former place.
    pub(super) fn said(&self, key: &Item) -> Option<Said> {
        let said = self.former.said(key)?;
        let stays = self.pair.may_stay && self.own_place(&said).is_ok_and(|own| holds(key, &own));
        (!stays).then_some(said)
    }

    /// The row's own place, from its former key.
    pub(super) fn own_place(&self, said: &Said) -> Result<Item, RenderError> {
        place(self.own, said, &self.pair.assumed)
    }

    /// The row's former place, from its present key.
    pub(super) fn former_place(&self, said: &Said) -> Result<Item, RenderError> {
        place(self.former, said, &self.pair.fixed)
    }

    /// The attributes in the present key that a former key does not contain.
    pub(super) fn lacking(&self, said: &Said) -> Vec<String> {
        let slots = self.own.table_key.iter().flat_map(KeyTemplate::slots);
        let lacking = slots.filter(|slot| given(slot, said, &self.pair.assumed).is_none());
        let names: BTreeSet<&String> = lacking.map(|slot| &slot.attribute.name).collect();
        names.into_iter().cloned().collect()
    }
}

/// The known value of a field: from a key, or because it is the same for all rows.
pub(super) fn given<'v>(slot: &Slot, said: &'v Said, constants: &'v Map) -> Option<Given<'v>> {
    let name = slot.attribute.name.as_str();
    let value = said.values.get(name).or_else(|| constants.get(name));
    match value {
        Some(value) => Some(Given::Value(value)),
        None if slot.lower => said.folded.get(name)?.as_s().map(Given::Folded),
        None => None,
    }
}

/// The table key of an entity's row, from another key and from values that are the same for all rows.
pub(super) fn place(entity: &Entity, said: &Said, constants: &Map) -> Result<Item, RenderError> {
    let mut key = Item::with_capacity(entity.table_key.len());
    for template in &entity.table_key {
        let value = template.render_given(|slot| given(slot, said, constants))?;
        key.insert(template.attribute.as_str(), value);
    }
    Ok(key)
}

/// Whether an item has all these attributes.
pub(super) fn holds(item: &Item, attributes: &Item) -> bool {
    attributes
        .iter()
        .all(|(name, value)| item.get(name) == Some(value))
}
