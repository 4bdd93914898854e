//! The change of one item by condition: what PutItem, UpdateItem, DeleteItem, batches, transactions, PartiQL and the
//! expiry of items all come down to.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_expr::{Condition, Path, Update};
use trestle_hook::{Hook, Refused};
use trestle_item::{Item, size};

use crate::capacity::Consumed;
use crate::catalog::{Catalog, Table};
use crate::consequences::{self, RowChange};
use crate::image::{self, Image};
use crate::layout::ItemKey;
use crate::schema::KeySchema;
use crate::shared::Shared;
use crate::transaction::{Actor, Transaction};

/// An item may have this many bytes.
pub(crate) const ITEM_BYTES_MAX: usize = 400 * 1024;

/// What is to happen to the item.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Replace it.
    Put(Arc<Image>),
    /// Put it where none is; one that is there is a duplicate rather than a failed condition.
    Insert(Arc<Image>),
    /// Change the item with this key.
    Update(Item, Option<Update>),
    /// Remove the item with this key.
    Delete(Item),
    /// Only check the condition on the item with this key.
    Check(Item),
}

impl Action {
    /// Makes the stored form of an item that is final: here, the committer does not wait for it.
    fn encode(&self) {
        if let Self::Put(item) | Self::Insert(item) = self {
            item.bytes();
        }
    }

    /// The same with the key that the hook finds for it.
    fn identified(&self, hook: &dyn Hook, table: &str, now: Timestamp) -> Result<Self, Error> {
        let place = |item: &Image| image_to_put(hook.place(table, Item::clone(item), now)?);
        Ok(match self {
            Self::Put(item) => Self::Put(place(item)?),
            Self::Insert(item) => Self::Insert(place(item)?),
            Self::Update(given, update) => Self::Update(hook.key(table, given)?, update.clone()),
            Self::Delete(given) => Self::Delete(hook.key(table, given)?),
            Self::Check(given) => Self::Check(hook.key(table, given)?),
        })
    }
}

/// One item's write, checked as far as that is possible without its table.
#[derive(Clone, Debug)]
pub(crate) struct ItemWrite {
    pub(crate) table_name: String,
    pub(crate) action: Action,
    pub(crate) condition: Option<Condition>,
    /// Whether a failed condition reports the item that failed it.
    pub(crate) show_on_failure: bool,
}

/// What a write did.
pub(crate) struct Outcome {
    pub(crate) table: Arc<Table>,
    pub(crate) old: Option<Arc<Image>>,
    pub(crate) new: Option<Arc<Image>>,
    /// The key of an item that was to be removed: neither image shows it if there was none.
    pub(crate) removed: Option<Item>,
    pub(crate) consumed: Consumed,
}

/// A write whose table and key are known.
#[derive(Clone)]
pub(crate) struct Placed {
    write: ItemWrite,
    table: Arc<Table>,
    key: ItemKey,
    /// The action as it was given, if a hook found its key.
    given: Option<Action>,
}

/// A write whose condition held.
pub(crate) struct Ready {
    change: RowChange,
    /// The key of an item that is to be removed.
    removed: Option<Item>,
}

impl ItemWrite {
    /// Finds the table and checks everything that depends on it alone.
    pub(crate) fn place(self, catalog: &Catalog, shared: &Shared) -> Result<Placed, Error> {
        let now = shared.clock.now();
        let table = Arc::clone(catalog.table(&self.table_name, now)?);
        self.place_in(table, now)
    }

    fn place_in(mut self, table: Arc<Table>, now: Timestamp) -> Result<Placed, Error> {
        let given = match &table.hook {
            Some(hook) => {
                let action = self.action.identified(&**hook, &table.name, now)?;
                Some(std::mem::replace(&mut self.action, action))
            }
            None => None,
        };
        let key = self.key(&table)?;
        if given.is_none() {
            self.action.encode();
        }
        Ok(Placed {
            write: self,
            table,
            key,
            given,
        })
    }

    fn key(&self, table: &Table) -> Result<ItemKey, Error> {
        self.check_key_paths(table)?;
        match &self.action {
            Action::Put(item) | Action::Insert(item) => {
                let key = table.key.item_key_in(item)?;
                table.check_index_keys(item)?;
                Ok(key)
            }
            Action::Update(key, update) => {
                let item_key = table.key.item_key(key)?;
                for attribute in update.iter().flat_map(Update::attributes) {
                    if table.key.contains(attribute) {
                        return Err(Error::validation(format!(
                            "One or more parameter values were invalid: Cannot update attribute {attribute}. \
                             This attribute is part of the key"
                        )));
                    }
                }
                Ok(item_key)
            }
            Action::Delete(key) | Action::Check(key) => table.key.item_key(key),
        }
    }
}

impl ItemWrite {
    /// Key attributes are scalars: a path into one can only be a mistake.
    fn check_key_paths(&self, table: &Table) -> Result<(), Error> {
        let mut paths = self.condition.as_ref().map(Condition::paths).unwrap_or_default();
        if let Action::Update(_, Some(update)) = &self.action {
            paths.extend(update.paths());
            paths.extend(update.operand_paths());
        }
        check_key_paths(&table.key, &paths)
    }
}

/// Refuses a path that goes into a key attribute.
pub(crate) fn check_key_paths(key: &KeySchema, paths: &[&Path]) -> Result<(), Error> {
    match paths
        .iter()
        .find(|path| path.is_nested() && key.contains(&path.attribute))
    {
        Some(path) => Err(Error::validation(format!(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: {}",
            path.attribute
        ))),
        None => Ok(()),
    }
}

impl Placed {
    /// The item's storage key, which names it in conflicts.
    pub(crate) fn place(&self) -> Vec<u8> {
        self.key.in_table(self.table.id)
    }

    /// The write as it was given, without its place.
    pub(crate) fn into_write(self) -> ItemWrite {
        ItemWrite {
            action: self.given.unwrap_or(self.write.action),
            ..self.write
        }
    }

    /// The table as it was when the write was accepted.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// What the item or key counts towards the size of a transaction.
    pub(crate) fn item_bytes(&self) -> usize {
        match &self.write.action {
            Action::Put(item) | Action::Insert(item) => item.size(),
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => size::of_item(key),
        }
    }

    /// The item as it is.
    pub(crate) fn current(&self, transaction: &Transaction<'_>) -> Result<Option<Arc<Image>>, Error> {
        transaction.item(&self.table, &self.key)
    }

    /// The key attributes of the item.
    pub(crate) fn key_attributes(&self) -> Item {
        match &self.write.action {
            Action::Put(item) | Action::Insert(item) => self.table.key.key_of(item),
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => key.clone(),
        }
    }

    /// Checks the condition and stages the change.
    pub(crate) fn run(self, transaction: &mut Transaction<'_>, actor: Actor) -> Result<Outcome, Error> {
        let mut ready = self.check(transaction)?;
        ready.change.write(transaction, actor)?;
        Ok(ready.outcome())
    }

    /// Checks the condition and makes the new item.
    pub(crate) fn check(self, transaction: &Transaction<'_>) -> Result<Ready, Error> {
        // The table may have gained or lost an index or its hook, or be gone, since the request was accepted.
        let current = transaction.table(&self.write.table_name)?;
        let placed = if Arc::ptr_eq(&current, &self.table) {
            self
        } else {
            self.into_write().place_in(current, transaction.now())?
        };
        let Self {
            write, table, key, ..
        } = placed;
        let old = transaction.item(&table, &key)?;
        if matches!(write.action, Action::Insert(_)) && old.is_some() {
            return Err(Error::duplicate_item());
        }
        if let Some(condition) = &write.condition {
            let empty = Item::new();
            let found = image::item(old.as_ref());
            if !condition.holds(found.unwrap_or(&empty)) {
                let shown = found.filter(|_| write.show_on_failure).cloned();
                return Err(Error::condition_failed(shown));
            }
        }
        let is_check = matches!(write.action, Action::Check(_));
        let (new, removed) = match write.action {
            Action::Check(_) => (old.clone(), None),
            Action::Put(item) | Action::Insert(item) => (Some(item), None),
            Action::Delete(key) => (None, Some(key)),
            Action::Update(key, update) => {
                let found = image::item(old.as_ref());
                (Some(updated(&table, key, update.as_ref(), found)?), None)
            }
        };
        let change = RowChange {
            is_check,
            ..RowChange::new(table, key, old, new)
        };
        Ok(Ready { change, removed })
    }
}

impl Ready {
    fn outcome(self) -> Outcome {
        let RowChange {
            table,
            old,
            new,
            consumed,
            ..
        } = self.change;
        Outcome {
            table,
            old,
            new,
            removed: self.removed,
            consumed,
        }
    }
}

/// Stages the writes of one request, all of whose conditions held, with everything that follows from them.
pub(crate) fn stage_all(
    ready: Vec<Ready>,
    transaction: &mut Transaction<'_>,
) -> Result<Vec<Outcome>, Refused> {
    let (mut changes, removed): (Vec<RowChange>, Vec<Option<Item>>) = ready
        .into_iter()
        .map(|ready| (ready.change, ready.removed))
        .unzip();
    consequences::write_all(&mut changes, transaction, Actor::Client)?;
    let staged = changes.into_iter().zip(removed);
    Ok(staged
        .map(|(change, removed)| Ready { change, removed }.outcome())
        .collect())
}

/// The item after an update.
fn updated(
    table: &Table,
    key: Item,
    update: Option<&Update>,
    old: Option<&Item>,
) -> Result<Arc<Image>, Error> {
    let mut item = old.cloned().unwrap_or(key);
    if let Some(update) = update {
        update.apply(&mut item)?;
    }
    let image = Image::new(item);
    if image.size() > ITEM_BYTES_MAX {
        return Err(Error::validation(
            "Item size to update has exceeded the maximum allowed size",
        ));
    }
    if !image.is_within_nesting_limit() {
        return Err(Error::validation("Nesting Levels have exceeded supported limits"));
    }
    if let Some(kind) = table.empty_index_key(&image) {
        return Err(Error::validation(format!(
            "One or more parameter values are not valid. The update expression attempted to update a secondary index \
             key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty \
             {kind} value."
        )));
    }
    table.check_index_keys(&image)?;
    Ok(Arc::new(image))
}

/// The item of a put, unless it is too large.
pub(crate) fn image_to_put(item: Item) -> Result<Arc<Image>, Error> {
    within_size(Image::new(item))
}

/// An item, unless it is too large.
pub(crate) fn within_size(image: Image) -> Result<Arc<Image>, Error> {
    if image.size() > ITEM_BYTES_MAX {
        return Err(Error::validation(
            "Item size has exceeded the maximum allowed size",
        ));
    }
    Ok(Arc::new(image))
}
