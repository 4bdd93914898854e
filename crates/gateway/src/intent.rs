//! Writes of modelled rows at an endpoint without transactions.
//!
//! 1. An intent row is put, to which the following locks belong.
//! 2. Every row that will be written, or that was read, is locked by a row of `_trestle.locks`. If another
//!    write has locked one, all locks are released, and the write starts again.
//! 3. The rows are read again. If one has changed, all locks are released, and the write starts again.
//! 4. The plan is stored in the intent. From now on, the write will be completed in any case.
//! 5. Rows are written: new and changed rows first, then removed ones.
//! 6. The locks are removed, then the intent.
//!
//! *Invariants*: while a row is locked by an intent, no gateway changes it for another write. So every step
//! can be repeated. An intent whose gateway has ended is finished from its plan, or dropped if it has none,
//! by a gateway that finds its locks or by the keeper of any gateway. That gateway first takes the intent
//! over, and executes its steps one by one: a step by a second gateway could arrive late, after the locks are
//! removed, and undo a later write. An expired gateway no longer writes, because its lease has passed before
//! (`fleet.rs`). Clients that read rows see some rows of a write before the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};
use trestle_api::{
    DatabaseExt, DeleteItem, Error, ErrorKind, GetItem, PutItem, Scan, TransactWriteItem, UpdateItem,
};
use trestle_env::ids;
use trestle_item::{AttributeValue, Item, Map, codec, size};

use crate::commit::{Commit, Sent};
use crate::documents::alone;
use crate::endpoint::Endpoint;
use crate::moment::ImageName;
use crate::own_table::OwnTable;
use crate::part::{Becomes, Part};
use crate::table_shape::RowId;
use crate::transactions::{has_transactions, refusal};

/// The intents of writes under way.
const INTENTS: OwnTable = OwnTable {
    name: "_trestle.intents",
    key: INTENT,
    range: None,
    ttl: None,
};
/// The locks of their rows.
const LOCKS: OwnTable = OwnTable {
    name: "_trestle.locks",
    key: ROW,
    range: None,
    ttl: None,
};
const INTENT: &str = "intent";
const GATEWAY: &str = "gateway";
const ROWS: &str = "rows";
const PLAN: &str = "plan";
const UNDONE: &str = "undone";
const ROW: &str = "row";
/// The largest plan: an item has at most 400 KB.
pub(crate) const PLAN_BYTES_MAX: usize = 380_000;

/// A write under way.
#[derive(Clone, Debug)]
struct Intent {
    id: String,
    /// The gateway that executes or finishes it.
    gateway: String,
    /// The locks.
    rows: Vec<String>,
    /// The rows to be written, once the write is decided.
    plan: Option<Vec<Part>>,
}

/// A lock that another write holds.
#[derive(Debug)]
struct HeldLock {
    row: String,
    intent: String,
}

fn lock_name(table: &str, key: &Item) -> String {
    let name = ImageName::of(table, key);
    format!("{}/{:032x}", name.table, name.digest)
}

impl Intent {
    fn key(id: &str) -> Item {
        Item::from([(INTENT, id)])
    }

    fn to_item(&self) -> Item {
        let mut item = Self::key(&self.id);
        item.insert(GATEWAY, self.gateway.as_str());
        let rows = self.rows.iter().map(|row| AttributeValue::S(row.clone()));
        item.insert(ROWS, AttributeValue::L(rows.collect()));
        item
    }

    fn from_item(item: &Item) -> Option<Self> {
        let text = |name: &str| item.get(name).and_then(AttributeValue::as_s).map(str::to_owned);
        let Some(AttributeValue::L(rows)) = item.get(ROWS) else {
            return None;
        };
        let rows: Option<Vec<String>> = rows.iter().map(|row| row.as_s().map(str::to_owned)).collect();
        let plan = match item.get(PLAN) {
            Some(AttributeValue::L(parts)) => {
                Some(parts.iter().map(part_from).collect::<Option<Vec<Part>>>()?)
            }
            Some(_) => return None,
            None => None,
        };
        Some(Intent {
            id: text(INTENT)?,
            gateway: text(GATEWAY)?,
            rows: rows?,
            plan,
        })
    }
}

/// The stored form of a part in a plan.
fn part_to(part: &Part) -> AttributeValue {
    let bytes = |item: &Item| AttributeValue::B(codec::encode(item));
    let mut stored = Item::from([("table", part.table.as_str()), ("hash", part.hash.as_str())]);
    stored.insert("key", bytes(&part.key));
    if let Some(old) = &part.old {
        stored.insert("old", bytes(old));
    }
    let uses = part.uses.iter().map(|name| AttributeValue::S(name.clone()));
    stored.insert("uses", AttributeValue::L(uses.collect()));
    match &part.becomes {
        Becomes::Unchanged | Becomes::Removed => {}
        Becomes::Replaced(new) => {
            stored.insert("replaced", bytes(new));
        }
        Becomes::Changed(new) => {
            stored.insert("changed", bytes(new));
        }
    }
    AttributeValue::M(stored)
}

/// Parses a stored part. Parts without a change are not stored; a part without a new row removes the row.
fn part_from(stored: &AttributeValue) -> Option<Part> {
    let AttributeValue::M(stored) = stored else {
        return None;
    };
    let text = |name: &str| stored.get(name).and_then(AttributeValue::as_s).map(str::to_owned);
    let item = |name: &str| stored.get(name).and_then(AttributeValue::as_b).map(codec::decode);
    let item = |name: &str| item(name).transpose().ok();
    let Some(AttributeValue::L(uses)) = stored.get("uses") else {
        return None;
    };
    let uses: Option<BTreeSet<String>> = uses.iter().map(|name| name.as_s().map(str::to_owned)).collect();
    let becomes = match (item("replaced")?, item("changed")?) {
        (Some(new), _) => Becomes::Replaced(Arc::new(new)),
        (None, Some(new)) => Becomes::Changed(Arc::new(new)),
        (None, None) => Becomes::Removed,
    };
    Some(Part {
        table: text("table")?,
        key: item("key")??,
        hash: text("hash")?,
        old: item("old")?.map(Arc::new),
        becomes,
        uses: uses?,
        position: None,
    })
}

/// An intent of this gateway. If it is dropped without being finished, the keeper finishes or drops the
/// intent.
struct Unfinished<'e> {
    endpoint: &'e Endpoint,
    intent: Option<String>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.endpoint.abandoned.lock().extend(self.intent.take());
    }
}

impl Endpoint {
    /// Whether the endpoint supports transactions; probed once.
    pub(crate) async fn has_transactions(&self) -> Result<bool, Error> {
        let asked = self.transactions.get_or_try_init(|| async {
            let has_transactions = has_transactions(&*self.database).await?;
            if !has_transactions {
                INTENTS.ensure(&*self.database).await?;
                LOCKS.ensure(&*self.database).await?;
            }
            Ok(has_transactions)
        });
        asked.await.copied()
    }

    /// Executes a write without a transaction.
    pub(crate) async fn send_by_intent(&self, commit: Commit) -> Result<Sent, Error> {
        if commit.items.is_some() {
            return Err(refusal(
                "a gateway refuses transactions of clients there",
                "write each item with a separate request",
            ));
        }
        let intent = Intent {
            id: ids::uuid(),
            gateway: self.member.id.clone(),
            rows: commit
                .parts
                .iter()
                .map(|part| lock_name(&part.table, &part.key))
                .collect(),
            plan: None,
        };
        let put = PutItem {
            table_name: INTENTS.name.to_owned(),
            item: intent.to_item(),
            ..PutItem::default()
        };
        // The future may be dropped at any point when a client disconnects.
        let mut unfinished = Unfinished {
            endpoint: self,
            intent: Some(intent.id.clone()),
        };
        self.database.put_item(put).await?;
        let made = self.carry_out(&intent, commit).await;
        if !matches!(made, Ok(Sent::Done(_))) {
            // It is unknown whether it was decided, or it must be dropped.
            if let Err(error) = self.finish_intent(&intent.id).await {
                tracing::warn!("a failed write will be completed or dropped later: {error}");
                return made;
            }
        }
        unfinished.intent = None;
        made
    }

    async fn carry_out(&self, intent: &Intent, commit: Commit) -> Result<Sent, Error> {
        let held = self.lock(intent).await?;
        if !held.is_empty() {
            for held in held.into_iter().flatten() {
                self.meet(held).await?;
            }
            return Ok(Sent::Overtaken(Vec::new()));
        }
        if !self.all_hold(&commit.parts).await? {
            return Ok(Sent::Overtaken(Vec::new()));
        }
        if !self.own_items_hold(commit.own).await? {
            return Ok(Sent::Overtaken(Vec::new()));
        }
        let mut written: Vec<Part> = commit.parts.into_iter().filter(Part::writes).collect();
        written.sort_by_key(|part| matches!(part.becomes, Becomes::Removed));
        if !self.decide(intent, &written).await? {
            return Ok(Sent::Overtaken(Vec::new()));
        }
        for part in written {
            self.apply(part).await?;
        }
        self.let_go(intent).await?;
        Ok(Sent::Done(Vec::new()))
    }

    /// Locks all rows of an intent. Returns the locks of other writes that still exist.
    async fn lock(&self, intent: &Intent) -> Result<Vec<Option<HeldLock>>, Error> {
        let locked = intent.rows.iter().map(|row| async move {
            let put = PutItem {
                table_name: LOCKS.name.to_owned(),
                item: Item::from([(ROW, row.as_str()), (INTENT, intent.id.as_str())]),
                condition_expression: Some("attribute_not_exists(#r)".to_owned()),
                expression_attribute_names: Some([("#r".to_owned(), ROW.to_owned())].into()),
                ..PutItem::default()
            };
            match self.database.put_item(put).await {
                Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => {
                    self.holder(row).await.map(Some)
                }
                answer => answer.map(|_| None),
            }
        });
        let locked = try_join_all(locked).await?;
        Ok(locked.into_iter().flatten().collect())
    }

    /// The lock on a row; `None` if it has been removed.
    async fn holder(&self, row: &str) -> Result<Option<HeldLock>, Error> {
        let asked = GetItem {
            table_name: LOCKS.name.to_owned(),
            key: Item::from([(ROW, row)]),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let Some(found) = self.database.get_item(asked).await?.item else {
            return Ok(None);
        };
        let intent = found.get(INTENT).and_then(AttributeValue::as_s);
        let intent = intent.ok_or_else(|| unreadable(&found))?.to_owned();
        let row = row.to_owned();
        Ok(Some(HeldLock { row, intent }))
    }

    /// Whether a row is locked by a write under way.
    pub(crate) async fn is_locked(&self, table: &str, key: &Item) -> Result<bool, Error> {
        Ok(self.holder(&lock_name(table, key)).await?.is_some())
    }

    /// Handles a lock of another write: if its intent does not exist, the lock is removed; if its gateway has
    /// expired, the intent is finished.
    async fn meet(&self, held: HeldLock) -> Result<(), Error> {
        match self.intent(&held.intent).await? {
            None => self.unlock(&held.row, &held.intent).await,
            Some(intent) if self.is_over(&intent.gateway).await? => self.take_over(&intent).await,
            Some(_) => Ok(()),
        }
    }

    /// Whether all rows, which are locked, are as they were read.
    async fn all_hold(&self, parts: &[Part]) -> Result<bool, Error> {
        let ids: Vec<(RowId, Item)> = parts
            .iter()
            .map(|part| (RowId::new(&part.table, &part.key), part.key.clone()))
            .collect();
        let lying = self.get_rows(&ids).await?;
        let mut rows = parts.iter().zip(&ids);
        Ok(rows.all(|(part, (id, _))| part.holds(lying.get(id))))
    }

    /// Whether the conditions of the write besides rows hold: that this gateway sweeps, or that its moment is
    /// held.
    async fn own_items_hold(&self, own: Vec<TransactWriteItem>) -> Result<bool, Error> {
        for item in own {
            match self.database.execute(alone(item)?).await {
                Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => return Ok(false),
                answer => answer.map(drop)?,
            }
        }
        Ok(true)
    }

    /// Stores the plan. `false` if another gateway has taken the intent over, or dropped it.
    async fn decide(&self, intent: &Intent, written: &[Part]) -> Result<bool, Error> {
        let plan = AttributeValue::L(written.iter().map(part_to).collect());
        let bytes = size::of_item(&Map::from_iter([(PLAN.to_owned(), plan.clone())]));
        if bytes > PLAN_BYTES_MAX {
            return Err(Error::validation(format!(
                "The write was refused: with everything that follows from it, it has {bytes} bytes, and at an endpoint without \
                 transactions there is room for {PLAN_BYTES_MAX}. Write items on which fewer rows depend, or smaller ones"
            )));
        }
        self.member.check()?;
        let update = UpdateItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(&intent.id),
            update_expression: Some("SET #p = :plan".to_owned()),
            condition_expression: Some("#g = :own AND attribute_not_exists(#u)".to_owned()),
            expression_attribute_names: Some(names([("#p", PLAN), ("#g", GATEWAY), ("#u", UNDONE)])),
            expression_attribute_values: Some(Map::from_iter([
                (":plan".to_owned(), plan),
                (":own".to_owned(), AttributeValue::S(intent.gateway.clone())),
            ])),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Writes a row of a plan. A row that differs from the plan was written by another gateway that finishes
    /// the same plan, or changed without a gateway.
    async fn apply(&self, mut part: Part) -> Result<(), Error> {
        if self.try_apply(part.clone()).await? {
            return Ok(());
        }
        // Some endpoints do not recognise equal maps and lists. The row is locked, and is compared here.
        let id = RowId::new(&part.table, &part.key);
        let lying = self.get_rows(&[(id.clone(), part.key.clone())]).await?;
        if part.holds(lying.get(&id)) {
            part.forget_documents();
            self.try_apply(part).await?;
        }
        Ok(())
    }

    /// `false` if the row differs from the plan, as the endpoint compares them.
    async fn try_apply(&self, part: Part) -> Result<bool, Error> {
        self.member.check()?;
        match self.in_time(part.into_request(None)).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Removes the locks of an intent, then the intent.
    async fn let_go(&self, intent: &Intent) -> Result<(), Error> {
        let unlocked = intent.rows.iter().map(|row| self.unlock(row, &intent.id));
        for unlocked in join_all(unlocked).await {
            unlocked?;
        }
        let delete = DeleteItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(&intent.id),
            ..DeleteItem::default()
        };
        self.database.delete_item(delete).await.map(drop)
    }

    async fn unlock(&self, row: &str, intent: &str) -> Result<(), Error> {
        let delete = DeleteItem {
            table_name: LOCKS.name.to_owned(),
            key: Item::from([(ROW, row)]),
            condition_expression: Some("#i = :intent".to_owned()),
            expression_attribute_names: Some(names([("#i", INTENT)])),
            expression_attribute_values: Some(Map::from_iter([(
                ":intent".to_owned(),
                AttributeValue::S(intent.to_owned()),
            )])),
            ..DeleteItem::default()
        };
        match self.database.delete_item(delete).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn intent(&self, id: &str) -> Result<Option<Intent>, Error> {
        let asked = GetItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(id),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let found = self.database.get_item(asked).await?.item;
        found
            .map(|row| Intent::from_item(&row).ok_or_else(|| unreadable(&row)))
            .transpose()
    }

    async fn own_intent(&self, id: &str) -> Result<Option<Intent>, Error> {
        let intent = self.intent(id).await?;
        Ok(intent.filter(|intent| intent.gateway == self.member.id))
    }

    /// Takes over an intent of another gateway, and finishes it.
    async fn take_over(&self, intent: &Intent) -> Result<(), Error> {
        let mut unfinished = Unfinished {
            endpoint: self,
            intent: Some(intent.id.clone()),
        };
        let _one_at_a_time = self.finishing.lock().await;
        if self.take(intent).await? {
            self.finish_intent(&intent.id).await?;
        }
        unfinished.intent = None;
        Ok(())
    }

    /// `false` if it does not exist any more, or a third gateway has taken it over.
    async fn take(&self, intent: &Intent) -> Result<bool, Error> {
        let name = |name: &String| AttributeValue::S(name.clone());
        let update = UpdateItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(&intent.id),
            update_expression: Some("SET #g = :own".to_owned()),
            condition_expression: Some("#g = :seen".to_owned()),
            expression_attribute_names: Some(names([("#g", GATEWAY)])),
            expression_attribute_values: Some(Map::from_iter([
                (":own".to_owned(), name(&self.member.id)),
                (":seen".to_owned(), name(&intent.gateway)),
            ])),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Finishes an intent of this gateway that has a plan, and drops one without a plan. Does nothing if
    /// another gateway has taken it over.
    async fn finish_intent(&self, id: &str) -> Result<(), Error> {
        let Some(mut intent) = self.own_intent(id).await? else {
            return Ok(());
        };
        if intent.plan.is_none() && !self.undo(id).await? {
            // It was just decided, or does not exist any more.
            match self.own_intent(id).await? {
                Some(decided) => intent = decided,
                None => return Ok(()),
            }
        }
        for part in intent.plan.take().unwrap_or_default() {
            self.apply(part).await?;
        }
        self.let_go(&intent).await
    }

    /// Prevents that an intent is decided. `false` if it already was, or does not exist any more.
    async fn undo(&self, id: &str) -> Result<bool, Error> {
        let update = UpdateItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(id),
            update_expression: Some("SET #u = :true".to_owned()),
            condition_expression: Some("attribute_exists(#i) AND attribute_not_exists(#p)".to_owned()),
            expression_attribute_names: Some(names([("#p", PLAN), ("#i", INTENT), ("#u", UNDONE)])),
            expression_attribute_values: Some(Map::from_iter([(
                ":true".to_owned(),
                AttributeValue::from(true),
            )])),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Finishes the intents that this gateway abandoned, and those of expired gateways.
    pub(crate) async fn sweep_abandoned(&self) -> Result<(), Error> {
        let abandoned = std::mem::take(&mut *self.abandoned.lock());
        for id in abandoned {
            let mut unfinished = Unfinished {
                endpoint: self,
                intent: Some(id.clone()),
            };
            let _one_at_a_time = self.finishing.lock().await;
            match self.finish_intent(&id).await {
                Ok(()) => unfinished.intent = None,
                Err(error) => tracing::warn!("a failed write will be completed or dropped later: {error}"),
            }
        }
        self.finish_intents(false).await
    }

    /// Finishes the intents of expired gateways; or all, when no gateway writes: later writes are under
    /// another version, or in another moment.
    pub(crate) async fn finish_intents(&self, all: bool) -> Result<(), Error> {
        let mut start = None;
        loop {
            let asked = Scan {
                table_name: INTENTS.name.to_owned(),
                consistent_read: Some(true),
                exclusive_start_key: start,
                ..Scan::default()
            };
            let page = self.database.scan(asked).await?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                let intent = Intent::from_item(&row).ok_or_else(|| unreadable(&row))?;
                if all && intent.gateway == self.member.id {
                    let _one_at_a_time = self.finishing.lock().await;
                    self.finish_intent(&intent.id).await?;
                } else if all || self.is_over(&intent.gateway).await? {
                    self.take_over(&intent).await?;
                }
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }
}

fn names<const N: usize>(names: [(&str, &str); N]) -> std::collections::BTreeMap<String, String> {
    names
        .into_iter()
        .map(|(short, name)| (short.to_owned(), name.to_owned()))
        .collect()
}

fn unreadable(row: &Item) -> Error {
    Error::internal(format!(
        "a row of {} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}",
        INTENTS.name
    ))
}
