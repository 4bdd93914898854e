//! Checks of table and index definitions, in DynamoDB's words and order.

use std::collections::{BTreeMap, BTreeSet};

use trestle_api as api;
use trestle_api::{AttributeDefinition, Error, KeySchemaElement, KeyType, ProjectionType};
use trestle_expr::KeyAttribute;
use trestle_item::ScalarType;

use crate::catalog::Scope;
use crate::schema::KeySchema;

/// A table may have this many local indexes.
const LOCAL_INDEXES_MAX: usize = 5;
/// A table may have this many global indexes.
const GLOBAL_INDEXES_MAX: usize = 20;
/// All indexes of a table together may name this many projected attributes.
const PROJECTED_ATTRIBUTES_MAX: usize = 100;
/// Parts of a global index's partition key or sort key.
const KEY_PARTS_MAX: usize = 4;

/// An index as a request defines it.
pub(crate) struct IndexDefinition<'a> {
    pub(crate) name: &'a str,
    pub(crate) scope: Scope,
    pub(crate) key_schema: &'a [KeySchemaElement],
    pub(crate) projection: &'a api::Projection,
}

/// The types of the defined attributes, by name.
pub(crate) struct Definitions<'a> {
    given: &'a [AttributeDefinition],
    types: BTreeMap<&'a str, ScalarType>,
}

impl<'a> Definitions<'a> {
    /// Refuses an attribute that is defined twice.
    pub(crate) fn new(given: &'a [AttributeDefinition]) -> Result<Self, Error> {
        let mut types = BTreeMap::new();
        for definition in given {
            let name = definition.attribute_name.as_str();
            if types.insert(name, definition.attribute_type).is_some() {
                return Err(Error::validation(format!("Attribute Name is duplicated: {name}")));
            }
        }
        Ok(Self { given, types })
    }

    fn names(&self) -> String {
        list(
            self.given
                .iter()
                .map(|definition| definition.attribute_name.as_str()),
        )
    }

    /// The key attributes with their types; all must be defined.
    fn resolve(&self, key_schema: &[KeySchemaElement]) -> Result<KeySchema, Error> {
        let mut schema = KeySchema::default();
        for element in key_schema {
            let Some(kind) = self.types.get(element.attribute_name.as_str()) else {
                return Err(self.undefined(key_schema));
            };
            let part = KeyAttribute {
                name: element.attribute_name.clone(),
                kind: *kind,
            };
            match element.key_type {
                KeyType::Hash => schema.hash.push(part),
                KeyType::Range => schema.range.push(part),
            }
        }
        Ok(schema)
    }

    fn undefined(&self, key_schema: &[KeySchemaElement]) -> Error {
        // A table's key, a local index's, and a global index's without several attributes of a kind.
        if let [_, range] = key_schema
            && range.key_type == KeyType::Range
        {
            return Error::validation("Invalid KeySchema: Some index key attribute have no definition");
        }
        Error::invalid_parameter(format!(
            "Some index key attributes are not defined in AttributeDefinitions. Keys: {}, AttributeDefinitions: {}",
            list(key_schema.iter().map(|element| element.attribute_name.as_str())),
            self.names()
        ))
    }

    /// Refuses attribute definitions that no key uses.
    pub(crate) fn all_used<'k>(
        &self,
        keys: impl Iterator<Item = &'k KeySchemaElement>,
        indexed: bool,
    ) -> Result<(), Error> {
        let mut used: Vec<&str> = Vec::new();
        for element in keys {
            if !used.contains(&element.attribute_name.as_str()) {
                used.push(&element.attribute_name);
            }
        }
        if self.given.len() == used.len() && self.types.len() == used.len() {
            return Ok(());
        }
        Err(Error::invalid_parameter(if indexed {
            format!(
                "Some AttributeDefinitions are not used. AttributeDefinitions: {}, keys used: {}",
                self.names(),
                list(used.into_iter())
            )
        } else {
            "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
                .to_owned()
        }))
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", names.collect::<Vec<_>>().join(", "))
}

/// The key of a table.
pub(crate) fn table_key(
    key_schema: &[KeySchemaElement],
    definitions: &Definitions<'_>,
) -> Result<KeySchema, Error> {
    let invalid = |problem: &str| Err(Error::validation(format!("Invalid KeySchema: {problem}")));
    if key_schema
        .first()
        .is_none_or(|element| element.key_type != KeyType::Hash)
    {
        return invalid("The first KeySchemaElement is not a HASH key type");
    }
    if let [hash, range] = key_schema {
        if hash.attribute_name == range.attribute_name {
            // DynamoDB counts before it compares.
            return match definitions.given.len() {
                0 | 1 => invalid("Some index key attribute have no definition"),
                _ => Err(Error::validation(
                    "Both the Hash Key and the Range Key element in the KeySchema have the same name",
                )),
            };
        }
        if range.key_type != KeyType::Range {
            return invalid("The second KeySchemaElement is not a RANGE key type");
        }
    }
    definitions.resolve(key_schema)
}

/// Checks all indexes of a new table together; returns their keys in order.
pub(crate) fn indexes(
    table: &KeySchema,
    indexes: &[IndexDefinition<'_>],
    definitions: &Definitions<'_>,
) -> Result<Vec<KeySchema>, Error> {
    let mut keys = Vec::with_capacity(indexes.len());
    for (at, index) in indexes.iter().enumerate() {
        keys.push(index_key(table, index, definitions)?);
        if indexes.iter().take(at).any(|other| other.name == index.name) {
            return Err(Error::invalid_parameter(format!(
                "Duplicate index name: {}",
                index.name
            )));
        }
    }
    let count = |scope: Scope| indexes.iter().filter(|index| index.scope == scope).count();
    if count(Scope::Local) > LOCAL_INDEXES_MAX {
        return Err(Error::invalid_parameter(
            "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ));
    }
    check_global_count(count(Scope::Global))?;
    let projected: usize = indexes
        .iter()
        .filter_map(|index| index.projection.non_key_attributes.as_ref())
        .map(Vec::len)
        .sum();
    if projected > PROJECTED_ATTRIBUTES_MAX {
        return Err(Error::invalid_parameter(
            "The total number of projected attributes exceeds the limit of 100 per table",
        ));
    }
    Ok(keys)
}

/// Refuses more global indexes than a table may have.
pub(crate) fn check_global_count(count: usize) -> Result<(), Error> {
    if count > GLOBAL_INDEXES_MAX {
        return Err(Error::invalid_parameter(
            "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ));
    }
    Ok(())
}

/// The key of one index.
pub(crate) fn index_key(
    table: &KeySchema,
    index: &IndexDefinition<'_>,
    definitions: &Definitions<'_>,
) -> Result<KeySchema, Error> {
    let key = match index.scope {
        Scope::Local => local_key(table, index, definitions)?,
        Scope::Global => global_key(index, definitions)?,
    };
    check_projection(index.projection)?;
    Ok(key)
}

fn local_key(
    table: &KeySchema,
    index: &IndexDefinition<'_>,
    definitions: &Definitions<'_>,
) -> Result<KeySchema, Error> {
    if table.range.is_empty() {
        return Err(Error::invalid_parameter(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ));
    }
    let key = table_key(index.key_schema, definitions)?;
    let names = |schema: &KeySchema| {
        schema
            .hash
            .first()
            .map(|part| part.name.clone())
            .unwrap_or_default()
    };
    if names(&key) != names(table) {
        return Err(Error::invalid_parameter(format!(
            "Index KeySchema does not have the same leading hash key as table KeySchema for index: {}. \
             index hash key: {}, table hash key: {}",
            index.name,
            names(&key),
            names(table)
        )));
    }
    if key.range.is_empty() {
        return Err(Error::invalid_parameter(format!(
            "Index KeySchema does not have a range key for index: {}",
            index.name
        )));
    }
    Ok(key)
}

fn global_key(index: &IndexDefinition<'_>, definitions: &Definitions<'_>) -> Result<KeySchema, Error> {
    let elements = index.key_schema;
    if elements.len() <= 2
        && !elements
            .iter()
            .skip(1)
            .any(|element| element.key_type == KeyType::Hash)
    {
        return table_key(elements, definitions);
    }
    if elements
        .first()
        .is_none_or(|element| element.key_type != KeyType::Hash)
    {
        return Err(Error::validation(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ));
    }
    let hashes = elements
        .iter()
        .take_while(|element| element.key_type == KeyType::Hash)
        .count();
    if elements
        .iter()
        .skip(hashes)
        .any(|element| element.key_type == KeyType::Hash)
    {
        return Err(Error::invalid_parameter(
            "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ));
    }
    for (kind, count) in [(KeyType::Hash, hashes), (KeyType::Range, elements.len() - hashes)] {
        if count > KEY_PARTS_MAX {
            return Err(Error::invalid_parameter(format!(
                "The KeySchema exceeds the maximum allowed number of {kind} key attributes"
            )));
        }
    }
    let mut seen = Vec::new();
    for element in elements {
        if seen.contains(&&element.attribute_name) {
            return Err(Error::validation(
                "The KeySchema contains multiple key attributes with the same name",
            ));
        }
        seen.push(&element.attribute_name);
    }
    definitions.resolve(elements)
}

fn check_projection(projection: &api::Projection) -> Result<(), Error> {
    let names = projection.non_key_attributes.as_ref();
    match projection.projection_type {
        None => Err(Error::invalid_parameter("Unknown ProjectionType: null")),
        Some(ProjectionType::Include) if names.is_none() => Err(Error::invalid_parameter(
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        )),
        Some(kind @ (ProjectionType::All | ProjectionType::KeysOnly)) if names.is_some() => {
            Err(Error::invalid_parameter(format!(
                "ProjectionType is {kind}, but NonKeyAttributes is specified"
            )))
        }
        Some(_) => check_distinct(names.into_iter().flatten()),
    }
}

fn check_distinct<'n>(mut projected: impl Iterator<Item = &'n String>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match projected.find(|name| !seen.insert(*name)) {
        Some(name) => Err(Error::invalid_parameter(format!(
            "Duplicate element in NonKeyAttributes: {name}"
        ))),
        None => Ok(()),
    }
}

/// Refuses a key that gives an attribute another type than `existing` keys do. The long text is DynamoDB's.
pub(crate) fn check_redefinition<'k>(
    new: &KeySchema,
    mut existing: impl Iterator<Item = &'k KeySchema>,
) -> Result<(), Error> {
    let disagrees = |old: &&KeySchema| {
        let is_other =
            |part: &KeyAttribute, old: &KeyAttribute| part.name == old.name && part.kind != old.kind;
        old.attributes()
            .any(|old| new.attributes().any(|part| is_other(part, old)))
    };
    match existing.find(disagrees) {
        None => Ok(()),
        Some(old) => Err(Error::invalid_parameter(format!(
            "Attributes cannot be redefined. Please check that your attribute has the same type as previously \
             defined. Existing schema: {} New schema: {}",
            shown(old),
            shown(new)
        ))),
    }
}

fn shown(key: &KeySchema) -> String {
    let element = |part: &KeyAttribute, kind: KeyType| {
        format!("SchemaElement: key{{{}:{}:{kind}}}", part.name, part.kind.name())
    };
    let hash = key.hash.iter().map(|part| element(part, KeyType::Hash));
    let range = key.range.iter().map(|part| element(part, KeyType::Range));
    format!("Schema:[{}]", hash.chain(range).collect::<Vec<_>>().join(", "))
}

/// Refuses throughput that does not fit the billing mode.
pub(crate) fn check_throughput(
    mode: api::BillingMode,
    throughput: Option<&api::ProvisionedThroughput>,
) -> Result<(), Error> {
    match (mode, throughput) {
        (api::BillingMode::Provisioned, None) => Err(Error::invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        )),
        (api::BillingMode::PayPerRequest, Some(_)) => Err(Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        )),
        _ => Ok(()),
    }
}

/// As [`check_throughput`], for a global index.
pub(crate) fn check_index_throughput(
    mode: api::BillingMode,
    name: &str,
    throughput: Option<&api::ProvisionedThroughput>,
) -> Result<(), Error> {
    match (mode, throughput) {
        (api::BillingMode::Provisioned, None) => Err(Error::invalid_parameter(format!(
            "ProvisionedThroughput is not specified for index: {name}"
        ))),
        (api::BillingMode::PayPerRequest, Some(_)) => Err(Error::invalid_parameter(format!(
            "ProvisionedThroughput should not be specified for index: {name} when BillingMode is PAY_PER_REQUEST"
        ))),
        _ => Ok(()),
    }
}

/// Refuses parameters that are not supported: an error is better than an effect that is silently missing.
pub(crate) fn refuse_unsupported(parameters: &[(&str, bool)]) -> Result<(), Error> {
    match parameters.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Error::invalid_parameter(format!(
            "{name} is not supported by Trestle"
        ))),
        None => Ok(()),
    }
}
