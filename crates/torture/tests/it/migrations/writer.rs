//! Writers that remember which of their writes were acknowledged, and give their keys in either layout.
//!
//! Every writer has its own rows and one request at a time, so after a crash there is one question: was the
//! unanswered request carried out, or not? All writers share the counters.

use super::knowledge::{Knowledge, Understood};
use super::layout::{Id, Layout, TABLE, content, merge, n, number, placed, text};
use super::stayers;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use trestle_torture::http::{Client, RawResponse};

/// Contents of rows.
pub(super) type Rows = BTreeMap<Id, Value>;

/// The customer whose parcels all writers count.
pub(super) const COUNTED: &str = "all";
pub(super) const COUNTERS: u64 = 4;
const PARCELS: u64 = 16;
const RELEASES: u64 = 14;

/// How often a counter was raised: certainly, and perhaps once more.
#[derive(Debug, Default)]
pub(super) struct Counter {
    pub(super) surely: AtomicU64,
    pub(super) perhaps: AtomicU64,
}

/// The state that all clients share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) knowledge: RwLock<Knowledge>,
    pub(super) counters: Vec<Counter>,
}

/// How a request identifies its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Key(Layout),
    /// By the attributes that identify it.
    Identity,
}

impl Address {
    /// By any key that may be understood, and whether it certainly is.
    pub(super) fn random(random: &mut fastrand::Rng, knowledge: &Knowledge) -> (Self, bool) {
        let layout = match random.u8(0..5) {
            0 => return (Address::Identity, true),
            1 | 2 => Layout::ByDepot,
            _ => Layout::ByCustomer,
        };
        let layout = match knowledge.understands(layout) {
            Understood::No => layout.other(),
            _ => layout,
        };
        (
            Address::Key(layout),
            knowledge.understands(layout) == Understood::Yes,
        )
    }

    pub(super) fn of(self, id: &Id) -> Value {
        match self {
            Address::Key(layout) => id.key(layout),
            Address::Identity => id.attributes(),
        }
    }

    /// A row to be put, with all of the layout's keys or with none.
    fn item(self, content: &Value) -> Value {
        match self {
            Address::Key(layout) => placed(content, layout),
            Address::Identity => content.clone(),
        }
    }
}

/// One request: the resulting rows.
type Changes = Vec<(Id, Option<Value>)>;

/// One connection's writer.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) name: String,
    random: fastrand::Rng,
    tick: u64,
    /// The rows after the last answered request.
    rows: Rows,
    /// The unanswered request.
    open: Option<Changes>,
}

/// The outcome of a request.
enum Outcome {
    Done,
    Refused(RawResponse),
    /// Unknown, and the server is gone.
    Gone,
}

impl Writer {
    pub(super) fn new(number: usize, random: fastrand::Rng) -> Self {
        Writer {
            name: format!("w{number}"),
            random,
            tick: 0,
            rows: Rows::new(),
            open: None,
        }
    }

    pub(super) fn is_own(&self, id: &Id) -> bool {
        let owner = match id {
            Id::Parcel { customer, .. } => customer,
            Id::Release { product, .. } => product,
            Id::Member { id } => id,
            Id::Reading { device, .. } => device,
            Id::Head { .. } | Id::Email { .. } | Id::Note { .. } => return false,
        };
        *owner == self.name
    }

    /// Checks that its rows agree with the answers, with or without the unanswered request, and continues
    /// from there.
    pub(super) fn reconcile(&mut self, all: &Rows) -> Result<(), String> {
        let own = all.iter().filter(|(id, _)| self.is_own(id));
        let found: Rows = own.map(|(id, row)| (id.clone(), without_status(row))).collect();
        let (acknowledged, open) = (self.rows.clone(), self.open.take());
        if found != acknowledged {
            apply(&mut self.rows, open.clone().unwrap_or_default());
        }
        if found == self.rows {
            return Ok(());
        }
        let ids = acknowledged.keys().chain(found.keys());
        let differing: Vec<&Id> = ids.filter(|id| acknowledged.get(id) != found.get(id)).collect();
        let first = differing
            .first()
            .map(|id| (*id, acknowledged.get(id), found.get(id)));
        Err(format!(
            "{}: {} rows differ; the first, as acknowledged and as found: {first:?}; open: {open:?}",
            self.name,
            differing.len()
        ))
    }

    /// Writes until the server is gone.
    pub(super) fn write(&mut self, address: &str, shared: &Shared) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        while self.step(&mut client, shared) {}
    }

    /// One request; returns whether the server is still there.
    fn step(&mut self, client: &mut Client, shared: &Shared) -> bool {
        self.tick += 1;
        // Held until the answer arrives.
        let knowledge = shared.knowledge.read().unwrap();
        let (address, is_sure) = Address::random(&mut self.random, &knowledge);
        match self.random.u8(0..100) {
            0..15 => return self.count(client, shared, &knowledge),
            15..20 => return self.take_what_is_taken(client, address, is_sure),
            20..35 => return self.read_own(client, address, is_sure),
            _ => {}
        }
        let (operation, body, changes) = self.next(address);
        self.open = Some(changes);
        match send(client, operation, &body) {
            Outcome::Gone => return false,
            Outcome::Done => {
                let changes = self.open.take().unwrap_or_default();
                apply(&mut self.rows, changes);
            }
            Outcome::Refused(answer) => {
                assert!(
                    !is_sure,
                    "{operation} of {body} was refused: {}; {knowledge:?}",
                    answer.body
                );
                self.open = None;
            }
        }
        true
    }

    fn next(&mut self, address: Address) -> (&'static str, Value, Changes) {
        let parcel = Id::parcel(
            self.random.choice(stayers::DEPOTS).unwrap(),
            &self.name,
            self.random.u64(0..PARCELS),
        );
        match self.random.u8(0..100) {
            0..25 if self.rows.contains_key(&parcel) => self.update(parcel, address),
            25..40 if self.rows.contains_key(&parcel) => self.delete(parcel, address),
            0..50 => self.put(parcel, address),
            50..70 => self.release(address),
            70..80 => self.member(address),
            80..90 => {
                let seq = self.random.u64(0..8) + 100_000 * self.random.u64(0..2);
                self.put(Id::reading(&self.name, seq), address)
            }
            _ => self.transaction(parcel, address),
        }
    }

    /// A row's content: never the same twice.
    fn content(&mut self, id: &Id) -> Value {
        let mut content = id.attributes();
        let more = match id {
            Id::Parcel { .. } => {
                let state = *self.random.choice(&["open", "sent"]).unwrap();
                json!({"n": n(self.tick), "state": {"S": state}})
            }
            Id::Release { .. } => json!({"arn": {"S": format!("arn:{}", self.tick)}}),
            Id::Member { id } => {
                json!({"n": n(self.tick), "email": {"S": format!("{id}-{}@Example.org", self.random.u8(0..4))}})
            }
            _ => json!({"n": n(self.tick)}),
        };
        merge(&mut content, more);
        content
    }

    fn put(&mut self, id: Id, address: Address) -> (&'static str, Value, Changes) {
        let content = self.content(&id);
        let body = json!({"TableName": TABLE, "Item": address.item(&content)});
        ("PutItem", body, vec![(id, Some(content))])
    }

    /// Only if the row is as this writer left it.
    fn update(&mut self, id: Id, address: Address) -> (&'static str, Value, Changes) {
        let (body, new) = self.change(&id, address);
        ("UpdateItem", body, vec![(id, Some(new))])
    }

    /// An update of a parcel, and the resulting row.
    fn change(&mut self, id: &Id, address: Address) -> (Value, Value) {
        let new = self.content(id);
        let body = json!({
            "TableName": TABLE, "Key": address.of(id),
            "UpdateExpression": "SET n = :n, #s = :s", "ConditionExpression": "n = :old",
            "ExpressionAttributeNames": {"#s": "state"},
            "ExpressionAttributeValues": {":n": new["n"], ":s": new["state"], ":old": self.rows[id]["n"]},
        });
        (body, new)
    }

    fn delete(&self, id: Id, address: Address) -> (&'static str, Value, Changes) {
        let body = json!({
            "TableName": TABLE, "Key": address.of(&id), "ConditionExpression": "attribute_exists(pk)",
        });
        ("DeleteItem", body, vec![(id, None)])
    }

    /// A new release, which becomes the head; or the removal of the newest one, and the head goes back.
    fn release(&mut self, address: Address) -> (&'static str, Value, Changes) {
        let region = *self.random.choice(stayers::REGIONS).unwrap();
        let in_region = |id: &&Id| matches!(id, Id::Release { region: own, .. } if own == region);
        let newest = self.rows.keys().rfind(in_region).cloned();
        let next = match &newest {
            Some(Id::Release { version, .. }) => version + 1,
            _ => 1,
        };
        match newest {
            Some(newest) if next > RELEASES || self.random.u8(0..3) == 0 => self.delete(newest, address),
            _ => self.put(Id::release(region, &self.name, next), address),
        }
    }

    fn member(&mut self, address: Address) -> (&'static str, Value, Changes) {
        let id = Id::member(&self.name);
        match self.rows.contains_key(&id) && self.random.bool() {
            true => self.delete(id, address),
            false => self.put(id, address),
        }
    }

    /// Up to three rows at once.
    fn transaction(&mut self, parcel: Id, address: Address) -> (&'static str, Value, Changes) {
        let reading = Id::reading(&self.name, self.random.u64(0..8));
        let content = self.content(&reading);
        let mut actions = vec![json!({"Put": {"TableName": TABLE, "Item": address.item(&content)}})];
        let mut changes = vec![(reading, Some(content))];
        if self.rows.contains_key(&parcel) {
            let (body, new) = self.change(&parcel, address);
            actions.push(json!({"Update": body}));
            changes.push((parcel.clone(), Some(new)));
        }
        let mut others = self
            .rows
            .keys()
            .filter(|id| matches!(id, Id::Parcel { .. }) && **id != parcel);
        if let Some(other) = others.next().cloned() {
            let (_, body, deleted) = self.delete(other, address);
            actions.push(json!({"Delete": body}));
            changes.extend(deleted);
        }
        ("TransactWriteItems", json!({"TransactItems": actions}), changes)
    }

    /// Raises a counter that all others raise, too: unconditionally, or only if it is as it was read.
    fn count(&mut self, client: &mut Client, shared: &Shared, knowledge: &Knowledge) -> bool {
        let at = self.random.u64(0..COUNTERS);
        let (id, counter) = (Id::parcel("d1", COUNTED, at), &shared.counters[at as usize]);
        let surely = |random: &mut fastrand::Rng| loop {
            if let (address, true) = Address::random(random, knowledge) {
                return address;
            }
        };
        let mut body = json!({
            "TableName": TABLE, "Key": surely(&mut self.random).of(&id),
            "UpdateExpression": "SET n = n + :one", "ConditionExpression": "attribute_exists(n)",
            "ExpressionAttributeValues": {":one": n(1)},
        });
        let is_conditional = self.random.bool();
        if is_conditional {
            let floor = counter.surely.load(Ordering::SeqCst);
            let Some(row) = get(client, &surely(&mut self.random).of(&id)) else {
                return false;
            };
            let seen = number(&row.unwrap_or_else(|| panic!("{id:?} is not there")), "n");
            assert!(seen >= floor, "{id:?} was {floor}, and is {seen}");
            body["ConditionExpression"] = json!("n = :seen");
            body["ExpressionAttributeValues"][":seen"] = n(seen);
        }
        match send(client, "UpdateItem", &body) {
            Outcome::Gone => {
                counter.perhaps.fetch_add(1, Ordering::SeqCst);
                return false;
            }
            Outcome::Done => {
                counter.surely.fetch_add(1, Ordering::SeqCst);
            }
            Outcome::Refused(answer) => assert!(
                is_conditional && answer.error() == "ConditionalCheckFailedException",
                "{body}: {}",
                answer.body
            ),
        }
        true
    }

    /// An address that another customer has is refused, wherever the rows that record it are.
    fn take_what_is_taken(&mut self, client: &mut Client, address: Address, is_sure: bool) -> bool {
        let mut content = self.content(&Id::member(&self.name));
        content["email"] = json!({"S": stayers::email(self.random.u64(0..stayers::MEMBERS))});
        let body = json!({"TableName": TABLE, "Item": address.item(&content)});
        match send(client, "PutItem", &body) {
            Outcome::Gone => false,
            Outcome::Done => panic!("two members have one address: {body}"),
            Outcome::Refused(answer) => {
                let is_told = answer.message().contains("is taken by");
                assert!(is_told || !is_sure, "{body}: {}", answer.body);
                true
            }
        }
    }

    /// Everything acknowledged exists, and deleted rows do not.
    fn read_own(&mut self, client: &mut Client, address: Address, is_sure: bool) -> bool {
        let id = match self.rows.keys().nth(self.random.usize(0..40)) {
            Some(id) => id.clone(),
            None => Id::parcel("d1", &self.name, self.random.u64(0..PARCELS)),
        };
        let Some(found) = get(client, &address.of(&id)) else {
            return false;
        };
        let found = found.as_ref().map(|row| without_status(&content(row)));
        assert!(
            found.as_ref() == self.rows.get(&id) || !is_sure,
            "{id:?} by {address:?}: {found:?}, should be {:?}",
            self.rows.get(&id)
        );
        true
    }
}

fn send(client: &mut Client, operation: &str, body: &Value) -> Outcome {
    match client.call(operation, body) {
        Err(_) => Outcome::Gone,
        Ok(answer) if answer.status == 200 => Outcome::Done,
        Ok(answer) => {
            assert_eq!(answer.status, 400, "{operation} of {body}: {}", answer.body);
            Outcome::Refused(answer)
        }
    }
}

/// A row, or `Some(None)` if there is none under this key; `None` if the server is gone.
pub(super) fn get(client: &mut Client, key: &Value) -> Option<Option<Value>> {
    let body = json!({"TableName": TABLE, "Key": key, "ConsistentRead": true});
    let mut answer = client.call("GetItem", &body).ok()?;
    assert!(
        [200, 400].contains(&answer.status),
        "GetItem of {key}: {}",
        answer.body
    );
    let row = answer.body["Item"].take();
    Some((!row.is_null()).then_some(row))
}

/// The database decides.
fn without_status(content: &Value) -> Value {
    let mut content = content.clone();
    if text(&content, "kind") == "release" {
        content.as_object_mut().unwrap().remove("status");
    }
    content
}

fn apply(rows: &mut Rows, changes: Changes) {
    for (id, row) in changes {
        match row {
            Some(row) => rows.insert(id, row),
            None => rows.remove(&id),
        };
    }
}
