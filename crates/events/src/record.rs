//! Conversion of a stream's record to a change, and of a change to and from its stored form.

use std::sync::Arc;

use trestle_api::{OperationType, Record, TIME_TO_LIVE_PRINCIPAL};
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item, codec, key};

use crate::maintenance::{Modified, is_touch, of_service};
use crate::{Change, ChangeEvent, Maintenance, Typer};

/// The change described by a record.
pub(crate) fn change(record: Record, table: &Arc<str>, shard: &str, typer: &dyn Typer) -> Change {
    let principal = record.user_identity.and_then(|identity| identity.principal_id);
    let is_by = |service: &str| principal.as_deref() == Some(service);
    let event = match record.event_name {
        OperationType::Insert => ChangeEvent::Insert,
        OperationType::Modify => ChangeEvent::Modify,
        OperationType::Remove if is_by(TIME_TO_LIVE_PRINCIPAL) => ChangeEvent::Expire,
        OperationType::Remove => ChangeEvent::Remove,
    };
    let told = record.dynamodb;
    let item = told.new_image.as_ref().or(told.old_image.as_ref());
    let at = told.approximate_creation_date_time;
    let changed = changed(event, told.old_image.as_ref(), told.new_image.as_ref());
    let modified = Modified {
        table,
        old: told.old_image.as_ref(),
        new: told.new_image.as_ref(),
        changed: &changed,
    };
    let touches = event == ChangeEvent::Modify && is_touch(&modified, typer);
    Change {
        table: Arc::clone(table),
        entity: typer.entity(table, item.unwrap_or(&told.keys)),
        event,
        maintenance: of_service(principal.as_deref()).or(touches.then_some(Maintenance::Touch)),
        changed,
        former_keys: typer.former_key(table, &told.keys),
        keys: told.keys,
        old: told.old_image,
        new: told.new_image,
        event_id: record.event_id,
        sequence: told.sequence_number,
        shard: shard.to_owned(),
        at: at.map_or(Timestamp::EPOCH, |at| Timestamp::from_millis(at.to_millis())),
    }
}

/// A row of a backfill.
pub(crate) struct BackfilledRow<'r> {
    /// The backfill.
    pub(crate) id: &'r str,
    /// The row's number in it.
    pub(crate) number: u64,
    /// When it was read.
    pub(crate) at: Timestamp,
    /// The names of the table's key attributes.
    pub(crate) key: &'r [String],
    pub(crate) row: Item,
}

/// A row of a backfill as a change. Its id depends only on the backfill and the item.
pub(crate) fn row_change(told: BackfilledRow<'_>, table: &Arc<str>, typer: &dyn Typer) -> Change {
    let row = told.row;
    let part = |name: &String| Some((name.clone(), row.get(name)?.clone()));
    let keys: Item = told.key.iter().filter_map(part).collect();
    let former_keys = typer.former_key(table, &keys);
    let mut name = codec::encode(former_keys.as_ref().unwrap_or(&keys));
    let first = key::hash(&name);
    name.push(0);
    let second = key::hash(&name);
    Change {
        table: Arc::clone(table),
        entity: typer.entity(table, &row),
        event: ChangeEvent::Backfill,
        maintenance: None,
        changed: changed(ChangeEvent::Backfill, None, Some(&row)),
        former_keys,
        keys,
        old: None,
        new: Some(row),
        event_id: format!("backfill-{}-{first:016x}{second:016x}", told.id),
        sequence: told.number.to_string(),
        shard: format!("backfill-{}", told.id),
        at: told.at,
    }
}

/// A row of a backfill in the state after a later change; `None` if the change does not show that state.
pub(crate) fn row_after(row: &Change, later: &Change) -> Option<Change> {
    let new = later.new.clone()?;
    Some(Change {
        entity: later.entity.clone(),
        changed: changed(ChangeEvent::Backfill, None, Some(&new)),
        keys: later.keys.clone(),
        former_keys: later.former_keys.clone(),
        new: Some(new),
        ..row.clone()
    })
}

/// The names of the attributes that differ, sorted. For a new or removed item, all of them; for a modified
/// one, the result is known only with both images.
fn changed(event: ChangeEvent, old: Option<&Item>, new: Option<&Item>) -> Vec<String> {
    let names = |item: &Item| item.keys().cloned().collect();
    match (event, old, new) {
        (ChangeEvent::Insert | ChangeEvent::Backfill, _, Some(item)) => names(item),
        (ChangeEvent::Remove | ChangeEvent::Expire, Some(item), _) => names(item),
        (ChangeEvent::Modify, Some(old), Some(new)) => {
            let mut names: Vec<String> = new
                .iter()
                .filter(|(name, value)| old.get(name) != Some(value))
                .map(|(name, _)| name.clone())
                .chain(old.keys().filter(|name| !new.contains_key(name)).cloned())
                .collect();
            names.sort_unstable();
            names
        }
        _ => Vec::new(),
    }
}

/// The whole change as an item, to be stored in a row.
pub(crate) fn to_item(change: &Change) -> Item {
    let list = |names: &[String]| AttributeValue::L(names.iter().map(|name| name.as_str().into()).collect());
    let mut item = Item::from([
        ("at", AttributeValue::from(change.at.as_millis())),
        ("changed", list(&change.changed)),
        ("event", change.event.name().into()),
        ("event_id", change.event_id.as_str().into()),
        ("keys", change.keys.clone().into()),
        ("sequence", change.sequence.as_str().into()),
        ("shard", change.shard.as_str().into()),
        ("table", (*change.table).into()),
    ]);
    if let Some(entity) = &change.entity {
        item.insert("entity", &**entity);
    }
    if let Some(maintenance) = change.maintenance {
        item.insert("maintenance", maintenance.name());
    }
    let images = [
        ("former_keys", &change.former_keys),
        ("old", &change.old),
        ("new", &change.new),
    ];
    for (name, image) in images {
        if let Some(image) = image {
            item.insert(name, image.clone());
        }
    }
    item
}

/// Parses the result of [`to_item`]; `None` for anything else.
pub(crate) fn from_item(mut item: Item) -> Option<Change> {
    let text = |item: &Item, name: &str| Some(item.get(name)?.as_s()?.to_owned());
    let optional_text = |item: &Item, name: &str| match item.get(name) {
        None => Some(None),
        Some(value) => value.as_s().map(|text| Some(text.to_owned())),
    };
    let mut image = |name: &str| match item.remove(name) {
        None => Some(None),
        Some(AttributeValue::M(image)) => Some(Some(image)),
        Some(_) => None,
    };
    let (keys, former_keys) = (image("keys")??, image("former_keys")?);
    let (old, new) = (image("old")?, image("new")?);
    let names = item.get("changed")?.as_l()?.iter();
    let maintenance = match optional_text(&item, "maintenance")? {
        None => None,
        Some(name) => Some(Maintenance::from_name(&name)?),
    };
    Some(Change {
        table: text(&item, "table")?.into(),
        entity: optional_text(&item, "entity")?.map(Arc::from),
        event: ChangeEvent::from_name(item.get("event")?.as_s()?)?,
        maintenance,
        keys,
        former_keys,
        old,
        new,
        changed: names
            .map(|name| Some(name.as_s()?.to_owned()))
            .collect::<Option<_>>()?,
        event_id: text(&item, "event_id")?,
        sequence: text(&item, "sequence")?,
        shard: text(&item, "shard")?,
        at: Timestamp::from_millis(u64::try_from(item.get("at")?.as_n()?.to_i64()?).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(pairs: &[(&str, i64)]) -> Item {
        pairs.iter().map(|(name, value)| (*name, *value)).collect()
    }

    #[test]
    fn what_changed_is_what_differs_appears_or_goes() {
        let (old, new) = (
            image(&[("a", 1), ("b", 2), ("c", 3)]),
            image(&[("a", 1), ("b", 3), ("d", 4)]),
        );
        let of = |event, old, new| changed(event, old, new).join(" ");
        assert_eq!(of(ChangeEvent::Modify, Some(&old), Some(&new)), "b c d");
        assert_eq!(of(ChangeEvent::Modify, None, Some(&new)), "");
        assert_eq!(of(ChangeEvent::Insert, None, Some(&new)), "a b d");
        assert_eq!(of(ChangeEvent::Expire, Some(&old), None), "a b c");
    }

    #[test]
    fn a_kept_change_is_the_same_change() {
        let moved = (Some(Maintenance::Move), Some(image(&[("pk", 1)])));
        for (entity, (maintenance, former_keys), old, new) in [
            (
                Some("layer"),
                moved,
                Some(image(&[("a", 1)])),
                Some(image(&[("a", 2)])),
            ),
            (None, (None, None), None, None),
        ] {
            let change = Change {
                table: "t".into(),
                entity: entity.map(Arc::from),
                event: ChangeEvent::Modify,
                maintenance,
                keys: image(&[("pk", 7)]),
                former_keys,
                old,
                new,
                changed: vec!["a".into()],
                event_id: "id".into(),
                sequence: "100".into(),
                shard: "shardId-1".into(),
                at: Timestamp::from_millis(1_700_000_000_123),
            };
            for name in to_item(&change).keys() {
                let mut damaged = to_item(&change);
                damaged.insert(name.clone(), AttributeValue::Null);
                assert_eq!(from_item(damaged), None, "{name}");
            }
            assert_eq!(from_item(to_item(&change)), Some(change));
        }
        assert_eq!(from_item(image(&[("a", 1)])), None);
    }
}
