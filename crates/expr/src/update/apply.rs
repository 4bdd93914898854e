//! Applies an update to an item.
//!
//! All changes are computed from the item as it was, and only then applied: no action sees another's effect,
//! and a failure changes nothing. List indexes therefore are positions before the update.

use std::cmp::Reverse;

use trestle_item::{AttributeValue, Map, Number, NumberError};

use super::{Action, Dialect, SetOperand, SetValue, sets};
use crate::ExprError;
use crate::path::{Path, Step};

/// A computed change.
enum Change<'u> {
    Put(&'u Path, AttributeValue),
    Remove(&'u Path),
}

pub(super) fn apply(actions: &[Action], dialect: Dialect, item: &mut Map) -> Result<(), ExprError> {
    actions
        .iter()
        .try_for_each(|action| check_target(action.path(), item))?;
    let mut puts = Vec::with_capacity(actions.len());
    let mut removals = Vec::new();
    for action in actions {
        match decide(action, dialect, item)? {
            Some(Change::Put(path, value)) => puts.push((path, value)),
            Some(Change::Remove(path)) => removals.push(path),
            None => {}
        }
    }
    // In order of index, so that several elements past the end of a list are appended in that order.
    puts.sort_by_key(|(path, _)| *path);
    for (path, value) in puts {
        put(path, value, item);
    }
    // From the end, so that no removal moves an element that will be removed.
    removals.sort_by_key(|path| Reverse(*path));
    for path in removals {
        remove(path, item);
    }
    Ok(())
}

/// A nested target needs a container of the right type.
fn check_target(path: &Path, item: &Map) -> Result<(), ExprError> {
    match path.holder(item) {
        None
        | Some((Some(AttributeValue::M(_)), Step::Name(_)) | (Some(AttributeValue::L(_)), Step::Index(_))) => {
            Ok(())
        }
        Some(_) => Err(ExprError::new(
            "The document path provided in the update expression is invalid for update",
        )),
    }
}

/// The change of an action; `None` if there is none.
fn decide<'u>(action: &'u Action, dialect: Dialect, item: &Map) -> Result<Option<Change<'u>>, ExprError> {
    Ok(match action {
        Action::Set(path, value) => Some(Change::Put(path, value.evaluate(item)?)),
        Action::Remove(path) => path.get(item).map(|_| Change::Remove(path)),
        Action::Add(path, added) => {
            let sum = match path.get(item) {
                None => added.clone(),
                Some(value) => add(value, added, dialect)?,
            };
            Some(Change::Put(path, sum))
        }
        Action::Delete(path, removed) => match path.get(item) {
            None => None,
            Some(set) => match sets::difference(set, removed).ok_or_else(|| wrong_type(dialect))? {
                Some(left) => Some(Change::Put(path, left)),
                None => Some(Change::Remove(path)),
            },
        },
    })
}

fn add(
    value: &AttributeValue,
    added: &AttributeValue,
    dialect: Dialect,
) -> Result<AttributeValue, ExprError> {
    match (value, added) {
        (AttributeValue::N(number), AttributeValue::N(added)) => computed(number.checked_add(added)),
        (AttributeValue::L(list), AttributeValue::L(added)) if dialect == Dialect::Legacy => {
            Ok(AttributeValue::L([list.as_slice(), added].concat()))
        }
        _ => sets::union(value, added).ok_or_else(|| wrong_type(dialect)),
    }
}

fn computed(result: Result<Number, NumberError>) -> Result<AttributeValue, ExprError> {
    result.map(AttributeValue::N).map_err(|error| {
        // DynamoDB also calls a sum with too many digits an overflow.
        let error = match error {
            NumberError::TooPrecise => NumberError::Overflow,
            other => other,
        };
        ExprError(error.to_string())
    })
}

fn wrong_type(dialect: Dialect) -> ExprError {
    ExprError::new(match dialect {
        Dialect::Expression => "An operand in the update expression has an incorrect data type",
        Dialect::Legacy => "Type mismatch for attribute to update",
    })
}

impl SetValue {
    fn evaluate(&self, item: &Map) -> Result<AttributeValue, ExprError> {
        match self {
            Self::Operand(operand) => operand.evaluate(item).cloned(),
            Self::Plus(left, right) => computed(left.number(item)?.checked_add(right.number(item)?)),
            Self::Minus(left, right) => computed(left.number(item)?.checked_sub(right.number(item)?)),
            Self::ListAppend(first, second) => Ok(AttributeValue::L(
                [first.list(item)?, second.list(item)?].concat(),
            )),
        }
    }
}

impl SetOperand {
    fn number<'a>(&'a self, item: &'a Map) -> Result<&'a Number, ExprError> {
        self.evaluate(item)?
            .as_n()
            .ok_or_else(|| wrong_type(Dialect::Expression))
    }

    fn list<'a>(&'a self, item: &'a Map) -> Result<&'a [AttributeValue], ExprError> {
        match self.evaluate(item)? {
            AttributeValue::L(list) => Ok(list),
            _ => Err(wrong_type(Dialect::Expression)),
        }
    }

    fn evaluate<'a>(&'a self, item: &'a Map) -> Result<&'a AttributeValue, ExprError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Path(path) => path.get(item).ok_or_else(|| {
                ExprError::new(
                    "The provided expression refers to an attribute that does not exist in the item",
                )
            }),
            // Both are evaluated, as in DynamoDB: a missing alternative is an error even when it is not
            // needed.
            Self::IfNotExists(path, otherwise) => {
                let otherwise = otherwise.evaluate(item)?;
                Ok(path.get(item).unwrap_or(otherwise))
            }
        }
    }
}

/// Puts a value at a path whose target has been checked.
fn put(path: &Path, value: AttributeValue, item: &mut Map) {
    if !path.is_nested() {
        item.insert(path.attribute.as_str(), value);
        return;
    }
    match path.holder_mut(item) {
        Some((Some(AttributeValue::M(map)), Step::Name(name))) => {
            map.insert(name.as_str(), value);
        }
        Some((Some(AttributeValue::L(list)), Step::Index(index))) => match list.get_mut(*index) {
            Some(element) => *element = value,
            None => list.push(value),
        },
        _ => {}
    }
}

fn remove(path: &Path, item: &mut Map) {
    match path.holder_mut(item) {
        None => {
            item.remove(&path.attribute);
        }
        Some((Some(AttributeValue::M(map)), Step::Name(name))) => {
            map.remove(name);
        }
        Some((Some(AttributeValue::L(list)), Step::Index(index))) if *index < list.len() => {
            list.remove(*index);
        }
        Some(_) => {}
    }
}
