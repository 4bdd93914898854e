//! NoSQL Workbench: `DataModel` is a list of tables, each with keys, indexes, facets and sample rows in DynamoDB's JSON.

use serde_json::Value;
use trestle_item::{AttributeValue, Item, ScalarType, VALIDATION_MARK};
use trestle_model::{Index, KeyAttribute, KeySchema, Projection};

use super::Read;
use super::path::{ImportError, Node};
use crate::facts::TableFacts;
use crate::hint::Hint;
use crate::propose::Observed;
use crate::row::slim;

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Read, ImportError> {
    let value: Value = serde_json::from_str(text).map_err(|error| ImportError {
        path: String::new(),
        message: format!("is no JSON: {error}; export it from NoSQL Workbench as a NoSQL Workbench model"),
    })?;
    let root = Node::root(&value);
    let tables: Vec<Node<'_>> = root.member("DataModel")?.list()?;
    let model = match root.maybe("ModelName")? {
        Some(name) => name.text()?.to_owned(),
        None => "imported".to_owned(),
    };
    let mut read: Vec<Observed> = Vec::new();
    for node in &tables {
        let found = table(node)?;
        if read.iter().any(|other| other.facts.name == found.facts.name) {
            return Err(node.fault(format!("is the second table called {:?}", found.facts.name)));
        }
        read.push(found);
    }
    Ok(Read {
        model: if model.is_empty() {
            "imported".to_owned()
        } else {
            model
        },
        tables: read,
    })
}

fn table(node: &Node<'_>) -> Result<Observed, ImportError> {
    let facts = facts(node)?;
    let mut rows = rows(node)?;
    let mut hints = Vec::new();
    for facet in node.members("TableFacets")? {
        let hint = hint(&facet)?;
        for row in &hint.rows {
            let same = |other: &Item| {
                facts
                    .key
                    .attributes()
                    .all(|key| other.get(&key.name) == row.get(&key.name))
            };
            if !rows.iter().any(same) {
                rows.push(row.clone());
            }
        }
        hints.push(hint);
    }
    Ok(Observed { facts, rows, hints })
}

fn facts(node: &Node<'_>) -> Result<TableFacts, ImportError> {
    let name_node = node.member("TableName")?;
    let name = name_node.text()?.to_owned();
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !(3..=255).contains(&name.len()) || !name.bytes().all(legal) {
        return Err(name_node.fault(format!(
            "is {name:?}, but a table's name has 3 to 255 letters, digits, `_`, `-` and `.`"
        )));
    }
    let mut facts = TableFacts {
        name,
        key: key(&node.member("KeyAttributes")?)?,
        ..TableFacts::default()
    };
    for (list, local) in [("GlobalSecondaryIndexes", false), ("LocalSecondaryIndexes", true)] {
        for found in node.members(list)? {
            let index = index(&found, &facts, local)?;
            facts.indexes.push(index);
        }
    }
    Ok(facts)
}

fn key(node: &Node<'_>) -> Result<KeySchema, ImportError> {
    let hash = key_attribute(&node.member("PartitionKey")?)?;
    let range = node
        .maybe("SortKey")?
        .map(|sort| key_attribute(&sort))
        .transpose()?;
    if range.as_ref().is_some_and(|range| range.name == hash.name) {
        return Err(node.fault(format!("has the attribute {:?} twice", hash.name)));
    }
    Ok(KeySchema {
        hash: vec![hash],
        range: range.into_iter().collect(),
    })
}

fn key_attribute(node: &Node<'_>) -> Result<KeyAttribute, ImportError> {
    let name_node = node.member("AttributeName")?;
    let name = name_node.text()?.to_owned();
    if name.is_empty() {
        return Err(name_node.fault("is empty"));
    }
    let kind_node = node.member("AttributeType")?;
    let kind = match kind_node.text()? {
        "S" => ScalarType::S,
        "N" => ScalarType::N,
        "B" => ScalarType::B,
        other => return Err(kind_node.fault(format!("is {other:?}, but a key is \"S\", \"N\" or \"B\""))),
    };
    Ok(KeyAttribute { name, kind })
}

fn index(node: &Node<'_>, table: &TableFacts, local: bool) -> Result<Index, ImportError> {
    let name_node = node.member("IndexName")?;
    let name = name_node.text()?.to_owned();
    if name.is_empty() || table.indexes.iter().any(|other| other.name == name) {
        return Err(name_node.fault(format!("is {name:?}: every index needs a name of its own")));
    }
    let key_node = node.member("KeyAttributes")?;
    let key = match key_node.maybe("PartitionKey")? {
        Some(_) => key(&key_node)?,
        None if local => KeySchema {
            hash: table.key.hash.clone(),
            range: vec![key_attribute(&key_node.member("SortKey")?)?],
        },
        None => return Err(key_node.fault("has no `PartitionKey`")),
    };
    let others = || {
        table
            .indexes
            .iter()
            .flat_map(|index| index.key.attributes())
            .chain(table.key.attributes())
    };
    for attribute in key.attributes() {
        if others().any(|other| other.name == attribute.name && other.kind != attribute.kind) {
            return Err(key_node.fault(format!("gives {:?} another type than before", attribute.name)));
        }
    }
    let local = local && key.hash == table.key.hash && key.range.len() == 1;
    Ok(Index {
        name,
        key,
        projection: projection(node)?,
        local,
    })
}

fn projection(node: &Node<'_>) -> Result<Projection, ImportError> {
    let Some(found) = node.maybe("Projection")? else {
        return Ok(Projection::All);
    };
    let kind = found.member("ProjectionType")?;
    match kind.text()? {
        "ALL" => Ok(Projection::All),
        "KEYS_ONLY" => Ok(Projection::Keys),
        "INCLUDE" => {
            let names: Vec<String> = texts(found.members("NonKeyAttributes")?)?;
            if names.is_empty() || names.len() > 100 {
                return Err(found.fault(format!(
                    "includes {} attributes; 1 to 100 are possible",
                    names.len()
                )));
            }
            Ok(Projection::Include(names))
        }
        other => Err(kind.fault(format!(
            "is {other:?}, but it is \"ALL\", \"KEYS_ONLY\" or \"INCLUDE\""
        ))),
    }
}

fn texts(nodes: Vec<Node<'_>>) -> Result<Vec<String>, ImportError> {
    nodes.iter().map(|node| node.text().map(str::to_owned)).collect()
}

/// The sample rows of a table or facet.
fn rows(node: &Node<'_>) -> Result<Vec<Item>, ImportError> {
    node.members("TableData")?.iter().map(row).collect()
}

fn row(node: &Node<'_>) -> Result<Item, ImportError> {
    let Some(object) = node.value().as_object() else {
        return Err(node.fault("is no object"));
    };
    let mut row = Item::new();
    for name in object.keys() {
        let Some(member) = node.maybe(name)? else { continue };
        let value: AttributeValue = serde_json::from_value(member.value().clone()).map_err(|error| {
            let message = error.to_string();
            member.fault(format!(
                "is no attribute value: {}",
                message.trim_start_matches(VALIDATION_MARK)
            ))
        })?;
        row.insert(name.as_str(), value);
    }
    Ok(slim(row))
}

/// A facet: a given name for a kind of row, and for the parts of its key.
fn hint(node: &Node<'_>) -> Result<Hint, ImportError> {
    let mut key_words = Vec::new();
    if let Some(alias) = node.maybe("KeyAttributeAlias")? {
        for name in ["PartitionKeyAlias", "SortKeyAlias"] {
            if let Some(alias) = alias.maybe(name)? {
                key_words.push(alias.text()?.to_owned());
            }
        }
    }
    Ok(Hint {
        name: node.member("FacetName")?.text()?.to_owned(),
        key_words,
        attributes: texts(node.members("NonKeyAttributes")?)?,
        rows: rows(node)?,
    })
}
