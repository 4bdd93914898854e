//! The parts with former rows that a read of own places may need.

use trestle_expr::KeySelection;
use trestle_hook::Sources;
use trestle_item::{AttributeValue, Map, ScalarType};

use super::LayoutChange;
use super::known::{Filled, beginning_with, said_by};
use super::pair::{MovedEntity, given};
use super::part::{Order, Part, ranges};
use super::plan::MovedTable;
use crate::entity::{Entity, Role};
use crate::model::{Index, Table};
use crate::template::{KeyTemplate, RenderError, Said};

/// The part with the needed rows of one entity.
enum Source {
    Nowhere,
    Same,
    In(Part),
    Anywhere,
}

impl LayoutChange {
    pub(super) fn in_table(&self, moved: &MovedTable, selection: Option<&KeySelection>) -> Sources {
        let Some(selection) = selection else {
            return Sources::everywhere();
        };
        gather(self.moving(moved).map(|moving| moving.in_table(selection)))
    }

    pub(super) fn in_index(
        &self,
        moved: &MovedTable,
        name: &str,
        selection: Option<&KeySelection>,
    ) -> Sources {
        let tables = self
            .former
            .table(&moved.name)
            .zip(self.present.tables.get(moved.present));
        let Some((former, present)) = tables else {
            return Sources::everywhere();
        };
        let Some(index) = present.index(name) else {
            return Sources::everywhere();
        };
        let places = Indexed {
            former,
            present,
            index,
        };
        gather(self.moving(moved).map(|moving| places.source(moving, selection)))
    }
}

fn gather(sources: impl Iterator<Item = Source>) -> Sources {
    let mut same = false;
    let mut parts = Vec::new();
    for source in sources {
        match source {
            Source::Nowhere => {}
            Source::Same => same = true,
            Source::In(part) => parts.push(part),
            Source::Anywhere => return Sources::everywhere(),
        }
    }
    Sources {
        same,
        ranges: ranges(parts),
        everywhere: false,
    }
}

impl MovedEntity<'_> {
    fn in_table(&self, selection: &KeySelection) -> Source {
        let Some(said) = said_by(self.own, selection) else {
            return Source::Nowhere;
        };
        let hash = match self.former_hash(&said) {
            Ok(hash) => hash,
            Err(RenderError::Missing { .. }) => return Source::Anywhere,
            // A value that the former key could not contain was never there.
            Err(RenderError::Unfit { .. }) => return Source::Nowhere,
        };
        match self.sort_part(hash, &said, selection) {
            Ok(part) => Source::In(part),
            Err(_) => Source::Nowhere,
        }
    }

    fn former_hash(&self, said: &Said) -> Result<Vec<AttributeValue>, RenderError> {
        let hash = self.former.table_key.iter().take(1);
        hash.map(|template| self.render_former(template, said)).collect()
    }

    fn render_former(&self, template: &KeyTemplate, said: &Said) -> Result<AttributeValue, RenderError> {
        template.render_given(|slot| given(slot, said, &self.pair.fixed))
    }

    /// The part of a former partition. The error means that there is none.
    fn sort_part(
        &self,
        hash: Vec<AttributeValue>,
        said: &Said,
        selection: &KeySelection,
    ) -> Result<Part, RenderError> {
        let order = self.order(said)?;
        let (Some(before), Some(now)) = (self.former.table_key.get(1), self.own.table_key.get(1)) else {
            let selection = beginning_with(hash, String::new());
            return Ok(Part { selection, order });
        };
        if before.renders_as(now) {
            let selection = KeySelection {
                hash,
                ..selection.clone()
            };
            return Ok(Part { selection, order });
        }
        let selection = match self.render_former(before, said) {
            Ok(value) => KeySelection {
                hash,
                range_equal: vec![value],
                range_last: None,
            },
            Err(RenderError::Missing { .. }) if before.kind == ScalarType::S => {
                let filled = Filled::new(before, said, &self.pair.fixed)?;
                beginning_with(hash, filled.beginning)
            }
            Err(RenderError::Missing { .. }) => beginning_with(hash, String::new()),
            Err(error) => return Err(error),
        };
        Ok(Part { selection, order })
    }

    /// How the former order of rows relates to the present one, where this much is known of all rows.
    fn order(&self, said: &Said) -> Result<Order, RenderError> {
        let (Some(before), Some(now)) = (self.former.table_key.get(1), self.own.table_key.get(1)) else {
            return Ok(Order::Same);
        };
        let before = Filled::new(before, said, &self.pair.fixed)?;
        // Assumed values are not the same in all former rows.
        let now = Filled::new(now, said, &Map::new())?;
        if !before.goes_on_as(&now) {
            return Ok(Order::Other);
        }
        if before.beginning == now.beginning {
            return Ok(Order::Same);
        }
        Ok(Order::Begins {
            before: before.beginning,
            now: now.beginning,
        })
    }
}

/// An index of a table whose rows move.
struct Indexed<'r> {
    former: &'r Table,
    present: &'r Table,
    index: &'r Index,
}

impl Indexed<'_> {
    fn source(&self, moving: MovedEntity<'_>, selection: Option<&KeySelection>) -> Source {
        if !self.may_hold(moving) {
            return Source::Nowhere;
        }
        let hash_alike = self
            .index
            .key
            .hash
            .iter()
            .all(|key| self.alike(moving, &key.name));
        let range_alike = self
            .index
            .key
            .range
            .iter()
            .all(|key| self.alike(moving, &key.name));
        match selection {
            _ if hash_alike && range_alike => Source::Same,
            Some(selection) if range_alike && self.index.local => self.in_local(moving, selection),
            Some(selection) if range_alike => self.in_global(moving, selection),
            _ => Source::Anywhere,
        }
    }

    /// The former partition, if the present key contains everything in its key.
    fn in_global(&self, moving: MovedEntity<'_>, selection: &KeySelection) -> Source {
        let mut said = Said::default();
        for (key, value) in self.index.key.hash.iter().zip(&selection.hash) {
            match derived(moving.own, &key.name) {
                Some(template) if template.read(value, &mut said).is_none() => return Source::Nowhere,
                Some(_) => {}
                None => {
                    said.values.insert(key.name.as_str(), value.clone());
                }
            }
        }
        let mut hash = Vec::with_capacity(self.index.key.hash.len());
        for key in &self.index.key.hash {
            match self.former_part(moving, &key.name, &said) {
                Ok(value) => hash.push(value),
                Err(RenderError::Missing { .. }) => return Source::Anywhere,
                // A value that the former key could not contain was never there.
                Err(RenderError::Unfit { .. }) => return Source::Nowhere,
            }
        }
        let selection = KeySelection {
            hash,
            ..selection.clone()
        };
        // Rows that are equal in the index are sorted by the table's keys, whose order differs.
        let order = Order::Other;
        Source::In(Part { selection, order })
    }

    /// The former value of an attribute of the index's key, from what the row had then and what is known now.
    fn former_part(
        &self,
        moving: MovedEntity<'_>,
        name: &str,
        said: &Said,
    ) -> Result<AttributeValue, RenderError> {
        let known = |field: &str| self.stays(moving, field);
        match derived(moving.former, name) {
            Some(template) => template.render_given(|slot| {
                let is_known = known(&slot.attribute.name);
                given(slot, said, &moving.pair.fixed).filter(|_| is_known)
            }),
            None => said
                .values
                .get(name)
                .filter(|_| known(name))
                .cloned()
                .ok_or_else(|| RenderError::Missing {
                    attribute: name.to_owned(),
                }),
        }
    }

    /// A local index has the partitions of its table.
    fn in_local(&self, moving: MovedEntity<'_>, selection: &KeySelection) -> Source {
        let mut said = Said::default();
        for (template, value) in moving.own.table_key.iter().zip(&selection.hash) {
            if template.read(value, &mut said).is_none() {
                return Source::Nowhere;
            }
        }
        let (hash, order) = match (moving.former_hash(&said), moving.order(&said)) {
            (Ok(hash), Ok(order)) => (hash, order),
            (Err(RenderError::Missing { .. }), _) => return Source::Anywhere,
            _ => return Source::Nowhere,
        };
        let selection = KeySelection {
            hash,
            ..selection.clone()
        };
        // Rows that are equal in the index are in the order of the table.
        Source::In(Part { selection, order })
    }

    /// Whether rows of an entity can be in the index, in one layout or the other.
    fn may_hold(&self, moving: MovedEntity<'_>) -> bool {
        self.index.key.attributes().all(|key| {
            may_have(self.former, moving.former, &key.name) || may_have(self.present, moving.own, &key.name)
        })
    }

    /// Whether a row that moves keeps an attribute of the index's key as it is.
    fn alike(&self, moving: MovedEntity<'_>, attribute: &str) -> bool {
        match (derived(moving.former, attribute), derived(moving.own, attribute)) {
            (None, None) => self.stays(moving, attribute),
            (Some(before), Some(now)) => {
                let of_table = self.present.key.has(attribute);
                let fields = now.fields();
                before.renders_as(now)
                    && (of_table || fields.into_iter().all(|field| self.stays(moving, field)))
            }
            _ => false,
        }
    }

    /// Whether a move neither adds nor removes this attribute.
    fn stays(&self, moving: MovedEntity<'_>, attribute: &str) -> bool {
        let before = moving.former.attribute(attribute);
        let always = before.is_some_and(|attribute| !attribute.optional);
        let now = moving.own.attribute(attribute);
        let filled_in = moving.pair.given.contains_key(attribute)
            || now.is_some_and(|attribute| attribute.default.is_some());
        let is_tag = [self.former, self.present]
            .iter()
            .any(|table| table.entity_attribute.as_deref() == Some(attribute));
        let same_tag = self.former.entity_attribute == self.present.entity_attribute;
        (always || !filled_in) && !moving.pair.withdrawn.contains_key(attribute) && (!is_tag || same_tag)
    }
}

/// The template of a key attribute, unless it is an attribute of its own.
fn derived<'m>(entity: &'m Entity, attribute: &str) -> Option<&'m KeyTemplate> {
    let template = entity.key_template(attribute);
    template.filter(|template| !template.is_identity())
}

/// Whether rows of an entity can have an attribute.
fn may_have(table: &Table, entity: &Entity, attribute: &str) -> bool {
    // Rows that keep a value unique, and entries, have only the attributes that the model gives.
    let only_declared = entity.closed
        || matches!(
            entity.role,
            Role::Unique { .. } | Role::Entry { .. } | Role::History { .. }
        );
    let kept = [&table.entity_attribute, &table.ttl];
    !only_declared
        || entity.attribute(attribute).is_some()
        || entity.key_template(attribute).is_some()
        || kept.iter().any(|name| name.as_deref() == Some(attribute))
}
