//! Which tables, indexes and streams exist. Readers share an immutable snapshot; only the committer makes a
//! new one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trestle_api as api;
use trestle_api::{Error, table_name};
use trestle_env::Timestamp;
use trestle_hook::{Former, Hook};
use trestle_item::{AttributeValue, Item};

use crate::former::{Swept, Windows};
use crate::image::Image;
use crate::layout::{IndexId, ItemKey, StreamId, TableId};
use crate::pause_writes::WritePause;
use crate::schema::{KeySchema, empty_kind};
use crate::shards::{Child, Written};

/// All tables and streams at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tables: BTreeMap<String, Arc<Table>>,
    pub(crate) streams: BTreeMap<StreamId, Arc<Stream>>,
    /// The hook, if one is installed. Not stored: it is installed after every opening.
    pub(crate) hook: Option<Arc<dyn Hook>>,
}

impl Catalog {
    /// The hook, if it covers the table.
    pub(crate) fn hook_of(&self, table: &str) -> Option<Arc<dyn Hook>> {
        self.hook.as_ref().filter(|hook| hook.covers(table)).cloned()
    }

    /// Whether the hook is the same as in another catalog.
    pub(crate) fn has_hook_of(&self, other: &Self) -> bool {
        match (&self.hook, &other.hook) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        }
    }

    /// Links every table to `hook`, or to none.
    pub(crate) fn install(&mut self, hook: Option<Arc<dyn Hook>>) {
        self.hook = hook;
        let links: Vec<_> = self.tables.keys().map(|name| self.hook_of(name)).collect();
        for (table, hook) in self.tables.values_mut().zip(links) {
            if table.hook.is_some() || hook.is_some() {
                Arc::make_mut(table).link(hook);
            }
        }
    }

    /// The table that a request names by name or ARN, whatever its status.
    pub(crate) fn find(&self, name_or_arn: &str) -> Option<&Arc<Table>> {
        self.tables.get(table_name(name_or_arn))
    }

    /// The table for a data operation: it must exist, and its creation must be finished.
    pub(crate) fn table(&self, name_or_arn: &str, now: Timestamp) -> Result<&Arc<Table>, Error> {
        self.find(name_or_arn)
            .filter(|table| table.serves(now))
            .ok_or_else(Error::resource_not_found)
    }

    /// The stream with this ARN.
    pub(crate) fn stream(&self, arn: &str) -> Result<&Arc<Stream>, Error> {
        self.streams
            .values()
            .find(|stream| stream.arn == arn)
            .ok_or_else(|| match check_stream_arn(arn) {
                Ok(()) => Error::stream_not_found(arn),
                Err(malformed) => malformed,
            })
    }

    /// The table with this id.
    pub(crate) fn by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.values().find(|table| table.id == id)
    }
}

/// Refuses what cannot be the ARN of a stream: `arn:aws:dynamodb:<region>:<account>:table/<name>/stream/<label>`.
pub(crate) fn check_stream_arn(arn: &str) -> Result<(), Error> {
    let is_stream = |rest: &str| {
        rest.split_once("/stream/")
            .is_some_and(|(table, label)| !table.is_empty() && !label.is_empty())
    };
    let mut parts = arn.splitn(6, ':');
    let is_arn = parts.next() == Some("arn") && parts.nth(1) == Some("dynamodb");
    let names_stream = parts
        .nth(2)
        .and_then(|resource| resource.strip_prefix("table/"))
        .is_some_and(is_stream);
    if is_arn && names_stream {
        Ok(())
    } else {
        Err(Error::validation("Invalid StreamArn"))
    }
}

/// One table, as stored. Fields of `api` types are kept as the client gave them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) id: TableId,
    pub(crate) name: String,
    pub(crate) arn: String,
    pub(crate) uuid: String,
    pub(crate) created: Timestamp,
    pub(crate) key: KeySchema,
    pub(crate) attribute_definitions: Vec<api::AttributeDefinition>,
    pub(crate) indexes: Vec<Arc<Index>>,
    pub(crate) billing_mode: api::BillingMode,
    /// When the table became on-demand, if it ever did.
    pub(crate) on_demand_since: Option<Timestamp>,
    pub(crate) throughput: Throughput,
    pub(crate) on_demand_throughput: Option<api::OnDemandThroughput>,
    pub(crate) warm_throughput: Option<api::WarmThroughput>,
    pub(crate) table_class: Option<api::TableClass>,
    pub(crate) sse: Option<api::SSESpecification>,
    pub(crate) deletion_protection: bool,
    /// The newest stream, enabled or not.
    pub(crate) stream: Option<StreamId>,
    pub(crate) ttl: Option<Ttl>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) resource_policy: Option<String>,
    /// Set while the rows are read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pause: Option<WritePause>,
    pub(crate) state: State,
    /// The hook for the table's rows. Resolved here, so that tables without a hook cost nothing.
    #[serde(skip)]
    pub(crate) hook: Option<Arc<dyn Hook>>,
    /// The former places of its rows, during a migration.
    #[serde(skip)]
    pub(crate) former: Option<Arc<dyn Former>>,
    /// The former places found so far, in the order of the rows' own places.
    #[serde(skip)]
    pub(crate) windows: Arc<Windows>,
    /// The part of the table that the sweep has finished.
    #[serde(skip)]
    pub(crate) swept: Arc<Swept>,
    #[serde(skip)]
    pub(crate) stats: Arc<Stats>,
}

/// The state of a table or index. A transient state ends at its time without an event, so that no timer is
/// needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Being made until the given time.
    Creating(Timestamp),
    /// Changing until the given time; data is served.
    Updating(Timestamp),
    /// In service.
    Active,
    /// Being removed; gone at the given time.
    Deleting(Timestamp),
}

impl State {
    /// In creation for `delay`. Without a delay it is active at once: a stored time would take effect again
    /// if the directory were opened under an earlier clock.
    pub(crate) fn creating(now: Timestamp, delay: Duration) -> Self {
        if delay.is_zero() {
            Self::Active
        } else {
            Self::Creating(now.plus(delay))
        }
    }

    /// Changing for as long as `delay`.
    pub(crate) fn updating(now: Timestamp, delay: Duration) -> Self {
        if delay.is_zero() {
            Self::Active
        } else {
            Self::Updating(now.plus(delay))
        }
    }

    /// The state as of `now`.
    pub(crate) fn at(self, now: Timestamp) -> Self {
        match self {
            Self::Creating(until) | Self::Updating(until) if until <= now => Self::Active,
            other => other,
        }
    }
}

/// Provisioned throughput and its history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Throughput {
    pub(crate) read: i64,
    pub(crate) write: i64,
    pub(crate) increased: Option<Timestamp>,
    pub(crate) decreased: Option<Timestamp>,
    pub(crate) decreases_today: i64,
}

/// Time to live, when it has been set on a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ttl {
    pub(crate) attribute: String,
    /// Rows that are older than the setting still need their expiry entries: the next item key to process, if
    /// the backfill is not finished.
    pub(crate) backfill_from: Option<Vec<u8>>,
}

impl Table {
    /// Sets or removes the hook for the table's rows.
    pub(crate) fn link(&mut self, hook: Option<Arc<dyn Hook>>) {
        self.former = hook.as_ref().and_then(|hook| hook.former(&self.name));
        self.windows = Arc::default();
        let swept = self.former.as_ref().and_then(|former| former.swept());
        self.swept = Arc::new(Swept::up_to(swept.as_deref()));
        self.hook = hook;
    }

    /// Whether data operations may use the table.
    pub(crate) fn serves(&self, now: Timestamp) -> bool {
        matches!(self.state.at(now), State::Active | State::Updating(_))
    }

    /// The key of the item that a `Key` parameter gives.
    pub(crate) fn item_key(&self, given: &Item) -> Result<ItemKey, Error> {
        match &self.hook {
            None => self.key.item_key(given),
            Some(hook) => self.key.item_key(&hook.key(&self.name, given)?),
        }
    }

    /// The index called `name`.
    pub(crate) fn index(&self, name: &str) -> Option<&Arc<Index>> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// Global indexes, in the order of their creation.
    pub(crate) fn global(&self) -> impl Iterator<Item = &Arc<Index>> {
        self.indexes.iter().filter(|index| index.scope == Scope::Global)
    }

    /// Local indexes, in the order of their creation.
    pub(crate) fn local(&self) -> impl Iterator<Item = &Arc<Index>> {
        self.indexes.iter().filter(|index| index.scope == Scope::Local)
    }

    /// `string` or `binary`, if a key attribute of a secondary index is empty.
    pub(crate) fn empty_index_key(&self, item: &Item) -> Option<&'static str> {
        let mut keys = self.indexes.iter().flat_map(|index| index.key.attributes());
        keys.find_map(|part| {
            item.get(&part.name)
                .filter(|v| v.scalar_type() == Some(part.kind))
                .and_then(empty_kind)
        })
    }

    /// Checks the attributes of `item` that are keys of secondary indexes.
    pub(crate) fn check_index_keys(&self, item: &Item) -> Result<(), Error> {
        self.indexes
            .iter()
            .try_for_each(|index| index.key.check_index_key(&index.name, item))
    }
}

/// Whether an index shares its table's partition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Scope {
    /// Same partition key, another sort key; strongly consistent.
    Local,
    /// Keys of its own.
    Global,
}

/// One secondary index, as stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    pub(crate) id: IndexId,
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) key: KeySchema,
    pub(crate) projection: api::Projection,
    pub(crate) throughput: Throughput,
    pub(crate) on_demand_throughput: Option<api::OnDemandThroughput>,
    pub(crate) warm_throughput: Option<api::WarmThroughput>,
    pub(crate) state: State,
    /// The next item key to index, while rows older than the index are being added.
    pub(crate) backfill_from: Option<Vec<u8>>,
    #[serde(skip)]
    pub(crate) stats: Arc<Stats>,
}

impl Index {
    /// Whether queries may use the index.
    pub(crate) fn serves(&self, now: Timestamp) -> bool {
        self.backfill_from.is_none() && matches!(self.state.at(now), State::Active | State::Updating(_))
    }

    /// The projection of `item` into the index.
    pub(crate) fn project(&self, table: &Table, item: &Item) -> Item {
        match self.projection.projection_type {
            Some(api::ProjectionType::KeysOnly) => {
                let mut out = table.key.key_of(item);
                self.key.copy_key(item, &mut out);
                out
            }
            Some(api::ProjectionType::Include) => {
                let mut out = table.key.key_of(item);
                self.key.copy_key(item, &mut out);
                for name in self.projection.non_key_attributes.iter().flatten() {
                    if let Some(value) = item.get(name) {
                        out.insert(name.clone(), value.clone());
                    }
                }
                out
            }
            Some(api::ProjectionType::All) | None => item.clone(),
        }
    }

    /// The attributes of `item` that the index keeps, in order of name.
    pub(crate) fn kept<'i>(
        &self,
        table: &Table,
        item: &'i Item,
    ) -> impl Iterator<Item = (&'i String, &'i AttributeValue)> {
        item.iter().filter(|(name, _)| self.projects(table, name))
    }

    /// Whether the projections of both items are equal.
    pub(crate) fn keeps_alike(&self, table: &Table, one: &Image, other: &Image) -> bool {
        if self.projects_all() {
            return one == other;
        }
        let keys = table.key.attributes().chain(self.key.attributes());
        let others = self.projection.non_key_attributes.iter().flatten();
        let mut names = keys.map(|part| &part.name).chain(others);
        names.all(|name| one.get(name) == other.get(name))
    }

    /// Whether the index keeps whole items.
    pub(crate) fn projects_all(&self) -> bool {
        !matches!(
            self.projection.projection_type,
            Some(api::ProjectionType::KeysOnly | api::ProjectionType::Include)
        )
    }

    /// Whether the index keeps the attribute `name`.
    pub(crate) fn projects(&self, table: &Table, name: &str) -> bool {
        self.projects_all()
            || table.key.contains(name)
            || self.key.contains(name)
            || self
                .projection
                .non_key_attributes
                .iter()
                .flatten()
                .any(|kept| kept == name)
    }
}

/// Exact counts, updated with every commit.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) items: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Stats {
    /// Counts as they were stored.
    pub(crate) fn restored(items: u64, bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            items: AtomicU64::new(items),
            bytes: AtomicU64::new(bytes),
        })
    }

    /// Adds a change to the counts.
    pub(crate) fn add(&self, items: i64, bytes: i64) {
        self.items.fetch_add(items.cast_unsigned(), Ordering::Relaxed);
        self.bytes.fetch_add(bytes.cast_unsigned(), Ordering::Relaxed);
    }

    /// Items and bytes.
    pub(crate) fn read(&self) -> (u64, u64) {
        (
            self.items.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        )
    }
}

/// The stream of a table from when it is enabled until it is disabled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) table: TableId,
    pub(crate) table_name: String,
    pub(crate) arn: String,
    pub(crate) label: String,
    pub(crate) view: api::StreamViewType,
    pub(crate) key: KeySchema,
    /// How many shards it began with.
    pub(crate) shards: u16,
    pub(crate) created: Timestamp,
    /// The sequence number of the commit that enabled it: its shards begin after it.
    pub(crate) first_sequence: u64,
    /// When it was disabled, and the last sequence number its shards can hold.
    pub(crate) closed: Option<(Timestamp, u64)>,
    /// The shards that were created by splits, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) children: Vec<Child>,
    /// The last sequence number that was trimmed from each shard, in the order of their numbers; 0 while none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) trimmed: Vec<u64>,
    #[serde(skip)]
    pub(crate) written: Written,
}

impl Stream {
    /// Whether changes are still recorded.
    pub(crate) fn is_enabled(&self) -> bool {
        self.closed.is_none()
    }
}
