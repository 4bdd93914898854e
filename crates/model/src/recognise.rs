//! Which entity a row is: by its tag, by the shape of its key, or because there is only one.

use trestle_item::Item;

use crate::effect::Effect;
use crate::entity::{Entity, Role};
use crate::model::{Model, Table};
use crate::refusal::Refusal;

impl Model {
    /// The entity of a row. `None` for a row without an entity, in a table that allows it.
    pub fn recognise(&self, table_name: &str, item: &Item) -> Result<Option<&Entity>, Refusal> {
        let table = self.table(table_name).ok_or_else(|| Refusal::NoTable {
            table: table_name.to_owned(),
        })?;
        self.recognise_in(table, item)
    }

    pub(crate) fn recognise_in<'m>(
        &'m self,
        table: &'m Table,
        item: &Item,
    ) -> Result<Option<&'m Entity>, Refusal> {
        if let Some(found) = self.by_tag(table, item)? {
            return Ok(Some(found));
        }
        let has_key = table.key.attributes().all(|key| item.contains_key(&key.name));
        if has_key {
            let mut shaped = self
                .entities_of(table)
                .filter(|entity| entity.identify(item).is_some());
            if let Some(first) = shaped.next() {
                let others: Vec<String> = shaped.map(|entity| entity.name.clone()).collect();
                return if others.is_empty() {
                    Ok(Some(first))
                } else {
                    Err(ambiguous(
                        table,
                        std::iter::once(first.name.clone()).chain(others),
                    ))
                };
            }
        }
        // Without a tag and with an unknown key it can only be the one entity that clients write here.
        // Deriving then reports the key that it should have.
        let mut declared = self
            .entities_of(table)
            .filter(|entity| entity.role == Role::Declared);
        let (first, second) = (declared.next(), declared.next());
        let complete = first
            .filter(|_| !has_key)
            .and_then(|_| self.only_complete(table, item));
        match (first, second) {
            (Some(only), None) if !table.open => Ok(Some(only)),
            _ if complete.is_some() => Ok(complete),
            _ if table.open => Ok(None),
            _ => Err(Refusal::Unrecognised {
                table: table.table_name.clone(),
                entities: self.written_in(table).map(|entity| entity.name.clone()).collect(),
                entity_attribute: table.entity_attribute.clone(),
            }),
        }
    }

    /// The entities of a table that clients write.
    fn written_in<'m>(&'m self, table: &'m Table) -> impl Iterator<Item = &'m Entity> {
        let entities = self.entities_of(table);
        entities.filter(|entity| matches!(entity.role, Role::Declared | Role::Head { .. }))
    }

    /// The tag that rows of an entity have; `None` if those of its table have none.
    pub(crate) fn tag_of<'m>(&self, entity: &'m Entity) -> Option<&'m str> {
        let table = self.table_of(entity)?;
        table.entity_attribute.as_ref().map(|_| entity.tag.as_str())
    }

    /// The tag that a row in the table of an entity has.
    pub(crate) fn tag_in<'i>(&self, entity: &Entity, row: &'i Item) -> Option<&'i str> {
        let attribute = self.table_of(entity)?.entity_attribute.as_ref()?;
        row.get(attribute)?.as_s()
    }

    /// Whether a row has a tag that is not its entity's: in an open table, its entity follows from its key.
    pub(crate) fn is_tagged_otherwise(&self, entity: &Entity, row: &Item) -> bool {
        let tag = self.tag_in(entity, row);
        tag.is_some() && tag != self.tag_of(entity)
    }

    /// Whether two rows with the same key are certainly of the same entity, because their tags are the same.
    pub(crate) fn are_alike(table: &Table, one: &Item, two: &Item) -> bool {
        let tag = table.entity_attribute.as_ref();
        let mut known = table.key.attributes().map(|key| &key.name).chain(tag);
        known.all(|name| one.get(name) == two.get(name))
    }

    /// The only entity whose required attributes are all in an item without tag and key.
    fn only_complete<'m>(&'m self, table: &'m Table, item: &Item) -> Option<&'m Entity> {
        let mut complete = self
            .entities_of(table)
            .filter(|entity| entity.role == Role::Declared && is_complete(entity, item));
        match (complete.next(), complete.next()) {
            (only, None) => only,
            _ => None,
        }
    }

    /// The entity that the tag names; `None` without a tag.
    fn by_tag<'m>(&'m self, table: &'m Table, item: &Item) -> Result<Option<&'m Entity>, Refusal> {
        let Some(attribute) = &table.entity_attribute else {
            return Ok(None);
        };
        let Some(value) = item.get(attribute) else {
            return Ok(None);
        };
        let tag = value.as_s();
        let found = tag
            .and_then(|tag| table.by_tag.get(tag))
            .and_then(|at| self.entities.get(*at));
        if found.is_some() || table.open {
            return Ok(found);
        }
        Err(Refusal::UnknownTag {
            table: table.table_name.clone(),
            attribute: attribute.clone(),
            tag: tag.unwrap_or_default().to_owned(),
            known: self.written_in(table).map(|entity| entity.tag.clone()).collect(),
        })
    }

    /// The key of the row that attributes identify, for reading or removing it: the given attributes if they
    /// are the table's key, otherwise the key of the only entity with exactly these identifying attributes,
    /// or of the entity that the tag names.
    pub fn key_of(&self, table_name: &str, given: &Item) -> Result<Item, Refusal> {
        let Some(table) = self.table(table_name) else {
            return Ok(given.clone());
        };
        let is_key = table.key.attributes().all(|key| given.contains_key(&key.name));
        if is_key && given.len() == table.key.attributes().count() {
            return Ok(given.clone());
        }
        let entity = self.entity_identified_by(table, given)?;
        let mut key = Item::new();
        for template in &entity.table_key {
            let value = template
                .render(given)
                .map_err(|error| crate::derive::refused(entity, template, error))?;
            if let Some(other) = given.get(&template.attribute).filter(|other| **other != value) {
                return Err(crate::derive::mismatch(entity, template, other, &value));
            }
            key.insert(template.attribute.clone(), value);
        }
        Ok(key)
    }

    fn entity_identified_by<'m>(&'m self, table: &'m Table, given: &Item) -> Result<&'m Entity, Refusal> {
        if let Some(tagged) = self.by_tag(table, given)? {
            return Ok(tagged);
        }
        let names: Vec<&String> = given
            .keys()
            .filter(|name| !table.key.has(name) || !is_derived(self, table, name))
            .collect();
        let fits = |entity: &&Entity| {
            entity.identity.len() == names.len() && entity.identity.iter().all(|name| names.contains(&name))
        };
        let mut fitting: Vec<&Entity> = self.entities_of(table).filter(fits).collect();
        // A head may have the same identifying attributes as another entity; then the tag decides.
        if fitting.len() > 1 {
            fitting.retain(|entity| entity.role == Role::Declared);
        }
        match fitting.as_slice() {
            [only] => Ok(only),
            [] => Err(Refusal::Unrecognised {
                table: table.table_name.clone(),
                entities: self
                    .entities_of(table)
                    .map(|entity| format!("{}({})", entity.name, entity.identity.join(", ")))
                    .collect(),
                entity_attribute: table.entity_attribute.clone(),
            }),
            several => Err(ambiguous(table, several.iter().map(|entity| entity.name.clone()))),
        }
    }
}

/// Whether a key attribute is computed by a template in every entity.
fn is_derived(model: &Model, table: &Table, name: &str) -> bool {
    model.entities_of(table).all(|entity| {
        entity
            .key_template(name)
            .is_none_or(|template| !template.is_identity())
    })
}

/// Whether a row of an entity can be created from its identifying attributes alone.
pub(crate) fn stands_alone(entity: &Entity) -> bool {
    has_needed(entity, |name| entity.identity.iter().any(|known| known == name))
}

/// Whether an item has all attributes that an entity needs and the database does not fill in.
fn is_complete(entity: &Entity, item: &Item) -> bool {
    has_needed(entity, |name| item.contains_key(name))
}

fn has_needed(entity: &Entity, has: impl Fn(&str) -> bool) -> bool {
    let filled_in = |name: &String| {
        let copied = entity.effects.iter().any(|effect| match effect {
            Effect::Copy(copy) => copy.attributes.iter().any(|pair| pair.ours == *name),
            _ => false,
        });
        let is_time = entity.created.as_ref() == Some(name) || entity.updated.as_ref() == Some(name);
        copied || is_time || entity.keeps(name).is_some()
    };
    entity.attributes.iter().all(|attribute| {
        let needed = !attribute.optional && attribute.default.is_none();
        !needed || has(&attribute.name) || filled_in(&attribute.name)
    })
}

fn ambiguous(table: &Table, entities: impl Iterator<Item = String>) -> Refusal {
    Refusal::Ambiguous {
        entities: entities.collect(),
        entity_attribute: table.entity_attribute.clone(),
    }
}
