//! Whether a server has everything that was acknowledged, each row once and in its place, and is consistent.

use super::layout::{Id, Layout, TABLE, content, number, placed, text};
use super::stayers;
use super::writer::{COUNTED, Rows, Shared, Writer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use trestle_torture::audit::{all, records};
use trestle_torture::http::Client;
use trestle_torture::workload::succeed;

/// The service that moves rows, in change records.
const MIGRATION: &str = "trestle.migration";

/// Checks everything and lets the writers continue from there. Returns how many rows there are.
pub(super) fn check(
    client: &mut Client,
    layout: Layout,
    shared: &Shared,
    writers: &mut [Writer],
    limit: u64,
) -> Result<usize, String> {
    let scan = json!({"TableName": TABLE, "ConsistentRead": true, "Limit": limit});
    let rows = by_id(all(client, "Scan", &scan), layout)?;
    for (id, expected) in stayers::all() {
        let found = rows.get(&id);
        if found != Some(&expected) {
            return Err(format!("{id:?} stays {expected}, and is {found:?}"));
        }
    }
    for writer in &mut *writers {
        writer.reconcile(&rows)?;
    }
    check_owners(&rows, writers)?;
    check_counters(&rows, shared)?;
    check_heads(&rows)?;
    check_addresses(&rows)?;
    check_counts(client, &rows)?;
    Ok(rows.len())
}

/// Contents by identity; each exists once, where the layout puts it.
fn by_id(rows: Vec<Value>, layout: Layout) -> Result<Rows, String> {
    let mut found = Rows::new();
    for row in rows {
        let (id, content) = (Id::of(&row), content(&row));
        if row != placed(&content, layout) {
            return Err(format!("{row} is not as it is in the layout {layout:?}"));
        }
        if found.insert(id, content).is_some() {
            return Err(format!("{row} is there twice"));
        }
    }
    Ok(found)
}

/// There is no row that was not written.
fn check_owners(rows: &Rows, writers: &[Writer]) -> Result<(), String> {
    let stayers = stayers::all();
    let is_known = |id: &&Id| match id {
        Id::Parcel { customer, .. } if customer == COUNTED => true,
        Id::Head { .. } | Id::Email { .. } => true,
        id => stayers.contains_key(id) || writers.iter().any(|writer| writer.is_own(id)),
    };
    match rows.keys().find(|id| !is_known(id)) {
        Some(id) => Err(format!("nobody wrote {id:?}")),
        None => Ok(()),
    }
}

fn check_counters(rows: &Rows, shared: &Shared) -> Result<(), String> {
    for (at, counter) in shared.counters.iter().enumerate() {
        let id = Id::parcel("d1", COUNTED, at as u64);
        let row = rows.get(&id).ok_or_else(|| format!("{id:?} is gone"))?;
        let counted = number(row, "n");
        let surely = counter.surely.load(Ordering::SeqCst);
        let perhaps = counter.perhaps.swap(0, Ordering::SeqCst);
        if !(surely..=surely + perhaps).contains(&counted) {
            return Err(format!(
                "{id:?} was counted up {surely} times, and perhaps {perhaps} more; it is {counted}"
            ));
        }
        counter.surely.store(counted, Ordering::SeqCst);
    }
    Ok(())
}

/// The head is the newest release, which alone is the latest.
fn check_heads(rows: &Rows) -> Result<(), String> {
    let mut newest: BTreeMap<Id, &Value> = BTreeMap::new();
    for (id, row) in rows {
        if let Id::Release { region, product, .. } = id {
            let head = Id::Head {
                region: region.clone(),
                product: product.clone(),
            };
            // In the order of versions.
            newest.insert(head, row);
        }
    }
    for (head, newest) in &newest {
        let row = rows.get(head).ok_or_else(|| format!("{head:?} is missing"))?;
        for name in ["region", "product", "version", "arn"] {
            if row[name] != newest[name] {
                return Err(format!("the head {row} is not the newest: {newest}"));
            }
        }
    }
    for (id, row) in rows {
        match id {
            Id::Head { .. } if !newest.contains_key(id) => return Err(format!("{id:?} is of nothing")),
            Id::Release { .. } => {
                let is_newest = newest.values().any(|newest| *newest == row);
                if (text(row, "status") == "latest") != is_newest {
                    return Err(format!("{row} is the newest: {is_newest}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Every address is taken by the member that has it, and by no other one.
fn check_addresses(rows: &Rows) -> Result<(), String> {
    let of_members = rows.iter().filter(|(id, _)| matches!(id, Id::Member { .. }));
    let wanted = of_members.map(|(_, row)| text(row, "email").to_lowercase());
    let mut wanted: Vec<String> = wanted.collect();
    wanted.sort();
    let taken: Vec<String> = rows
        .keys()
        .filter_map(|id| match id {
            Id::Email { email } => Some(email.clone()),
            _ => None,
        })
        .collect();
    match wanted == taken {
        true => Ok(()),
        false => Err(format!("members have {wanted:?}, and {taken:?} are taken")),
    }
}

/// As many rows are stored as are visible: none is in a second place.
fn check_counts(client: &mut Client, rows: &Rows) -> Result<(), String> {
    let table = succeed(client, "DescribeTable", &json!({"TableName": TABLE}))["Table"].take();
    let parcels = rows.keys().filter(|id| matches!(id, Id::Parcel { .. })).count();
    let mut counted = vec![("the table".to_owned(), &table["ItemCount"], rows.len())];
    for index in table["GlobalSecondaryIndexes"].as_array().unwrap() {
        if index["IndexName"] == "by_state" {
            counted.push(("the index".to_owned(), &index["ItemCount"], parcels));
        }
    }
    for (what, counted, found) in counted {
        if *counted != found {
            return Err(format!("{what} counts {counted} rows and shows {found}"));
        }
    }
    Ok(())
}

/// Replays the change log: each record begins where the previous one ended, in its place; a move does not
/// change a row; and the end is the table. Returns how many records there are, and how many of them are
/// moves.
pub(super) fn check_changes(client: &mut Client) -> Result<(usize, usize), String> {
    let table = succeed(client, "DescribeTable", &json!({"TableName": TABLE}))["Table"].take();
    let stream = table["LatestStreamArn"].as_str().unwrap();
    let description = succeed(client, "DescribeStream", &json!({"StreamArn": stream}));
    let mut log = Log::default();
    for shard in description["StreamDescription"]["Shards"].as_array().unwrap() {
        for record in records(client, stream, &shard["ShardId"]) {
            log.take(&record)?;
        }
    }
    if let Some(id) = log.on_its_way.keys().next() {
        return Err(format!("{id:?} left and did not arrive"));
    }
    let rows = all(
        client,
        "Scan",
        &json!({"TableName": TABLE, "ConsistentRead": true}),
    );
    let rows: BTreeMap<String, Value> = rows.into_iter().map(|row| (place(&row), row)).collect();
    if log.images != rows {
        let keys = rows.keys().chain(log.images.keys());
        let differing: Vec<&String> = keys
            .filter(|key| log.images.get(*key) != rows.get(*key))
            .collect();
        return Err(format!(
            "the change log does not end as the table is: {differing:?}"
        ));
    }
    Ok((log.records, log.moves))
}

/// What the change log says until some record.
#[derive(Default)]
struct Log {
    images: BTreeMap<String, Value>,
    on_its_way: Rows,
    records: usize,
    moves: usize,
}

impl Log {
    fn take(&mut self, record: &Value) -> Result<(), String> {
        self.records += 1;
        let change = &record["dynamodb"];
        let key = place(&change["Keys"]);
        let (old, new) = (&change["OldImage"], &change["NewImage"]);
        if self.images.get(&key).unwrap_or(&Value::Null) != old {
            return Err(format!("{record} does not begin where the one before it ended"));
        }
        if record["userIdentity"]["PrincipalId"] == MIGRATION {
            self.moves += 1;
            self.take_move(old, new)?;
        }
        match new {
            Value::Null => self.images.remove(&key),
            image => self.images.insert(key, image.clone()),
        };
        Ok(())
    }

    /// A row is removed from its former place, then added in its own place.
    fn take_move(&mut self, old: &Value, new: &Value) -> Result<(), String> {
        if new.is_null() {
            self.on_its_way.insert(Id::of(old), content(old));
            return Ok(());
        }
        let id = Id::of(new);
        match self.on_its_way.remove(&id) {
            Some(left) if old.is_null() && left == content(new) => Ok(()),
            left => Err(format!("{left:?} left, and {new} arrived")),
        }
    }
}

fn place(row: &Value) -> String {
    format!("{} {}", text(row, "pk"), text(row, "sk"))
}
