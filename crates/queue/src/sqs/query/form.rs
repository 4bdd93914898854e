//! Parameters such as `Attribute.1.Name` as the JSON of the newer protocol.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::QueueError;

/// The number of parts in the longest name:
/// `SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue`.
const PARTS_MAX: usize = 6;

/// Lists of texts, by their names in forms and in JSON.
const LISTS: &[(&str, &str)] = &[
    ("ActionName", "Actions"),
    ("AttributeName", "AttributeNames"),
    ("AWSAccountId", "AWSAccountIds"),
    ("MessageAttributeName", "MessageAttributeNames"),
    ("MessageSystemAttributeName", "MessageSystemAttributeNames"),
    ("TagKey", "TagKeys"),
];

/// Maps, by their names in forms and in JSON, and the parameter that is the key.
const MAPS: &[(&str, &str, &str)] = &[
    ("Attribute", "Attributes", "Name"),
    ("MessageAttribute", "MessageAttributes", "Name"),
    ("MessageSystemAttribute", "MessageSystemAttributes", "Name"),
    ("Tag", "Tags", "Key"),
];

/// The entries of batches.
const ENTRIES: &[&str] = &[
    "ChangeMessageVisibilityBatchRequestEntry",
    "DeleteMessageBatchRequestEntry",
    "SendMessageBatchRequestEntry",
];

const NUMBERS: &[&str] = &[
    "DelaySeconds",
    "MaxNumberOfMessages",
    "MaxNumberOfMessagesPerSecond",
    "MaxResults",
    "VisibilityTimeout",
    "WaitTimeSeconds",
];

/// A parameter, or those whose names begin with the same parts.
#[derive(Debug)]
enum Node {
    Text(String),
    Branch(BTreeMap<String, Node>),
}

/// The parameters of a request.
pub(super) fn read(parameters: Vec<(String, String)>) -> Result<Map<String, Value>, QueueError> {
    let mut root = BTreeMap::new();
    for (name, value) in parameters {
        insert(&mut root, &name, value)?;
    }
    members(root)
}

fn insert(root: &mut BTreeMap<String, Node>, name: &str, value: String) -> Result<(), QueueError> {
    let parts: Vec<&str> = name.splitn(PARTS_MAX + 1, '.').collect();
    let Some((last, before)) = parts.split_last().filter(|_| parts.len() <= PARTS_MAX) else {
        return Err(strange(name));
    };
    let mut branch = root;
    for part in before {
        let node = branch
            .entry((*part).to_owned())
            .or_insert_with(|| Node::Branch(BTreeMap::new()));
        match node {
            Node::Branch(inner) => branch = inner,
            Node::Text(_) => return Err(strange(name)),
        }
    }
    match branch.insert((*last).to_owned(), Node::Text(value)) {
        Some(Node::Branch(_)) => Err(strange(name)),
        _ => Ok(()),
    }
}

/// The members of a request or of an entry of a batch.
fn members(branch: BTreeMap<String, Node>) -> Result<Map<String, Value>, QueueError> {
    let mut members = Map::new();
    for (name, node) in branch {
        if let Some((_, json)) = LISTS.iter().find(|(form, _)| *form == name) {
            members.insert((*json).to_owned(), list(&name, node)?);
        } else if let Some((_, json, key)) = MAPS.iter().find(|(form, ..)| *form == name) {
            members.insert((*json).to_owned(), map(&name, node, key)?);
        } else if ENTRIES.contains(&name.as_str()) {
            let entries = numbered(&name, node)?.into_iter().map(|entry| match entry {
                Node::Branch(entry) => members_of_entry(entry),
                Node::Text(_) => Err(strange(&name)),
            });
            let entries: Result<Vec<Value>, QueueError> = entries.collect();
            members.insert("Entries".to_owned(), Value::Array(entries?));
        } else if let Node::Text(text) = node {
            let value = match empty(&name).filter(|_| text.is_empty()) {
                Some(empty) => empty,
                None => scalar(&name, text)?,
            };
            members.insert(name, value);
        }
        // The rest is unknown, and may be a parameter of a later version.
    }
    Ok(members)
}

/// An entry has everything that a request has, except further entries.
fn members_of_entry(mut entry: BTreeMap<String, Node>) -> Result<Value, QueueError> {
    entry.retain(|name, _| !ENTRIES.contains(&name.as_str()));
    members(entry).map(Value::Object)
}

/// The empty list or map with that name in JSON: SDKs write `Entries=` for no entries.
fn empty(name: &str) -> Option<Value> {
    if name == "Entries" || LISTS.iter().any(|(_, json)| *json == name) {
        return Some(Value::Array(Vec::new()));
    }
    let is_map = MAPS.iter().any(|(_, json, _)| *json == name);
    is_map.then(|| Value::Object(Map::new()))
}

fn scalar(name: &str, text: String) -> Result<Value, QueueError> {
    if !NUMBERS.contains(&name) {
        return Ok(Value::String(text));
    }
    let number: Result<i64, _> = text.parse();
    let number = number.map_err(|_| QueueError::value(&text, name, "Must be a whole number."))?;
    Ok(Value::from(number))
}

/// The values under `1`, `2` and so on, in this order; a text without a number is the only one.
fn numbered(name: &str, node: Node) -> Result<Vec<Node>, QueueError> {
    let branch = match node {
        Node::Text(_) => return Ok(vec![node]),
        Node::Branch(branch) => branch,
    };
    let mut numbered = BTreeMap::new();
    for (number, node) in branch {
        let number: u32 = number.parse().map_err(|_| strange(name))?;
        numbered.insert(number, node);
    }
    Ok(numbered.into_values().collect())
}

fn list(name: &str, node: Node) -> Result<Value, QueueError> {
    let texts = numbered(name, node)?.into_iter().map(|node| match node {
        Node::Text(text) => Ok(Value::String(text)),
        Node::Branch(_) => Err(strange(name)),
    });
    let texts: Result<Vec<Value>, QueueError> = texts.collect();
    Ok(Value::Array(texts?))
}

/// Pairs of a key and a value, which may itself have parts.
fn map(name: &str, node: Node, key: &str) -> Result<Value, QueueError> {
    let pairs = match node {
        // A single pair needs no number.
        Node::Branch(pair) if pair.contains_key(key) => vec![Node::Branch(pair)],
        node => numbered(name, node)?,
    };
    let mut map = Map::new();
    for node in pairs {
        let Node::Branch(mut pair) = node else {
            return Err(strange(name));
        };
        let (Some(Node::Text(key)), value) = (pair.remove(key), pair.remove("Value")) else {
            return Err(strange(name));
        };
        let value = match value {
            None => Value::String(String::new()),
            Some(Node::Text(text)) => Value::String(text),
            Some(Node::Branch(parts)) => Value::Object(members(parts)?),
        };
        map.insert(key, value);
    }
    Ok(Value::Object(map))
}

fn strange(name: &str) -> QueueError {
    let shown: String = name.chars().take(80).collect();
    QueueError::invalid(format!(
        "The parameter {shown} cannot be read. Lists are written as Name.1, maps as Name.1.Name and Name.1.Value."
    ))
}
