//! The attributes that determine what a row becomes, computed once for all rows of an entity.

use std::collections::BTreeSet;

use super::pair::Pair;
use crate::entity::Entity;
use crate::model::Table;
use crate::template::{KeyTemplate, Part};

/// The attributes that determine what a row becomes. All positions refer to `names`.
#[derive(Clone, Debug, Default)]
pub(super) struct Recipe {
    /// Their names, in order.
    pub(super) names: Vec<String>,
    /// Those that the previous version derived and that are removed.
    pub(super) derived: Vec<bool>,
    /// The attributes of the present version, in its order.
    pub(super) attributes: Vec<usize>,
    /// The attributes that identify a row.
    pub(super) identity: Vec<usize>,
    /// The attribute that distinguishes entities.
    pub(super) tag: Option<usize>,
    /// The values that a row gets where it lacks them.
    pub(super) given: Vec<usize>,
    /// Attributes that may be removed from a row.
    pub(super) withdrawn: Vec<usize>,
    /// The table's key before.
    pub(super) former_key: Vec<Ingredients>,
    /// The table's key now.
    pub(super) own_key: Vec<Ingredients>,
    /// The keys of indexes now.
    pub(super) index_keys: Vec<Ingredients>,
}

/// A key template and the attributes that it is made of.
#[derive(Clone, Debug)]
pub(super) struct Ingredients {
    /// The attribute that it gives.
    pub(super) key: usize,
    /// The attribute that each part stands for; a literal stands for none.
    pub(super) parts: Vec<Option<usize>>,
}

impl Recipe {
    pub(super) fn new(pair: &Pair, former: &Entity, own: &Entity, table: &Table) -> Self {
        let former_keys = || former.table_key.iter().chain(&former.index_keys);
        let templates = former_keys().chain(&own.table_key).chain(&own.index_keys);
        let mut names: BTreeSet<&str> = own
            .attributes
            .iter()
            .map(|attribute| attribute.name.as_str())
            .collect();
        for template in templates {
            names.insert(&template.attribute);
            names.extend(template.fields());
        }
        names.extend(own.identity.iter().map(String::as_str));
        names.extend(table.entity_attribute.as_deref());
        names.extend(pair.given.keys().chain(pair.withdrawn.keys()).map(String::as_str));
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let at = |name: &str| names.binary_search_by(|known| known.as_str().cmp(name)).ok();
        let is_derived = |name: &String| {
            let mut derived = former_keys().filter(|template| !template.is_identity());
            derived.any(|template| template.attribute == *name)
        };
        let ingredients = |templates: &[KeyTemplate]| {
            let templates = templates.iter();
            let known = templates.filter_map(|template| Ingredients::of(template, at));
            known.collect()
        };
        Recipe {
            derived: names.iter().map(is_derived).collect(),
            attributes: own
                .attributes
                .iter()
                .filter_map(|attribute| at(&attribute.name))
                .collect(),
            identity: own.identity.iter().filter_map(|name| at(name)).collect(),
            tag: table.entity_attribute.as_deref().and_then(at),
            given: pair.given.keys().filter_map(|name| at(name)).collect(),
            withdrawn: pair.withdrawn.keys().filter_map(|name| at(name)).collect(),
            former_key: ingredients(&former.table_key),
            own_key: ingredients(&own.table_key),
            index_keys: ingredients(&own.index_keys),
            names,
        }
    }
}

impl Ingredients {
    fn of(template: &KeyTemplate, at: impl Fn(&str) -> Option<usize>) -> Option<Self> {
        let parts = template.parts.iter().map(|part| match part {
            Part::Slot(slot) => at(&slot.attribute.name),
            Part::Literal(_) => None,
        });
        Some(Ingredients {
            parts: parts.collect(),
            key: at(&template.attribute)?,
        })
    }
}
