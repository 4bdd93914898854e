//! Rows to structs.

use trestle_item::{AttributeValue, Item, Map};
use trestle_model::{Entity, Refusal, Table};

use crate::error::Misfit;
use crate::{Definition, Error, Model, Value};

/// The type of a row: the struct of an entity, or an enum of several.
pub trait FromRow: Sized + Send {
    /// The model it belongs to.
    type Model: Model;
    /// The entities it can be.
    const ENTITIES: &'static [&'static str];

    /// Reads a row of the entity, which is one of [`FromRow::ENTITIES`].
    fn from_row(entity: &str, row: Row<'_>) -> Result<Self, Error>;
}

/// A row while it is read.
#[derive(Debug)]
pub struct Row<'m> {
    table: &'m Table,
    entity: &'m Entity,
    item: Item,
}

/// Reads a row of one entity, or of several of one table.
pub fn read<T: FromRow>(item: Item) -> Result<T, Error> {
    let definition = T::Model::definition();
    let Some(first) = T::ENTITIES.first() else {
        return Err(Error::Definition {
            model: definition.name(),
        });
    };
    let (_, table, _) = definition.entity(first)?;
    let key = key_of(table, &item);
    read_in(definition, table.table_name(), item)?.ok_or_else(|| stray(key, T::ENTITIES))
}

/// Reads a row of the table with this name in the database; `None` if it is of another entity. For rows that
/// are not the result of an access pattern: from a stream, an export, a scan.
pub fn read_from<T: FromRow>(table_name: &str, item: Item) -> Result<Option<T>, Error> {
    read_in(T::Model::definition(), table_name, item)
}

/// Reads a row of a table; `None` for rows of other entities, and for rows without an entity in an open
/// table.
pub(crate) fn read_in<T: FromRow>(
    definition: &'static Definition,
    table_name: &str,
    item: Item,
) -> Result<Option<T>, Error> {
    let model = definition.model()?;
    let recognised = match model.recognise(table_name, &item) {
        Ok(Some(entity)) => Some(entity.name()),
        Ok(None) => return Ok(None),
        Err(Refusal::Ambiguous { entities, .. }) => only(T::ENTITIES, &entities),
        Err(refusal) => return Err(misfit_row(model.table(table_name), &item, refusal.to_string())),
    };
    let Some(name) = recognised else {
        let reason = format!(
            "it could be of any of {}, and nothing distinguishes them",
            T::ENTITIES.join(", ")
        );
        return Err(misfit_row(model.table(table_name), &item, reason));
    };
    if !T::ENTITIES.contains(&name) {
        return Ok(None);
    }
    let entity = model.entity(name);
    let (Some(entity), Some(table)) = (entity, model.table(table_name)) else {
        return Ok(None);
    };
    T::from_row(name, Row::new(table, entity, item)).map(Some)
}

/// The entity that is expected here, of several possible ones.
fn only(expected: &'static [&'static str], possible: &[String]) -> Option<&'static str> {
    let mut fitting = expected
        .iter()
        .filter(|name| possible.iter().any(|one| one == *name));
    match (fitting.next(), fitting.next()) {
        (Some(name), None) => Some(name),
        _ => None,
    }
}

fn misfit_row(table: Option<&Table>, item: &Item, reason: String) -> Error {
    Error::Misfit(Box::new(Misfit {
        entity: String::new(),
        attribute: String::new(),
        key: table.map(|table| key_of(table, item)).unwrap_or_default(),
        reason,
    }))
}

fn stray(key: Item, expected: &[&str]) -> Error {
    Error::Misfit(Box::new(Misfit {
        entity: String::new(),
        attribute: String::new(),
        key,
        reason: format!("it is no row of {}", expected.join(" or ")),
    }))
}

/// The key attributes of a row.
pub(crate) fn key_of(table: &Table, item: &Item) -> Item {
    let names = table.key().attributes();
    names
        .filter_map(|key| Some((key.name.as_str(), item.get(&key.name)?.clone())))
        .collect()
}

impl<'m> Row<'m> {
    fn new(table: &'m Table, entity: &'m Entity, mut item: Item) -> Self {
        // An index may contain the table's key without the attributes in it.
        if entity.identity().iter().any(|name| !item.contains_key(name))
            && let Some(identity) = entity.identify(&item)
        {
            for (name, value) in identity {
                if !item.contains_key(&name) {
                    item.insert(name, value);
                }
            }
        }
        Row { table, entity, item }
    }

    /// A required attribute: as stored, or its default, or empty for a set.
    pub fn take<T: Value>(&mut self, name: &'static str) -> Result<T, Error> {
        if let Some(value) = self.take_optional(name)? {
            return Ok(value);
        }
        let declared = self.entity.attribute(name);
        let default = declared.and_then(|attribute| attribute.default.clone());
        match default {
            Some(default) => T::from_value(default).map_err(|value| self.misfit(name, Some(&value))),
            None => T::absent().ok_or_else(|| self.misfit(name, None)),
        }
    }

    /// An attribute that may be missing.
    pub fn take_optional<T: Value>(&mut self, name: &'static str) -> Result<Option<T>, Error> {
        let Some(value) = self.take_value(name) else {
            return Ok(None);
        };
        T::from_value(value)
            .map(Some)
            .map_err(|value| self.misfit(name, Some(&value)))
    }

    /// Keys are kept, because errors about other attributes name them.
    fn take_value(&mut self, name: &str) -> Option<AttributeValue> {
        if self.table.key().attributes().any(|key| key.name == name) {
            return self.item.get(name).cloned();
        }
        let stored = self.item.get_mut(name)?;
        Some(std::mem::replace(stored, AttributeValue::Null))
    }

    fn misfit(&self, name: &str, value: Option<&AttributeValue>) -> Error {
        let attribute = self.entity.attribute(name);
        let reason = match (value, attribute) {
            (None, _) => "is missing".to_owned(),
            (Some(value), Some(attribute)) => attribute
                .check(value)
                .err()
                .unwrap_or_else(|| "does not fit into 64 bits".to_owned()),
            (Some(value), None) => format!("is of type {}", value.type_name()),
        };
        Error::Misfit(Box::new(Misfit {
            entity: self.entity.name().to_owned(),
            attribute: name.to_owned(),
            key: key_of(self.table, &self.item),
            reason,
        }))
    }

    /// The attributes that the model does not declare.
    #[must_use]
    pub fn rest(self) -> Map {
        let Row {
            table,
            entity,
            mut item,
        } = self;
        let keys = table.key_attributes();
        item.retain(|name, _| {
            entity.attribute(name).is_none()
                && table.entity_attribute() != Some(name)
                && !keys.iter().any(|key| key.name == name)
        });
        item
    }
}
