//! Changing some attributes of a row.

use std::marker::PhantomData;

use trestle_expr::{Action, Path, SetOperand, SetValue, Step};
use trestle_item::{AttributeValue, Item};

use crate::draft::{Draft, Presence, What};
use crate::handle::Handle;
use crate::send::send;
use crate::{Entity, Error, Future, If, Value, read};

/// Changes some attributes of an existing row: the basis of each entity's generated builder.
#[derive(Debug)]
#[must_use = "nothing is changed until this is awaited"]
pub struct Update<'d, E> {
    handle: Handle<'d>,
    identity: Item,
    changes: Vec<Action>,
    draft: Draft,
    entity: PhantomData<fn() -> E>,
}

impl<'d, E: Entity> Update<'d, E> {
    pub(crate) fn new(handle: Handle<'d>, identity: Item) -> Self {
        Update {
            handle,
            draft: Draft::new(E::NAME, What::Check(Item::new()), Presence::Present),
            identity,
            changes: Vec::new(),
            entity: PhantomData,
        }
    }

    /// An attribute, or an entry of a map, can be changed in one way only: the last one counts.
    fn change(mut self, action: Action) -> Self {
        self.changes.retain(|known| !overlap(known.path(), action.path()));
        self.changes.push(action);
        self
    }

    /// Sets an attribute.
    pub fn set(self, name: &'static str, value: impl Value) -> Self {
        if value.is_absent() {
            return self.remove(name);
        }
        self.change(set(name, value.to_value()))
    }

    /// Removes an attribute.
    pub fn remove(self, name: &'static str) -> Self {
        self.change(Action::Remove(Path::top(name)))
    }

    /// Adds to a number, or elements to a set.
    pub fn add(self, name: &'static str, value: impl Value) -> Self {
        if value.is_absent() {
            return self;
        }
        self.change(Action::Add(Path::top(name), value.to_value()))
    }

    /// Removes elements from a set.
    pub fn take_out(self, name: &'static str, value: impl Value) -> Self {
        if value.is_absent() {
            return self;
        }
        self.change(Action::Delete(Path::top(name), value.to_value()))
    }

    /// Sets an entry of a map that the row has.
    pub fn set_entry(self, name: &'static str, entry: String, value: AttributeValue) -> Self {
        let path = entry_of(name, entry);
        self.change(Action::Set(path, SetValue::Operand(SetOperand::Value(value))))
    }

    /// Removes an entry of a map.
    pub fn remove_entry(self, name: &'static str, entry: String) -> Self {
        self.change(Action::Remove(entry_of(name, entry)))
    }

    /// Sets an attribute to any value.
    pub(crate) fn set_value(self, name: &str, value: AttributeValue) -> Self {
        self.change(set(name, value))
    }

    /// Only if this holds for the row; given twice, both must hold.
    pub fn only_if(mut self, condition: If<E>) -> Self {
        self.draft.add_condition(condition);
        self
    }

    /// The write, as a part of a transaction.
    #[must_use]
    pub fn into_draft(self) -> Draft {
        Draft {
            what: What::Update(self.identity, self.changes),
            ..self.draft
        }
    }

    /// Sends it; returns the row as it is now.
    pub fn send(self) -> Future<'d, E>
    where
        E: 'd,
    {
        Box::pin(async move {
            let handle = self.handle;
            let draft = self.into_draft();
            match send(handle, draft.clone()).await? {
                Some(row) => read(row),
                None => Err(Error::NotFound(Box::new(crate::send::failed(
                    handle, &draft, None,
                )))),
            }
        })
    }
}

fn set(attribute: &str, value: AttributeValue) -> Action {
    Action::Set(Path::top(attribute), SetValue::Operand(SetOperand::Value(value)))
}

fn entry_of(name: &str, entry: String) -> Path {
    Path {
        steps: vec![Step::Name(entry)],
        ..Path::top(name)
    }
}

/// Whether one path leads to, or into, the other's place.
fn overlap(one: &Path, other: &Path) -> bool {
    one.attribute == other.attribute
        && (one.steps.starts_with(&other.steps) || other.steps.starts_with(&one.steps))
}
