//! The work items of a reindex, and their rows.

use std::collections::HashSet;
use std::sync::Arc;

use trestle_api::{Error, Request, Scan, TableDescription};
use trestle_item::{AttributeValue, Item, Number, ScalarType, from_base64};
use trestle_model::{Model, Role};

use crate::job::{EntityFilter, KeyPart, ReindexMode, ReindexScope};
use crate::row_letter::row_id;
use crate::sort_range::SortRange;
use crate::work_item::{KEYS_MAX, WorkItem, WorkUnit};
use crate::{Reindex, ReindexError};

/// The approximate number of rows of a segment.
const SEGMENT_ROWS: u64 = 900;
/// The most segments: each is a row, and workers read all of them.
const SEGMENTS_MAX: u64 = 1_000;

/// The key attributes of a table, the partition key first.
pub(crate) fn key_parts(table: &TableDescription) -> Result<Vec<KeyPart>, Error> {
    let part = |name: &String| {
        let mut definitions = table.attribute_definitions.iter();
        let definition = definitions.find(|definition| definition.attribute_name == *name);
        let kind = definition.map(|definition| definition.attribute_type);
        let missing = || {
            Error::defect(format!(
                "table {} was described without the type of {name}",
                table.table_name
            ))
        };
        Ok(KeyPart {
            name: name.clone(),
            kind: kind.ok_or_else(missing)?,
        })
    };
    table
        .key_schema
        .iter()
        .map(|element| part(&element.attribute_name))
        .collect()
}

/// The meaning of a scope: its work items, and its entities.
pub(crate) struct Planned {
    pub(crate) items: Vec<WorkItem>,
    pub(crate) entities: Option<EntityFilter>,
}

/// Divides a scope into work items.
pub(crate) fn plan(job: &Reindex, model: Option<&(Arc<Model>, String)>) -> Result<Planned, ReindexError> {
    let all = |items| Planned {
        items,
        entities: model.and_then(|(model, text)| but_kept(job, model, text)),
    };
    Ok(match &job.scope {
        ReindexScope::Complete => all(segments(job)),
        ReindexScope::First(rows) => all(vec![WorkItem::new("first", WorkUnit::First { rows: *rows })]),
        ReindexScope::Ids(ids) => all(by_ids(job, "ids", ids)?),
        ReindexScope::Entity(name) => {
            let (model, text) = needed(model, "an entity")?;
            let entity = model.entity(name).ok_or_else(|| no_entity(model, name))?;
            let table = model.table_of(entity).map(|table| table.table_name());
            if table != Some(job.table.as_str()) {
                return Err(ReindexError::refused(format!(
                    "entity {name} lies in table {}, and not in {}",
                    table.unwrap_or_default(),
                    job.table
                )));
            }
            Planned {
                items: segments(job),
                entities: Some(filter(job, model, text, vec![name.clone()])),
            }
        }
        ReindexScope::Access {
            name,
            parameters,
            first,
        } => {
            let (model, text) = needed(model, "an access pattern")?;
            by_access(job, model, text, (name, parameters), *first)?
        }
    })
}

fn needed<'m>(
    model: Option<&'m (Arc<Model>, String)>,
    what: &str,
) -> Result<(&'m Model, &'m str), ReindexError> {
    let missing = || {
        ReindexError::refused(format!(
            "{what} needs the table's model: apply it, or give it with --model"
        ))
    };
    model
        .map(|(model, text)| (&**model, text.as_str()))
        .ok_or_else(missing)
}

fn no_entity(model: &Model, name: &str) -> ReindexError {
    let known: Vec<&str> = model.entities().iter().map(trestle_model::Entity::name).collect();
    ReindexError::refused(format!(
        "model {} has no entity {name}; there is {}",
        model.name(),
        known.join(", ")
    ))
}

/// Rows that the database derives from others are updated with those and not touched themselves.
fn but_kept(job: &Reindex, model: &Model, text: &str) -> Option<EntityFilter> {
    let entities = model.entities_of(model.table(&job.table)?);
    let kept = entities.filter(|entity| *entity.role() != Role::Declared);
    let names: Vec<String> = kept.map(|entity| entity.name().to_owned()).collect();
    let are_touched = matches!(job.mode, ReindexMode::Touch { .. });
    (are_touched && !names.is_empty()).then(|| EntityFilter {
        are_left_out: true,
        ..filter(job, model, text, names)
    })
}

fn filter(job: &Reindex, model: &Model, text: &str, names: Vec<String>) -> EntityFilter {
    let attribute = model.table(&job.table).and_then(|table| table.entity_attribute());
    EntityFilter {
        names,
        are_left_out: false,
        attribute: attribute.map(str::to_owned),
        model: text.to_owned(),
    }
}

fn segments(job: &Reindex) -> Vec<WorkItem> {
    in_segments(job, |segment, total| WorkUnit::Segment { segment, total })
}

/// Segments of an access pattern's scan; its condition holds for each of them. Where only the first rows are
/// selected, one worker reads and counts them.
fn scans(job: &Reindex, scan: Scan, first: Option<u64>) -> Vec<WorkItem> {
    if first.is_some() {
        let scan = Box::new(scan);
        return vec![WorkItem::new("access", WorkUnit::Scan { scan, first })];
    }
    in_segments(job, |segment, total| WorkUnit::Scan {
        scan: Box::new(Scan {
            segment: (total > 1).then_some(segment),
            total_segments: (total > 1).then_some(total),
            ..scan.clone()
        }),
        first,
    })
}

fn in_segments(job: &Reindex, unit: impl Fn(u32, u32) -> WorkUnit) -> Vec<WorkItem> {
    let by_rows = job.rows_estimated.div_ceil(SEGMENT_ROWS);
    let total = by_rows.max(u64::from(job.workers)).clamp(1, SEGMENTS_MAX) as u32;
    (0..total)
        .map(|segment| WorkItem::new(format!("segment-{segment:04}"), unit(segment, total)))
        .collect()
}

fn by_access(
    job: &Reindex,
    model: &Model,
    text: &str,
    (name, given): (&str, &Item),
    first: Option<u64>,
) -> Result<Planned, ReindexError> {
    let pattern = model.access(name).ok_or_else(|| {
        let known: Vec<&str> = model
            .access_patterns()
            .iter()
            .map(trestle_model::AccessPattern::name)
            .collect();
        ReindexError::refused(format!(
            "model {} has no access pattern {name}; there is {}",
            model.name(),
            known.join(", ")
        ))
    })?;
    if pattern.table_name() != job.table {
        return Err(ReindexError::refused(format!(
            "access pattern {name} reads table {}, and not {}",
            pattern.table_name(),
            job.table
        )));
    }
    let bound = pattern
        .bind(given)
        .map_err(|refusal| ReindexError::refused(refusal.to_string()))?;
    let items = match bound.into_request() {
        Request::Query(query) => vec![WorkItem::new(
            "access",
            WorkUnit::Query {
                query: Box::new(query),
                first,
            },
        )],
        Request::GetItem(get) => keys("access", vec![get.key]),
        Request::Scan(scan) => scans(job, scan, first),
        other => {
            let operation = other.operation();
            return Err(Error::defect(format!("access pattern {name} became {operation}")).into());
        }
    };
    Ok(Planned {
        items,
        entities: Some(filter(job, model, text, pattern.returns().to_vec())),
    })
}

/// Work items for rows with these keys.
pub(crate) fn keys(name: &str, keys: Vec<Item>) -> Vec<WorkItem> {
    let chunk = |(number, keys): (usize, &[Item])| {
        let keys = keys.to_vec();
        WorkItem::new(format!("{name}-{number:06}"), WorkUnit::Keys { keys })
    };
    keys.chunks(KEYS_MAX).enumerate().map(chunk).collect()
}

/// Work items for rows with these ids, each once. An id that has only the partition key of a table with a
/// sort key means all rows of the partition.
pub(crate) fn by_ids(job: &Reindex, name: &str, ids: &[String]) -> Result<Vec<WorkItem>, ReindexError> {
    let mut wanted = Vec::new();
    let mut seen = HashSet::new();
    for id in ids {
        let key = job.key_of_id(id)?;
        // A batch with a duplicate key is refused.
        if seen.insert(row_id(&key)) {
            wanted.push(key);
        }
    }
    Ok(rows_or_partitions(job, name, wanted))
}

/// Work items for keys of rows and of partitions, each once.
pub(crate) fn rows_or_partitions(job: &Reindex, name: &str, wanted: Vec<Item>) -> Vec<WorkItem> {
    let (whole, partitions): (Vec<Item>, Vec<Item>) =
        wanted.into_iter().partition(|key| key.len() == job.key.len());
    let mut items = keys(name, whole);
    let partition = |(number, partition): (usize, Item)| {
        WorkItem::new(
            format!("{name}-partition-{number:06}"),
            WorkUnit::Partition {
                partition,
                range: SortRange::default(),
            },
        )
    };
    items.extend(partitions.into_iter().enumerate().map(partition));
    items
}

impl Reindex {
    /// The key for an id: the text of the partition key, or a JSON object with the key attributes, such as
    /// `{"pk": "b1", "sk": "2"}`. Numbers are written as numbers or texts, bytes in base64.
    pub fn key_of_id(&self, id: &str) -> Result<Item, ReindexError> {
        let object = match id.trim_start().starts_with('{') {
            true => serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(id).ok(),
            false => None,
        };
        let Some(mut object) = object else {
            let part = self
                .key
                .first()
                .ok_or_else(|| ReindexError::defect("a table without a key"))?;
            return Ok(Item::from([(part.name.clone(), key_value(part, id)?)]));
        };
        let mut key = Item::new();
        for part in &self.key {
            let value = match object.remove(&part.name) {
                Some(serde_json::Value::String(text)) => text,
                Some(serde_json::Value::Number(number)) => number.to_string(),
                _ => {
                    return Err(ReindexError::refused(format!(
                        "the id {id} has no value for key attribute {}",
                        part.name
                    )));
                }
            };
            key.insert(part.name.clone(), key_value(part, &value)?);
        }
        match object.keys().next() {
            Some(other) => Err(ReindexError::refused(format!(
                "{other} in the id {id} is no key attribute"
            ))),
            None => Ok(key),
        }
    }
}

/// The id of a row from its key, in the form of [`Reindex::key_of_id`].
pub(crate) fn id_of_key(key: &Item) -> String {
    match (key.len(), key.values().next()) {
        (1, Some(AttributeValue::S(text))) if !text.trim_start().starts_with('{') => text.clone(),
        (1, Some(AttributeValue::N(number))) => number.to_string(),
        _ => trestle_events::plain_json(key).to_string(),
    }
}

fn key_value(part: &KeyPart, text: &str) -> Result<AttributeValue, ReindexError> {
    let unfit = |what: &str| {
        ReindexError::refused(format!(
            "the id {text:?} is no {what}, as key attribute {} is",
            part.name
        ))
    };
    if text.is_empty() {
        return Err(ReindexError::refused("an id is empty"));
    }
    Ok(match part.kind {
        ScalarType::S => text.into(),
        ScalarType::N => Number::parse(text).map_err(|_| unfit("number"))?.into(),
        ScalarType::B => AttributeValue::B(from_base64(text).map_err(|_| unfit("base64"))?),
    })
}
