//! The rows of an access pattern.

use trestle_api::{Error, Query, Request, ReturnConsumedCapacity};
use trestle_item::{AttributeValue, Item};
use trestle_model::{AccessPattern, Model, Refusal, Table};

use crate::rows::refuse_own;
use crate::{CollectionRows, text};

impl<'m> CollectionRows<'m> {
    /// The rows that an access pattern finds, of the entities that it returns. Its key condition ends at a
    /// separator, so that rows of `wf-2` do not belong to `wf`.
    pub fn of_access(model: &'m Model, access: &str, parameters: &Item) -> Result<Self, Error> {
        let pattern = pattern(model, access)?;
        refuse_own(pattern.table_name())?;
        let bound = pattern.bind(parameters).map_err(|refusal| refused(&refusal))?;
        let mut query = match bound.into_request() {
            Request::Query(query) => query,
            Request::GetItem(_) => {
                return Err(Error::validation(format!(
                    "Access pattern {access} reads one row: delete it by its key"
                )));
            }
            _ => {
                return Err(Error::validation(format!(
                    "Access pattern {access} reads a whole table; a collection is found by a query"
                )));
            }
        };
        let table = model.table(pattern.table_name());
        let table = table.ok_or_else(|| Error::internal(format!("access pattern {access} has no table")))?;
        let key: Vec<String> = table.key().attributes().map(|key| key.name.clone()).collect();
        project(&mut query, &key, table);
        query.limit = None;
        // A global index has no strongly consistent reads.
        query.consistent_read = Some(query.index_name.is_none());
        query.return_consumed_capacity = Some(ReturnConsumedCapacity::Total);
        Ok(CollectionRows::of_query(query, key, (model, pattern)))
    }

    /// Whether a row belongs to the collection.
    pub(crate) fn wants(&self, row: &Item) -> Result<bool, String> {
        let Some((model, pattern)) = self.access else {
            return Ok(true);
        };
        let is_returned = |name: &str| pattern.returns().iter().any(|returned| returned == name);
        match model.recognise(pattern.table_name(), row) {
            Ok(entity) => Ok(entity.is_some_and(|entity| is_returned(entity.name()))),
            Err(Refusal::Ambiguous { entities, .. }) => Ok(entities.iter().any(|name| is_returned(name))),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

/// The parameters of an access pattern. A text is converted to the type of the parameter; any other value
/// must have that type.
pub fn parameters<V: Into<AttributeValue>>(
    model: &Model,
    access: &str,
    given: impl IntoIterator<Item = (String, V)>,
) -> Result<Item, Error> {
    let pattern = pattern(model, access)?;
    let mut parameters = Item::new();
    for (name, value) in given {
        let mut known = pattern.parameters().iter();
        let kind = known.find(|parameter| parameter.name == name);
        // Binding checks which parameters there are.
        let value = match kind {
            Some(parameter) => text::parameter(&name, parameter.kind, value.into())?,
            None => value.into(),
        };
        parameters.insert(name, value);
    }
    Ok(parameters)
}

fn pattern<'m>(model: &'m Model, access: &str) -> Result<&'m AccessPattern, Error> {
    model.access(access).ok_or_else(|| {
        let names = model.access_patterns().iter().map(AccessPattern::name);
        let names: Vec<&str> = names.collect();
        Error::validation(format!(
            "Model {} has no access pattern {access}; it has {}",
            model.name(),
            names.join(", ")
        ))
    })
}

fn refused(refusal: &Refusal) -> Error {
    Error::validation(refusal.to_string())
}

/// Reads the key of each row, and its tag.
fn project(query: &mut Query, key: &[String], table: &Table) {
    let names = query.expression_attribute_names.get_or_insert_default();
    let tag = table.entity_attribute().map(str::to_owned);
    let mut placeholders = Vec::new();
    for (at, name) in key.iter().cloned().chain(tag).enumerate() {
        let placeholder = format!("#p{at}");
        names.insert(placeholder.clone(), name);
        placeholders.push(placeholder);
    }
    query.projection_expression = Some(placeholders.join(", "));
}
