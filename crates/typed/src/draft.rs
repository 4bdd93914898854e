//! A write before it is sent: the changes and the conditions.

use trestle_expr::{Action, Condition, Path, SetOperand, SetValue, Update};
use trestle_item::{AttributeValue, Item};
use trestle_model::{Effect, Entity, KeyTemplate, Model, Refusal, RenderError, Table};

use crate::handle::Handle;
use crate::{Error, If};

/// A write, alone or as a part of a transaction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(crate) entity: &'static str,
    pub(crate) what: What,
    pub(crate) presence: Presence,
    pub(crate) given: Option<Condition>,
}

/// The action of a write.
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

/// Whether the row must exist before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Any,
    Absent,
    Present,
}

/// A write in the form of requests.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) table_name: String,
    pub(crate) key: Item,
    pub(crate) write: PreparedWrite,
    pub(crate) condition: Option<Condition>,
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

    /// The row's key.
    pub(crate) fn key(&self, handle: Handle<'_>) -> Result<Item, Error> {
        let (_, table, entity) = handle.definition.entity(self.entity)?;
        match &self.what {
            What::Put(given) | What::Update(given, _) | What::Delete(given) | What::Check(given) => {
                key(table, entity, given)
            }
        }
    }

    /// The write in the form of requests.
    pub(crate) fn prepare(&self, handle: Handle<'_>) -> Result<Prepared, Error> {
        let (model, table, entity) = handle.definition.entity(self.entity)?;
        self.check_consequences(handle, model, entity)?;
        let key = self.key(handle)?;
        let write = match &self.what {
            What::Put(item) => PreparedWrite::Put(self.whole(handle, item.clone(), &key)?),
            What::Update(_, changes) => {
                check(entity, changes)?;
                PreparedWrite::Update(Update::new(changes.clone()))
            }
            What::Delete(_) => PreparedWrite::Delete,
            What::Check(_) => PreparedWrite::Check,
        };
        Ok(Prepared {
            table_name: table.table_name().to_owned(),
            key,
            write,
            condition: both(self.presence_condition(table), self.given.clone()),
        })
    }

    /// Heads, inverses, counters and other derived rows are written in the commit, and so are keys and times
    /// that an update changes. A database that would not write them gets no request.
    fn check_consequences(&self, handle: Handle<'_>, model: &Model, entity: &Entity) -> Result<(), Error> {
        let is_followed = match &self.what {
            What::Put(_) | What::Delete(_) => has_effects(model, entity),
            What::Update(_, changes) => has_effects(model, entity) || derives(entity, changes),
            What::Check(_) => false,
        };
        if handle.applied || !is_followed {
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

    /// The item with all derived attributes.
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
            // The database uses the time of the commit, and knows when a row was first written.
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

/// Leaves out attributes that the database keeps in a row, so that a row that was read can be written back
/// whatever happened to its counts, copies and version meanwhile. Index keys may contain these attributes.
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

/// Whether rows of the entity have derived rows: by its effects, as copies that are kept in step, or as large
/// values.
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

/// Whether a change of a row changes attributes that the entity does not list: keys of indexes, or the time
/// of the change.
fn derives(entity: &Entity, changes: &[Action]) -> bool {
    let changes_field = |template: &KeyTemplate| {
        let fields = template.fields();
        let mut changed = changes.iter().map(|change| change.path().attribute.as_str());
        changed.any(|attribute| fields.contains(&attribute))
    };
    let is_derived = |template: &KeyTemplate| entity.attribute(template.attribute()).is_none();
    let mut templates = entity.index_keys().iter();
    entity.updated().is_some() || templates.any(|template| is_derived(template) && changes_field(template))
}

/// Checks that values to be set match the entity; the types cover only a part of that.
fn check(entity: &Entity, changes: &[Action]) -> Result<(), Error> {
    for change in changes {
        let Action::Set(path, SetValue::Operand(SetOperand::Value(value))) = change else {
            continue;
        };
        let Some(attribute) = entity.attribute(&path.attribute).filter(|_| !path.is_nested()) else {
            continue;
        };
        attribute.check(value).map_err(|reason| Refusal::Unfit {
            entity: entity.name().to_owned(),
            attribute: attribute.name.clone(),
            reason,
        })?;
    }
    Ok(())
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
