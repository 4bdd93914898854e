//! One item's write.

use std::sync::Arc;

use trestle_api::Error;
use trestle_expr::{Condition, Path, Update};
use trestle_item::size::ITEM_BYTES_MAX;
use trestle_item::{Item, size};

/// One item's write, as a request describes it.
#[derive(Clone, Debug)]
pub struct Write {
    /// The table's name or ARN.
    pub table_name: String,
    /// The action on the item.
    pub action: Action,
    /// The condition before the write.
    pub condition: Option<Condition>,
    /// Whether the error of a failed condition shows the item.
    pub show_on_failure: bool,
}

/// The action on the item.
#[derive(Clone, Debug)]
pub enum Action {
    /// Replace it.
    Put(Item),
    /// Put it unless one exists; an existing item is a duplicate rather than a failed condition.
    Insert(Item),
    /// Change the item with this key.
    Update(Item, Option<Update>),
    /// Remove the item with this key.
    Delete(Item),
    /// Only check the condition on the item with this key.
    Check(Item),
}

impl Write {
    /// Whether the write may take place if `found` is stored.
    pub fn holds(&self, found: Option<&Item>) -> Result<(), Error> {
        if matches!(self.action, Action::Insert(_)) && found.is_some() {
            return Err(Error::duplicate_item());
        }
        check_condition(self.condition.as_ref(), found, self.show_on_failure)
    }

    /// The item after the write if `found` is stored; `None` if there is none afterwards.
    pub fn result(&self, found: Option<&Item>) -> Result<Option<Item>, Error> {
        match &self.action {
            Action::Check(_) => Ok(found.cloned()),
            Action::Put(item) | Action::Insert(item) => Ok(Some(item.clone())),
            Action::Delete(_) => Ok(None),
            // A `REMOVE` of an item that does not exist changes nothing, not even with a path that leads
            // nowhere.
            Action::Update(_, Some(update)) if found.is_none() && update.only_removes() => Ok(None),
            Action::Update(key, update) => updated(key, update.as_ref(), found).map(Some),
        }
    }

    /// The attributes in its condition and its update.
    pub fn mentioned(&self) -> impl Iterator<Item = &str> {
        let condition = self.condition.iter().flat_map(Condition::paths);
        let update = match &self.action {
            Action::Update(_, Some(update)) => Some(update),
            _ => None,
        };
        let changed = update.into_iter().flat_map(Update::paths);
        let operands = update.into_iter().flat_map(Update::operand_paths);
        let paths = condition.chain(changed).chain(operands);
        paths.map(|path: &Path| path.attribute.as_str())
    }
}

/// Whether a condition holds for `found`. The error shows the item if the request wants it.
pub fn check_condition(condition: Option<&Condition>, found: Option<&Item>, show: bool) -> Result<(), Error> {
    let empty = Item::new();
    match condition {
        Some(condition) if !condition.holds(found.unwrap_or(&empty)) => {
            Err(Error::condition_failed(found.filter(|_| show).cloned()))
        }
        _ => Ok(()),
    }
}

/// The item after an update.
pub fn updated(key: &Item, update: Option<&Update>, found: Option<&Item>) -> Result<Item, Error> {
    let mut item = found.unwrap_or(key).clone();
    if let Some(update) = update {
        update.apply(&mut item)?;
    }
    check_updated(&item, size::of_item(&item))?;
    Ok(item)
}

fn check_updated(item: &Item, bytes: usize) -> Result<(), Error> {
    if bytes > ITEM_BYTES_MAX {
        return Err(Error::validation(
            "Item size to update has exceeded the maximum allowed size",
        ));
    }
    check_nesting(item)
}

/// The item with its key, if the key was left out.
#[must_use]
pub fn with_key(mut item: Arc<Item>, key: &Item) -> Arc<Item> {
    for (name, value) in key {
        if !item.contains_key(name) {
            Arc::make_mut(&mut item).insert(name.clone(), value.clone());
        }
    }
    item
}

/// Refuses an item that is too large.
pub fn check_size(bytes: usize) -> Result<(), Error> {
    if bytes > ITEM_BYTES_MAX {
        return Err(Error::validation(
            "Item size has exceeded the maximum allowed size",
        ));
    }
    Ok(())
}

/// Refuses an item with this size in bytes if it is too large or too deep.
pub fn check_limits(item: &Item, bytes: usize) -> Result<(), Error> {
    check_size(bytes)?;
    check_nesting(item)
}

fn check_nesting(item: &Item) -> Result<(), Error> {
    if !item.is_within_nesting_limit() {
        return Err(Error::validation("Nesting Levels have exceeded supported limits"));
    }
    Ok(())
}
