//! A write before it is sent: what shall change, and on which condition.

use trestle_expr::{Action, Condition, Path, Update};
use trestle_item::{AttributeValue, Item};
use trestle_model::{Effect, Entity, Model, Refusal, RenderError, Table};

use crate::handle::Handle;
use crate::index_keys::{Followed, check, follow, set, time};
use crate::{Error, If};

/// A write, alone or as a part of a transaction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(crate) entity: &'static str,
    pub(crate) what: What,
    pub(crate) presence: Presence,
    pub(crate) given: Option<Condition>,
}

/// What a write does.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The row's attributes.
    Put(Item),
    /// The identifying attributes, and the changes.
    Update(Item, Vec<Action>),
    /// The identifying attributes.
    Delete(Item),
    /// The identifying attributes.
    Check(Item),
}

/// Whether there must be a row beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Any,
    Absent,
    Present,
}

/// A write as it can be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) table_name: String,
    pub(crate) key: Item,
    pub(crate) write: PreparedWrite,
    pub(crate) condition: Option<Condition>,
    /// Whether part of the condition is ours: that the row is still as it was read.
    pub(crate) guarded: bool,
}

#[derive(Debug)]
pub(crate) enum PreparedWrite {
    Put(Item),
    Update(Update),
    Delete,
    Check,
}

impl Draft {
    pub(crate) fn new(entity: &'static str, what: What, presence: Presence) -> Self {
        Draft {
            entity,
            what,
            presence,
            given: None,
        }
    }

    pub(crate) fn add_condition<E>(&mut self, condition: If<E>) {
        self.given = both(self.given.take(), Some(condition.condition));
    }

    /// Whether what the caller wanted holds for the row.
    pub(crate) fn holds(&self, row: Option<&Item>) -> bool {
        let present = match self.presence {
            Presence::Any => true,
            Presence::Absent => row.is_none(),
            Presence::Present => row.is_some(),
        };
        let empty = Item::new();
        present
            && self
                .given
                .as_ref()
                .is_none_or(|given| given.holds(row.unwrap_or(&empty)))
    }

    /// The row's key.
    pub(crate) fn key(&self, handle: Handle<'_>) -> Result<Item, Error> {
        let (_, table, entity) = handle.definition.entity(self.entity)?;
        match &self.what {
            What::Put(given) | What::Update(given, _) | What::Delete(given) | What::Check(given) => {
                key(table, entity, given)
            }
        }
    }

    /// Whether the row must be read before, because index keys depend on attributes that are not at hand.
    pub(crate) fn needs_row(&self, handle: Handle<'_>) -> Result<bool, Error> {
        let What::Update(identity, changes) = &self.what else {
            return Ok(false);
        };
        let (_, _, entity) = handle.definition.entity(self.entity)?;
        Ok(!handle.applied && matches!(follow(entity, identity, changes, None)?, Followed::NeedsRow))
    }

    /// The write as it can be sent; `row` is the row as it was read, if it was.
    pub(crate) fn prepare(&self, handle: Handle<'_>, row: Option<&Item>) -> Result<Prepared, Error> {
        let (model, table, entity) = handle.definition.entity(self.entity)?;
        self.check_effects(handle, model, entity)?;
        let key = self.key(handle)?;
        let mut guard = None;
        let write = match &self.what {
            What::Put(item) => PreparedWrite::Put(self.whole(handle, item.clone(), &key)?),
            What::Update(identity, changes) => {
                check(entity, changes)?;
                let (update, condition) = changed(handle, entity, identity, changes, row)?;
                guard = condition;
                PreparedWrite::Update(update)
            }
            What::Delete(_) => PreparedWrite::Delete,
            What::Check(_) => PreparedWrite::Check,
        };
        let guarded = guard.is_some();
        let wanted = both(self.presence_condition(table), self.given.clone());
        Ok(Prepared {
            table_name: table.table_name().to_owned(),
            key,
            write,
            condition: both(wanted, guard),
            guarded,
        })
    }

    /// Heads, inverses, counters and the like are made in the commit. Where the database would not make them, nothing is written.
    fn check_effects(&self, handle: Handle<'_>, model: &Model, entity: &Entity) -> Result<(), Error> {
        if handle.applied || matches!(self.what, What::Check(_)) || !has_effects(model, entity) {
            return Ok(());
        }
        Err(Error::NotApplied {
            what: format!("What follows from a row of entity {}", entity.name()),
            model: handle.definition.name(),
        })
    }

    fn presence_condition(&self, table: &Table) -> Option<Condition> {
        let path = Path::top(table.key().hash.first()?.name.as_str());
        match self.presence {
            Presence::Any => None,
            Presence::Absent => Some(Condition::NotExists(path)),
            Presence::Present => Some(Condition::Exists(path)),
        }
    }

    /// The item with everything that follows from its attributes.
    fn whole(&self, handle: Handle<'_>, mut item: Item, key: &Item) -> Result<Item, Error> {
        let (model, table, entity) = handle.definition.entity(self.entity)?;
        for (name, value) in key {
            item.insert(name.clone(), value.clone());
        }
        if let Some(attribute) = table.entity_attribute() {
            item.insert(attribute, AttributeValue::S(entity.tag().to_owned()));
        }
        let derived = model.derive(table.table_name(), None, &item, handle.now().as_millis())?;
        if let Some(mut derived) = derived {
            // The database has the time of its own commits, and knows when a row was first written.
            if handle.applied {
                let times = [entity.created(), entity.updated()];
                derived.set.retain(|(name, _)| !times.contains(&Some(*name)));
            }
            derived.apply(&mut item);
        }
        if handle.applied {
            leave_out(entity, &mut item);
        }
        Ok(item)
    }
}

/// Leaves out what the database keeps in a row, so that a row that was read is written back whatever happened to its
/// counts, copies and version meanwhile. Index keys may be made of those.
fn leave_out(entity: &Entity, item: &mut Item) {
    let version = entity.reindex_version();
    let kept = entity.kept().iter().map(|kept| kept.attribute.as_str());
    for name in kept.chain(version) {
        item.remove(name);
    }
    let copies = entity.effects().iter().filter_map(|effect| match effect {
        Effect::Copy(copy) => Some(copy),
        _ => None,
    });
    let copied: Vec<&String> = copies
        .flat_map(|copy| &copy.attributes)
        .map(|pair| &pair.ours)
        .collect();
    for name in &copied {
        if !entity.identity().contains(name) {
            item.remove(name);
        }
    }
    if !copied.is_empty() || !entity.kept().is_empty() || version.is_some() {
        for template in entity
            .index_keys()
            .iter()
            .filter(|template| !template.is_identity())
        {
            item.remove(template.attribute());
        }
    }
}

/// Whether other rows follow from those of the entity: by its own effects, as copies that are kept in step, or as large values.
pub(crate) fn has_effects(model: &Model, entity: &Entity) -> bool {
    let leads = |effect: &Effect| match effect {
        Effect::Copy(copy) => copy.from == entity.name() && copy.in_step.is_some(),
        Effect::Head(head) => {
            let follows = head.follows.as_ref();
            follows.is_some_and(|follows| follows.entity == entity.name())
        }
        _ => false,
    };
    entity.is_followed()
        || model
            .entities()
            .iter()
            .any(|other| other.effects().iter().any(leads))
}

/// An update with what follows from it, and the condition that the row is still as it was read.
fn changed(
    handle: Handle<'_>,
    entity: &Entity,
    identity: &Item,
    changes: &[Action],
    row: Option<&Item>,
) -> Result<(Update, Option<Condition>), Error> {
    let mut actions = changes.to_vec();
    let mut guard = None;
    if !handle.applied {
        if let Followed::Known {
            actions: more,
            guards,
        } = follow(entity, identity, changes, row)?
        {
            actions.extend(more);
            guard = guards.into_iter().fold(None, |all, one| both(all, Some(one)));
        }
        if let Some(updated) = entity.updated() {
            let now = time(entity, updated, handle.now().as_millis());
            actions.push(set(updated, now));
        }
    }
    Ok((Update::new(actions), guard))
}

/// The table's key of a row with these attributes.
pub(crate) fn key(table: &Table, entity: &Entity, attributes: &Item) -> Result<Item, Error> {
    let mut key = Item::with_capacity(2);
    for template in entity.table_key() {
        let value = template
            .render(attributes)
            .map_err(|error| refused(entity, error))?;
        key.insert(template.attribute(), value);
    }
    debug_assert_eq!(key.len(), table.key().attributes().count());
    Ok(key)
}

pub(crate) fn refused(entity: &Entity, error: RenderError) -> Error {
    let entity = entity.name().to_owned();
    Error::Refused(match error {
        RenderError::Missing { attribute } => Refusal::Missing {
            entity,
            attribute,
            key: None,
        },
        RenderError::Unfit { attribute, reason } => Refusal::Unfit {
            entity,
            attribute,
            reason,
        },
    })
}

pub(crate) fn both(one: Option<Condition>, two: Option<Condition>) -> Option<Condition> {
    match (one, two) {
        (Some(one), Some(two)) => Some(Condition::And(vec![one, two])),
        (one, two) => one.or(two),
    }
}
