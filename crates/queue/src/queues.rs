//! All queues of a database, and how they are created, changed and removed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::sync::OnceCell;
use trestle_api::Database;
use trestle_env::{Clock, Timestamp, ids};

use crate::attributes::{self, Meaning, POLICY, QueueAttributes};
use crate::definition::{Definition, Queue, State};
use crate::error::{ErrorCode, QueueError};
use crate::finish::{finish, in_background};
use crate::index::Counts;
use crate::moves::Moves;
use crate::name::{self, Settings};
use crate::permission;
use crate::rows;
use crate::storage::{self, Storage};

/// How long after a purge the next one is refused.
const PURGE_PAUSE: Duration = Duration::from_secs(60);
/// The most tags a queue can have.
const TAGS_MAX: usize = 50;
const TAG_KEY_LENGTH: &str = "Tag keys must be between 1 and 128 characters in length.";
/// Rows that are deleted at a time.
const SWEEP_ROWS: u32 = 100;

/// The queues of a database. A clone is cheap and another handle to the same ones.
///
/// Which messages are ready is kept in memory, so a database's queues must be used through one `Queues` only
/// (and its clones). Acknowledged calls are durable: a sent message exists after a crash, a deleted one does
/// not. After a crash, a received message may become visible before its visibility timeout has passed.
///
/// Methods must be awaited inside a Tokio runtime with timers.
#[derive(Clone)]
pub struct Queues {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) storage: Storage,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) moves: Moves,
    queues: RwLock<BTreeMap<String, Arc<Queue>>>,
    loaded: OnceCell<()>,
    prepared: OnceCell<()>,
    /// Held while a definition changes.
    changing: tokio::sync::Mutex<()>,
    closed: AtomicBool,
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queues").finish_non_exhaustive()
    }
}

impl Queues {
    /// The queues of a database. Nothing is read before the first call.
    pub fn new(database: Arc<dyn Database>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        Self {
            inner: Arc::new(Inner {
                storage: Storage::new(database),
                clock,
                settings,
                moves: Moves::default(),
                queues: RwLock::default(),
                loaded: OnceCell::new(),
                prepared: OnceCell::new(),
                changing: tokio::sync::Mutex::new(()),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// Region and account.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Ends all waiting for messages: receivers get the present ones. For the end of a program.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        for queue in self.inner.queues.read().values() {
            queue.state().lot.arrivals.notify_waiters();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// Creates a queue. One with this name and these attributes may exist.
    pub async fn create(
        &self,
        name: &str,
        attributes: &QueueAttributes,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), QueueError> {
        name::check(name)?;
        let meaning = Meaning::of(attributes)?;
        name::check_kind(name, meaning.fifo.is_some())?;
        check_tags(name, tags)?;
        self.load().await?;
        let _changing = self.inner.changing.lock().await;
        if let Some(existing) = self.known(name) {
            return agree(&existing.state().definition.attributes, attributes);
        }
        self.check_redrive(name, &meaning, attributes)?;
        let prepare = || self.inner.storage.prepare();
        self.inner.prepared.get_or_try_init(prepare).await?;
        let now = self.now();
        let mut set = QueueAttributes::new();
        attributes::set(&mut set, attributes)?;
        let definition = Definition {
            id: ids::random_u64(),
            generation: 0,
            created: now,
            modified: now,
            purged: None,
            attributes: set,
            tags: tags.clone(),
        };
        let (row, state) = (definition.row(name)?, State::new(name, definition)?);
        let (queues, name) = (self.clone(), name.to_owned());
        finish(async move {
            queues.inner.storage.put(row).await?;
            let queue = Arc::new(Queue::new(name.clone(), state));
            queues.inner.queues.write().insert(name, queue);
            Ok(())
        })
        .await
    }

    /// The names of queues that begin with `prefix`, in order, after `after`.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, QueueError> {
        self.load().await?;
        let queues = self.inner.queues.read();
        let from = after.map_or(std::ops::Bound::Included(prefix), std::ops::Bound::Excluded);
        let names = queues.range::<str, _>((from, std::ops::Bound::Unbounded));
        let names = names
            .map(|(name, _)| name)
            .skip_while(|name| name.as_str() < prefix)
            .take_while(|name| name.starts_with(prefix));
        Ok(names.take(limit).cloned().collect())
    }

    /// Whether a queue with this name exists.
    pub async fn exists(&self, name: &str) -> Result<bool, QueueError> {
        self.load().await?;
        Ok(self.known(name).is_some())
    }

    /// Deletes a queue and its messages.
    pub async fn delete_queue(&self, name: &str) -> Result<(), QueueError> {
        let _changing = self.inner.changing.lock().await;
        let queue = self.queue(name).await?;
        let lot = Arc::clone(&queue.state().lot);
        let queues = self.clone();
        finish(async move {
            let partition = lot.partition.clone();
            let writes = vec![
                storage::delete_in_transaction(rows::key(rows::QUEUES, queue.name.as_str())),
                storage::put_in_transaction(rows::key(rows::GARBAGE, partition.as_str())),
            ];
            queues.inner.storage.transact(writes).await?;
            queues.inner.queues.write().remove(&queue.name);
            lot.close();
            in_background(sweep(queues.inner.storage.clone(), partition)).await;
            Ok(())
        })
        .await
    }

    /// Deletes all messages of a queue.
    pub async fn purge(&self, name: &str) -> Result<(), QueueError> {
        let _changing = self.inner.changing.lock().await;
        let queue = self.queue(name).await?;
        let (now, state) = (self.now(), queue.state());
        if state
            .definition
            .purged
            .is_some_and(|at| now.since(at) < PURGE_PAUSE)
        {
            return Err(QueueError::new(
                ErrorCode::PurgeQueueInProgress,
                format!("Only one PurgeQueue operation on {name} is allowed every 60 seconds."),
            ));
        }
        let definition = Definition {
            generation: state.definition.generation.wrapping_add(1),
            purged: Some(now),
            ..state.definition.clone()
        };
        let (row, purged) = (definition.row(name)?, state.changed(definition)?);
        let queues = self.clone();
        finish(async move {
            let partition = state.lot.partition.clone();
            let writes = vec![
                storage::put_in_transaction(row),
                storage::put_in_transaction(rows::key(rows::GARBAGE, partition.as_str())),
            ];
            queues.inner.storage.transact(writes).await?;
            queue.replace(purged);
            state.lot.close();
            in_background(sweep(queues.inner.storage.clone(), partition)).await;
            Ok(())
        })
        .await
    }

    /// All attributes of a queue, including the counts.
    pub async fn attributes(&self, name: &str) -> Result<QueueAttributes, QueueError> {
        let state = self.open(name).await?;
        let counts = self.current_counts(&state).await;
        let mut all = attributes::effective(&state.definition.attributes);
        let computed = [
            self.inner.settings.arn(name),
            state.definition.created.as_secs().to_string(),
            state.definition.modified.as_secs().to_string(),
            counts.visible.to_string(),
            counts.in_flight.to_string(),
            counts.delayed.to_string(),
        ];
        for (name, value) in attributes::COMPUTED.iter().zip(computed) {
            all.insert((*name).to_owned(), value);
        }
        Ok(all)
    }

    /// The number of a queue's messages in each state.
    pub async fn counts(&self, name: &str) -> Result<Counts, QueueError> {
        let state = self.open(name).await?;
        Ok(self.current_counts(&state).await)
    }

    async fn current_counts(&self, state: &State) -> Counts {
        let retention = state.meaning.retention;
        state
            .lot
            .advance(self.now(), retention, &self.inner.storage)
            .await
    }

    /// Sets attributes of a queue; an empty text removes a policy or key.
    pub async fn set_attributes(&self, name: &str, given: &QueueAttributes) -> Result<(), QueueError> {
        let now = self.now();
        self.change(name, |definition| {
            attributes::check_kind_stays(given, name::is_fifo(name))?;
            attributes::set(&mut definition.attributes, given)?;
            definition.modified = now;
            let meaning = Meaning::of(&definition.attributes)?;
            self.check_redrive(name, &meaning, given)
        })
        .await
    }

    /// Adds a statement to the policy of a queue. It is stored and returned; access keys decide which calls
    /// are allowed.
    pub async fn add_permission(
        &self,
        name: &str,
        label: &str,
        accounts: &[String],
        actions: &[String],
    ) -> Result<(), QueueError> {
        let arn = self.inner.settings.arn(name);
        self.change_policy(name, |policy| {
            permission::add(policy, &arn, label, accounts, actions)
        })
        .await
    }

    /// Removes a statement from the policy of a queue.
    pub async fn remove_permission(&self, name: &str, label: &str) -> Result<(), QueueError> {
        self.change_policy(name, |policy| permission::remove(policy, label))
            .await
    }

    /// Replaces the policy by the result of `change`; without a text there is none.
    async fn change_policy(
        &self,
        name: &str,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, QueueError>,
    ) -> Result<(), QueueError> {
        let now = self.now();
        self.change(name, |definition| {
            let attributes = &mut definition.attributes;
            match change(attributes.get(POLICY).map(String::as_str))? {
                Some(policy) => attributes.insert(POLICY.to_owned(), policy),
                None => attributes.remove(POLICY),
            };
            definition.modified = now;
            Ok(())
        })
        .await
    }

    /// The tags of a queue.
    pub async fn tags(&self, name: &str) -> Result<BTreeMap<String, String>, QueueError> {
        Ok(self.queue(name).await?.state().definition.tags.clone())
    }

    /// Adds tags to a queue.
    pub async fn tag(&self, name: &str, tags: &BTreeMap<String, String>) -> Result<(), QueueError> {
        self.change(name, |definition| {
            definition.tags.extend(tags.clone());
            check_tags(name, &definition.tags)
        })
        .await
    }

    /// Removes tags from a queue.
    pub async fn untag(&self, name: &str, keys: &[String]) -> Result<(), QueueError> {
        if keys.is_empty() {
            return Err(QueueError::invalid(TAG_KEY_LENGTH));
        }
        self.change(name, |definition| {
            definition.tags.retain(|key, _| !keys.contains(key));
            Ok(())
        })
        .await
    }

    /// The queues that use this one as their dead-letter queue, in order of name.
    pub async fn dead_letter_sources(&self, name: &str) -> Result<Vec<String>, QueueError> {
        self.queue(name).await?;
        let queues = self.inner.queues.read();
        let sources = queues.values().filter(|queue| {
            let state = queue.state();
            let redrive = &state.meaning.redrive;
            redrive.as_ref().is_some_and(|redrive| redrive.target == name)
        });
        Ok(sources.map(|queue| queue.name.clone()).collect())
    }

    async fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut Definition) -> Result<(), QueueError>,
    ) -> Result<(), QueueError> {
        let _changing = self.inner.changing.lock().await;
        let queue = self.queue(name).await?;
        let state = queue.state();
        let mut definition = state.definition.clone();
        change(&mut definition)?;
        let (row, changed) = (definition.row(name)?, state.changed(definition)?);
        let storage = self.inner.storage.clone();
        finish(async move {
            storage.put(row).await?;
            queue.replace(changed);
            Ok(())
        })
        .await
    }

    /// A dead-letter queue in a new policy must exist and allow the queue.
    fn check_redrive(
        &self,
        name: &str,
        meaning: &Meaning,
        given: &QueueAttributes,
    ) -> Result<(), QueueError> {
        let (Some(redrive), Some(text)) = (&meaning.redrive, given.get("RedrivePolicy")) else {
            return Ok(());
        };
        let refused = |reason: &str| Err(QueueError::value(text, "RedrivePolicy", reason));
        match self.known(&redrive.target) {
            // A queue may be its own dead-letter queue.
            _ if redrive.target == name => Ok(()),
            None => refused("Dead letter target does not exist."),
            Some(_) if name::is_fifo(&redrive.target) != name::is_fifo(name) => {
                refused("Dead-letter queue must be same type of queue as the source.")
            }
            Some(target) if !target.state().meaning.redrive_allow.allows(name) => refused(
                "The RedriveAllowPolicy of the dead letter target does not allow this queue to use it.",
            ),
            Some(_) => Ok(()),
        }
    }

    /// The queue, with its messages loaded.
    pub(crate) async fn open(&self, name: &str) -> Result<Arc<State>, QueueError> {
        let state = self.queue(name).await?.state();
        state.lot.load(&self.inner.storage, self.now()).await?;
        Ok(state)
    }

    pub(crate) async fn queue(&self, name: &str) -> Result<Arc<Queue>, QueueError> {
        self.load().await?;
        self.known(name).ok_or_else(QueueError::no_such_queue)
    }

    pub(crate) fn known(&self, name: &str) -> Option<Arc<Queue>> {
        self.inner.queues.read().get(name).cloned()
    }

    /// Reads the definitions, once, and continues work that a crash interrupted.
    async fn load(&self) -> Result<(), QueueError> {
        if self.inner.loaded.initialized() {
            return Ok(());
        }
        let load = || async {
            let storage = &self.inner.storage;
            let mut queues = BTreeMap::new();
            storage
                .each(rows::QUEUES, |item| {
                    let queue = read(&item)?;
                    queues.insert(queue.name.clone(), Arc::new(queue));
                    Ok(())
                })
                .await?;
            let mut garbage = Vec::new();
            storage
                .each(rows::GARBAGE, |item| {
                    garbage.push(rows::text(&item, rows::SORT)?.to_owned());
                    Ok(())
                })
                .await?;
            *self.inner.queues.write() = queues;
            for partition in garbage {
                in_background(sweep(storage.clone(), partition)).await;
            }
            self.load_moves().await
        };
        self.inner.loaded.get_or_try_init(load).await.copied()
    }
}

fn read(item: &trestle_item::Item) -> Result<Queue, QueueError> {
    let (name, definition) = rows::read_document::<Definition>(item)?;
    let state = State::new(name, definition).map_err(|_| rows::damaged(item, rows::DOCUMENT))?;
    Ok(Queue::new(name.to_owned(), state))
}

/// An existing queue may be created again with the same attributes.
fn agree(existing: &QueueAttributes, given: &QueueAttributes) -> Result<(), QueueError> {
    let effective = attributes::effective(existing);
    let differs = |(name, value): &(&String, &String)| {
        *effective.get(*name).unwrap_or(&String::new()) != attributes::plain(name, value)
    };
    match given.iter().find(differs) {
        None => Ok(()),
        Some((name, _)) => Err(QueueError::new(
            ErrorCode::QueueNameExists,
            format!("A queue already exists with the same name and a different value for attribute {name}"),
        )),
    }
}

fn check_tags(queue: &str, tags: &BTreeMap<String, String>) -> Result<(), QueueError> {
    if tags.len() > TAGS_MAX {
        return Err(QueueError::invalid(format!(
            "Too many tags added for queue {queue}."
        )));
    }
    for (key, value) in tags {
        if key.is_empty() || key.chars().count() > 128 {
            return Err(QueueError::invalid(TAG_KEY_LENGTH));
        }
        if value.chars().count() > 256 {
            return Err(QueueError::invalid(format!(
                "The value of tag {key} must be between 0 and 256 characters in length."
            )));
        }
        if key.starts_with("aws:") {
            return Err(QueueError::invalid("Tag keys may not begin with aws:."));
        }
    }
    Ok(())
}

/// Deletes the messages of a deleted queue. Restarted after a crash, until none is left.
async fn sweep(storage: Storage, partition: String) {
    let swept = async {
        loop {
            let rows = storage.some(&partition, SWEEP_ROWS).await?;
            if rows.is_empty() {
                let mark = rows::key(rows::GARBAGE, partition.as_str());
                return storage.write(vec![storage::delete(mark)]).await;
            }
            let mut keys = Vec::new();
            for row in &rows {
                match rows::parts(row) {
                    Ok(parts) => keys.extend(parts.iter().flat_map(storage::part_keys)),
                    Err(error) => {
                        tracing::error!(%error, "the pieces of a deleted message stay in the table")
                    }
                }
                keys.push(rows::key(&partition, rows::text(row, rows::SORT)?));
            }
            storage
                .write(keys.into_iter().map(storage::delete).collect())
                .await?;
        }
    };
    if let Err(error) = swept.await {
        let error: QueueError = error;
        tracing::warn!(%error, partition, "messages of a deleted queue are left for the next start");
    }
}
