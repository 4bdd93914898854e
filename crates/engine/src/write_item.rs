//! The conditional change of one item: PutItem, UpdateItem, DeleteItem, batches, transactions, PartiQL and
//! expiry all use it.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_expr::{Condition, Path, Update};
use trestle_hook::{Edits, Hook, Refused};
use trestle_item::{Item, size};
use trestle_writes::{Write, check_condition, check_size};

use crate::capacity::Consumed;
use crate::catalog::{Catalog, Table};
use crate::consequences::{self, RowChange};
use crate::image::{self, Image};
use crate::layout::ItemKey;
use crate::schema::KeySchema;
use crate::shared::Shared;
use crate::transaction::{Actor, Transaction};

/// What a write does with the item.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Replace it.
    Put(Arc<Image>),
    /// Put it; an existing item is reported as a duplicate, not as a failed condition.
    Insert(Arc<Image>),
    /// Change the item with this key.
    Update(Item, Option<Update>),
    /// Remove the item with this key.
    Delete(Item),
    /// Only check the condition on the item with this key.
    Check(Item),
}

impl Action {
    /// Encodes an item that is final, while the committer does not wait for it.
    fn encode(&self) {
        if let Self::Put(item) | Self::Insert(item) = self {
            item.bytes();
        }
    }

    /// Replaces the key by the one that the hook finds. Returns the previous one.
    fn identify(&mut self, hook: &dyn Hook, table: &str, now: Timestamp) -> Result<Given, Error> {
        match self {
            Self::Put(image) | Self::Insert(image) => {
                let edits = hook.place(table, image, now)?;
                if edits.is_empty() {
                    return Ok(Given::Item(edits));
                }
                let back = Arc::make_mut(image).edit(|item| edits.exchange(item));
                check_size(image.size())?;
                Ok(Given::Item(back))
            }
            Self::Update(key, _) | Self::Delete(key) | Self::Check(key) => {
                let found = hook.key(table, key)?;
                Ok(Given::Key(std::mem::replace(key, found)))
            }
        }
    }

    /// The action before a hook found its key.
    fn undone(mut self, given: Given) -> Self {
        match (&mut self, given) {
            (Self::Put(image) | Self::Insert(image), Given::Item(back)) => {
                if !back.is_empty() {
                    Arc::make_mut(image).edit(|item| back.apply(item));
                }
            }
            (Self::Update(key, _) | Self::Delete(key) | Self::Check(key), Given::Key(given)) => *key = given,
            _ => debug_assert!(false, "what was given belongs to another kind of action"),
        }
        self
    }
}

/// The original of an action whose key was found by a hook.
#[derive(Clone, Debug)]
enum Given {
    /// An item; these edits restore the original from the placed item.
    Item(Edits),
    /// The original key.
    Key(Item),
}

/// One item's write, checked as far as possible without its table.
#[derive(Clone, Debug)]
pub(crate) struct ItemWrite {
    pub(crate) table_name: String,
    pub(crate) action: Action,
    pub(crate) condition: Option<Condition>,
    /// Whether a failed condition returns the item that failed it.
    pub(crate) show_on_failure: bool,
}

/// The result of a write.
pub(crate) struct Outcome {
    pub(crate) table: Arc<Table>,
    pub(crate) old: Option<Arc<Image>>,
    pub(crate) new: Option<Arc<Image>>,
    /// The key of an item from which something was to be removed: if there was none, neither image has it.
    pub(crate) removed: Option<Item>,
    pub(crate) consumed: Consumed,
}

/// A write whose table and key are known.
#[derive(Clone)]
pub(crate) struct Placed {
    write: ItemWrite,
    table: Arc<Table>,
    key: ItemKey,
    /// The original, if a hook found the key.
    given: Option<Given>,
}

/// A write whose condition held.
pub(crate) struct Ready {
    change: RowChange,
    /// The key of an item that is removed, or that does not exist for an update.
    removed: Option<Item>,
}

impl From<Write> for ItemWrite {
    fn from(write: Write) -> Self {
        let image = |item: Item| Arc::new(Image::new(item));
        ItemWrite {
            table_name: write.table_name,
            action: match write.action {
                trestle_writes::Action::Put(item) => Action::Put(image(item)),
                trestle_writes::Action::Insert(item) => Action::Insert(image(item)),
                trestle_writes::Action::Update(key, update) => Action::Update(key, update),
                trestle_writes::Action::Delete(key) => Action::Delete(key),
                trestle_writes::Action::Check(key) => Action::Check(key),
            },
            condition: write.condition,
            show_on_failure: write.show_on_failure,
        }
    }
}

impl ItemWrite {
    /// Looks up the table and checks everything that depends on it alone.
    pub(crate) fn place(self, catalog: &Catalog, shared: &Shared) -> Result<Placed, Error> {
        let now = shared.clock.now();
        let table = Arc::clone(catalog.table(&self.table_name, now)?);
        self.place_in(table, now)
    }

    fn place_in(mut self, table: Arc<Table>, now: Timestamp) -> Result<Placed, Error> {
        let given = match &table.hook {
            Some(hook) => Some(self.action.identify(&**hook, &table.name, now)?),
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
    /// The item's storage key, which identifies it in conflicts.
    pub(crate) fn place(&self) -> Vec<u8> {
        self.key.in_table(self.table.id)
    }

    /// The write as it was given, without its key.
    pub(crate) fn into_write(self) -> ItemWrite {
        let ItemWrite { action, .. } = self.write;
        ItemWrite {
            action: match self.given {
                Some(given) => action.undone(given),
                None => action,
            },
            ..self.write
        }
    }

    /// The table as it was when the write was accepted.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The bytes that the item or key adds to the size of a transaction.
    pub(crate) fn item_bytes(&self) -> usize {
        match &self.write.action {
            Action::Put(item) | Action::Insert(item) => item.size(),
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => size::of_item(key),
        }
    }

    /// The current item.
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

    /// Checks the condition and computes the new item.
    pub(crate) fn check(self, transaction: &Transaction<'_>) -> Result<Ready, Error> {
        // The table may have been dropped, or have gained or lost an index or its hook, since the request was
        // accepted.
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
        let found = image::item(old.as_ref());
        check_condition(write.condition.as_ref(), found, write.show_on_failure)?;
        let is_check = matches!(write.action, Action::Check(_));
        let (new, removed) = match write.action {
            Action::Check(_) => (old.clone(), None),
            Action::Put(item) | Action::Insert(item) => (Some(item), None),
            Action::Delete(key) => (None, Some(key)),
            // Nothing can be removed from an item that does not exist, not even along a path that does not
            // exist.
            Action::Update(key, Some(update)) if old.is_none() && update.only_removes() => (None, Some(key)),
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

/// Stages the writes of one request with all their effects. All conditions have been checked.
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
    let image = Image::new(trestle_writes::updated(&key, update, old)?);
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

#[cfg(test)]
mod tests {
    use trestle_hook::{Change, Rows, Verdict};

    use super::*;

    /// The key of a row is `row#` and its id.
    struct ById;

    impl Hook for ById {
        fn covers(&self, _: &str) -> bool {
            true
        }

        fn key(&self, _: &str, given: &Item) -> Result<Item, Error> {
            let id = given.get("id").and_then(|id| id.as_s()).map_or("", |id| id);
            Ok(Item::from([("pk", format!("row#{id}"))]))
        }

        fn place(&self, table: &str, item: &Item, _: Timestamp) -> Result<Edits, Error> {
            let key = self.key(table, item)?;
            Ok(Edits {
                set: key.into_iter().collect(),
                remove: vec!["former".to_owned()],
            })
        }

        fn change(&self, _: &[Change<'_>], _: &dyn Rows) -> Result<Verdict, Refused> {
            Ok(Verdict::default())
        }
    }

    #[test]
    fn an_action_that_was_placed_can_be_taken_back_to_how_it_was_given() {
        let id = Item::from([("id", "a")]);
        let row = Item::from([("id", "a"), ("former", "x")]);
        let image = Arc::new(Image::new(row.clone()));
        image.bytes();
        for (action, given) in [
            (Action::Put(Arc::clone(&image)), &row),
            (Action::Insert(Arc::clone(&image)), &row),
            (Action::Update(id.clone(), None), &id),
            (Action::Delete(id.clone()), &id),
            (Action::Check(id.clone()), &id),
        ] {
            let mut placed = action.clone();
            let before = placed.identify(&ById, "T", Timestamp::from_millis(0)).unwrap();
            assert_eq!(shown(&placed).get("pk"), Some(&"row#a".into()));
            assert!(!shown(&placed).contains_key("former"));
            assert_eq!(shown(&placed.undone(before)), *given);
        }
        assert_eq!(**image, row, "what others hold stays as it is");
    }

    /// The item or the key of an action, as it would be stored.
    fn shown(action: &Action) -> Item {
        match action {
            Action::Put(image) | Action::Insert(image) => {
                let stored = Image::stored(image.bytes().clone()).unwrap();
                stored.into_item()
            }
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => key.clone(),
        }
    }
}
