//! Writes of modelled rows that take more than one request: all of them at an endpoint without transactions, and those that look for rows
//! (`look_again.rs`) at any endpoint. An intent says which steps of a write are still to be executed. At an endpoint with transactions,
//! the intent is part of the transaction that writes the rows, and only the second look is still to be executed.
//!
//! Without transactions:
//!
//! 1. An intent row is put. The locks of the next step belong to it.
//! 2. Every row that is to be written, or that was read, is locked by a row of `_trestle.locks`. If another write has locked one of them,
//!    all locks are released, and the write begins again.
//! 3. The rows are read again. If one differs from its first read, all locks are released, and the write begins again.
//! 4. The plan is stored in the intent. From now on, the write is completed, even if the gateway ends.
//! 5. Rows are written: first those that are inserted or changed, then those that are removed.
//! 6. If rows are to be looked for again, the plan is emptied, because its rows are written.
//! 7. The locks are removed. Rows are looked for again, then the intent is removed.
//!
//! *Invariants*: while a row is locked by an intent, no gateway changes it for another write. So every step
//! can be repeated. An intent whose gateway has ended is finished from its plan, or dropped if it has none,
//! by a gateway that finds its locks or by the keeper of any gateway. That gateway first takes the intent
//! over, and executes its steps one by one: a step by a second gateway could arrive late, after the locks are
//! removed, and undo a later write. An expired gateway no longer writes, because its lease has passed before
//! (`fleet.rs`). Clients that read rows see some rows of a write before the others.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};
use trestle_api::{
    DatabaseExt, DeleteItem, Error, ErrorKind, GetItem, Put, PutItem, TransactWriteItem, UpdateItem,
};
use trestle_env::ids;
use trestle_item::{AttributeValue, Item, Map, codec, size};

use crate::commit::{Commit, Sent, WhyAgain};
use crate::documents::alone;
use crate::endpoint::Endpoint;
use crate::look_again::Look;
use crate::moment::ImageName;
use crate::own_table::OwnTable;
use crate::part::{Becomes, Part};
use crate::table_shape::RowId;
use crate::transactions::{has_transactions, refusal};

/// Writes that are under way.
pub(crate) const INTENTS: OwnTable = OwnTable {
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
pub(crate) const INTENT: &str = "intent";
pub(crate) const GATEWAY: &str = "gateway";
const ROWS: &str = "rows";
pub(crate) const PLAN: &str = "plan";
pub(crate) const UNDONE: &str = "undone";
const LOOKS: &str = "looks";
const ROW: &str = "row";
/// The largest plan: an item has at most 400 KB.
pub(crate) const PLAN_BYTES_MAX: usize = 380_000;

/// A write under way.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    pub(crate) id: String,
    /// The gateway that carries it out, or finishes it.
    pub(crate) gateway: String,
    /// The locks.
    rows: Vec<String>,
    /// The rows to be written, once the write is decided; an empty list once they are written.
    pub(crate) plan: Option<Vec<Part>>,
    /// The looks for rows that are repeated when the rows are written.
    looks: Vec<Look>,
}

/// A gateway's own intents.
#[derive(Debug, Default)]
pub(crate) struct OwnIntents {
    /// Those that it works on.
    pub(crate) under_way: HashSet<String>,
    /// Those that could not be finished or dropped.
    pub(crate) abandoned: Vec<String>,
}

impl OwnIntents {
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.abandoned.is_empty()
    }
}

/// The outcome of a write without a transaction.
enum CarriedOut {
    /// A row has changed since it was read, or is part of another write: begin again.
    Overtaken,
    /// Its rows are written.
    Written,
    /// Another gateway writes the remaining rows, and finishes the write.
    TakenOver,
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
    pub(crate) fn key(id: &str) -> Item {
        Item::from([(INTENT, id)])
    }

    fn to_item(&self) -> Result<Item, Error> {
        let mut item = Self::key(&self.id);
        item.insert(GATEWAY, self.gateway.as_str());
        let rows = self.rows.iter().map(|row| AttributeValue::S(row.clone()));
        item.insert(ROWS, AttributeValue::L(rows.collect()));
        if let Some(plan) = &self.plan {
            item.insert(PLAN, stored(plan));
        }
        if !self.looks.is_empty() {
            item.insert(LOOKS, self.stored_looks()?);
        }
        Ok(item)
    }

    fn stored_looks(&self) -> Result<AttributeValue, Error> {
        let looks: Result<_, Error> = self.looks.iter().map(Look::to_value).collect();
        looks.map(AttributeValue::L)
    }

    /// The intent as a part of the transaction that writes the rows.
    fn part(&self) -> Result<TransactWriteItem, Error> {
        Ok(TransactWriteItem {
            put: Some(Box::new(Put {
                table_name: INTENTS.name.to_owned(),
                item: self.to_item()?,
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        })
    }

    pub(crate) fn from_item(item: &Item) -> Option<Self> {
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
        let looks = match item.get(LOOKS) {
            Some(AttributeValue::L(looks)) => looks
                .iter()
                .map(Look::from_value)
                .collect::<Option<Vec<Look>>>()?,
            Some(_) => return None,
            None => Vec::new(),
        };
        Some(Intent {
            id: text(INTENT)?,
            gateway: text(GATEWAY)?,
            rows: rows?,
            plan,
            looks,
        })
    }
}

fn stored(plan: &[Part]) -> AttributeValue {
    AttributeValue::L(plan.iter().map(part_to).collect())
}

/// A part as it is stored in a plan.
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

/// An intent that this gateway works on. If this is dropped before [`UnderWay::end`], the keeper finishes or drops the intent.
pub(crate) struct UnderWay<'e> {
    endpoint: &'e Endpoint,
    id: String,
    is_ended: bool,
}

impl UnderWay<'_> {
    pub(crate) fn end(mut self) {
        self.is_ended = true;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut own = self.endpoint.own_intents.lock();
        own.under_way.remove(&self.id);
        if !self.is_ended {
            own.abandoned.push(std::mem::take(&mut self.id));
        }
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

    pub(crate) fn begin_intent(&self, id: &str) -> UnderWay<'_> {
        self.own_intents.lock().under_way.insert(id.to_owned());
        UnderWay {
            endpoint: self,
            id: id.to_owned(),
            is_ended: false,
        }
    }

    /// Carries out a write in one transaction, and repeats the looks for rows on which it depends. The intent to look again is part
    /// of the transaction.
    pub(crate) async fn send_and_look(&self, mut commit: Commit) -> Result<Sent, Error> {
        let is_there = self.intents.get_or_try_init(|| INTENTS.ensure(&*self.database));
        is_there.await?;
        let intent = Intent {
            id: ids::uuid(),
            gateway: self.member.id.clone(),
            rows: Vec::new(),
            plan: Some(Vec::new()),
            looks: std::mem::take(&mut commit.looks),
        };
        commit.own.push(intent.part()?);
        // If the client disconnects, this future is dropped at any await.
        let under_way = self.begin_intent(&intent.id);
        let mut sent = self.send_together(commit).await;
        if let Ok(Sent::Done(used)) = &mut sent {
            used.retain(|used| used.table_name.as_deref() != Some(INTENTS.name));
        }
        let looked = match &sent {
            Ok(Sent::Done(_)) => self.look_and_remove(&intent).await,
            // Nothing was written.
            Ok(Sent::Overtaken(_)) => Ok(()),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Validation | ErrorKind::TransactionCanceled
                ) =>
            {
                Ok(())
            }
            // The write may have been carried out.
            Err(_) => self.finish_intent(&intent.id).await,
        };
        match looked {
            Ok(()) => under_way.end(),
            Err(error) => put_off(&error),
        }
        sent
    }

    /// Carries out a write without a transaction.
    pub(crate) async fn send_by_intent(&self, mut commit: Commit) -> Result<Sent, Error> {
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
            looks: std::mem::take(&mut commit.looks),
        };
        let put = PutItem {
            table_name: INTENTS.name.to_owned(),
            item: intent.to_item()?,
            ..PutItem::default()
        };
        // If the client disconnects, this future is dropped at any await.
        let under_way = self.begin_intent(&intent.id);
        self.database.put_item(put).await?;
        let made = self.carry_out(&intent, commit).await;
        let ended = match &made {
            Ok(CarriedOut::Written) => self.look_and_remove(&intent).await,
            Ok(CarriedOut::TakenOver) => Ok(()),
            // It is not known whether the write was decided, or the intent has to be dropped.
            _ => self.finish_intent(&intent.id).await,
        };
        match ended {
            Ok(()) => under_way.end(),
            Err(error) => put_off(&error),
        }
        Ok(match made? {
            CarriedOut::Overtaken => Sent::Overtaken(WhyAgain::default()),
            CarriedOut::Written | CarriedOut::TakenOver => Sent::Done(Vec::new()),
        })
    }

    async fn carry_out(&self, intent: &Intent, commit: Commit) -> Result<CarriedOut, Error> {
        let held = self.lock(intent).await?;
        if !held.is_empty() {
            for held in held.into_iter().flatten() {
                self.meet(held).await?;
            }
            return Ok(CarriedOut::Overtaken);
        }
        if !self.all_hold(&commit.parts).await? {
            return Ok(CarriedOut::Overtaken);
        }
        if !self.own_items_hold(commit.own).await? {
            return Ok(CarriedOut::Overtaken);
        }
        let mut written: Vec<Part> = commit.parts.into_iter().filter(Part::writes).collect();
        written.sort_by_key(|part| matches!(part.becomes, Becomes::Removed));
        if !self.decide(intent, &written).await? {
            return Ok(CarriedOut::Overtaken);
        }
        Ok(match self.write_plan(intent, written).await? {
            true => CarriedOut::Written,
            false => CarriedOut::TakenOver,
        })
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

    /// Whether all rows are unchanged since they were read. They are locked.
    async fn all_hold(&self, parts: &[Part]) -> Result<bool, Error> {
        let ids: Vec<(RowId, Item)> = parts
            .iter()
            .map(|part| (RowId::new(&part.table, &part.key), part.key.clone()))
            .collect();
        let lying = self.get_rows(&ids).await?;
        let mut rows = parts.iter().zip(&ids);
        Ok(rows.all(|(part, (id, _))| part.holds(lying.get(id))))
    }

    /// Whether the conditions of the write that are not about rows hold: that this gateway has the duty to sweep, or that its moment
    /// is held.
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
        let plan = stored(written);
        let mut to_do = Map::from_iter([(PLAN.to_owned(), plan.clone())]);
        if !intent.looks.is_empty() {
            to_do.insert(LOOKS.to_owned(), intent.stored_looks()?);
        }
        let bytes = size::of_item(&to_do);
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

    /// Writes the rows of a plan and removes the locks. `false` if another gateway has taken the intent over.
    pub(crate) async fn write_plan(&self, intent: &Intent, plan: Vec<Part>) -> Result<bool, Error> {
        let has_rows = !plan.is_empty();
        for part in plan {
            self.apply(part).await?;
        }
        // Without the locks, other writes can change the rows, so the plan must not be written again. An intent without looks is
        // removed next, so its plan need not be emptied.
        if has_rows && !intent.looks.is_empty() && !self.empty_plan(intent).await? {
            return Ok(false);
        }
        self.unlock_all(intent).await?;
        Ok(true)
    }

    /// Records that the rows of an intent's plan are written. `false` if another gateway has taken the intent over.
    async fn empty_plan(&self, intent: &Intent) -> Result<bool, Error> {
        let update = UpdateItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(&intent.id),
            update_expression: Some("SET #p = :none".to_owned()),
            condition_expression: Some("#g = :own".to_owned()),
            expression_attribute_names: Some(names([("#p", PLAN), ("#g", GATEWAY)])),
            expression_attribute_values: Some(Map::from_iter([
                (":none".to_owned(), stored(&[])),
                (":own".to_owned(), AttributeValue::S(self.member.id.clone())),
            ])),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    pub(crate) async fn unlock_all(&self, intent: &Intent) -> Result<(), Error> {
        let unlocked = intent.rows.iter().map(|row| self.unlock(row, &intent.id));
        for unlocked in join_all(unlocked).await {
            unlocked?;
        }
        Ok(())
    }

    /// Repeats the looks of a write whose rows are written, and removes its intent.
    pub(crate) async fn look_and_remove(&self, intent: &Intent) -> Result<(), Error> {
        // Without a model, no row is derived from another.
        if let Some(hook) = self.hook() {
            for look in &intent.looks {
                self.look_again(&hook, look).await?;
            }
        }
        self.remove(&intent.id).await
    }

    pub(crate) async fn remove(&self, id: &str) -> Result<(), Error> {
        let delete = DeleteItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(id),
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

    pub(crate) async fn own_intent(&self, id: &str) -> Result<Option<Intent>, Error> {
        let intent = self.intent(id).await?;
        Ok(intent.filter(|intent| intent.gateway == self.member.id))
    }
}

/// An intent could not be finished. The keeper tries again.
pub(crate) fn put_off(error: &Error) {
    tracing::warn!("what a write left to do is done later, or the write is dropped: {error}");
}

pub(crate) fn names<const N: usize>(names: [(&str, &str); N]) -> std::collections::BTreeMap<String, String> {
    names
        .into_iter()
        .map(|(short, name)| (short.to_owned(), name.to_owned()))
        .collect()
}

pub(crate) fn unreadable(row: &Item) -> Error {
    Error::internal(format!(
        "a row of {} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}",
        INTENTS.name
    ))
}
