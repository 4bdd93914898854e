//! Index keys that follow from an update, for a database that does not derive them itself.

use trestle_expr::{Action, Comparator, Condition, Operand, Path, SetOperand, SetValue, Update};
use trestle_item::{AttributeValue, Item};
use trestle_model::{Entity, KeyTemplate, Refusal, RenderError, timestamp_text};

use crate::Error;
use crate::draft::refused;

/// What an update does to index keys.
pub(crate) enum Followed {
    /// These changes, as long as the guards hold.
    Known {
        actions: Vec<Action>,
        guards: Vec<Condition>,
    },
    /// That depends on attributes of the row.
    NeedsRow,
}

/// What follows from changes of a row, whose attributes are known as far as `row` is.
pub(crate) fn follow(
    entity: &Entity,
    identity: &Item,
    changes: &[Action],
    row: Option<&Item>,
) -> Result<Followed, Error> {
    let (mut actions, mut guards) = (Vec::new(), Vec::new());
    for template in entity.index_keys().iter().filter(|key| is_derived(entity, key)) {
        let fields = template.fields();
        if !fields.iter().any(|field| change_of(changes, field).is_some()) {
            continue;
        }
        let open: Vec<&str> = fields
            .into_iter()
            .filter(|field| !identity.contains_key(field) && !is_plain(change_of(changes, field)))
            .collect();
        let before = match row {
            None if !open.is_empty() => return Ok(Followed::NeedsRow),
            None => identity.clone(),
            Some(row) => known(row, identity),
        };
        guards.extend(open.iter().map(|field| unchanged(field, before.get(field))));
        actions.push(derived(entity, template, before, changes)?);
    }
    // Two templates may rest on the same attribute.
    let mut seen: Vec<Condition> = Vec::new();
    guards.retain(|guard| {
        let new = !seen.contains(guard);
        if new {
            seen.push(guard.clone());
        }
        new
    });
    Ok(Followed::Known { actions, guards })
}

/// Values that are set must be what the entity says; the types see only to the rest.
pub(crate) fn check(entity: &Entity, changes: &[Action]) -> Result<(), Error> {
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

/// A key attribute that the entity has as an attribute is set as such.
fn is_derived(entity: &Entity, template: &KeyTemplate) -> bool {
    entity.attribute(template.attribute()).is_none()
}

fn change_of<'c>(changes: &'c [Action], field: &str) -> Option<&'c Action> {
    changes.iter().find(|change| change.path().attribute == field)
}

/// Whether the attribute is known after the change without knowing it before.
fn is_plain(change: Option<&Action>) -> bool {
    matches!(
        change,
        Some(Action::Set(_, SetValue::Operand(SetOperand::Value(_))) | Action::Remove(_))
    )
}

fn known(row: &Item, identity: &Item) -> Item {
    let mut known = row.clone();
    for (name, value) in identity {
        known.insert(name.clone(), value.clone());
    }
    known
}

fn unchanged(field: &str, value: Option<&AttributeValue>) -> Condition {
    let path = Path::top(field);
    match value {
        None => Condition::NotExists(path),
        Some(value) => Condition::Compare {
            left: Operand::Path(path),
            comparator: Comparator::Equal,
            right: Operand::Value(value.clone()),
        },
    }
}

fn derived(
    entity: &Entity,
    template: &KeyTemplate,
    mut item: Item,
    changes: &[Action],
) -> Result<Action, Error> {
    let relevant = changes
        .iter()
        .filter(|change| template.fields().contains(&change.path().attribute.as_str()));
    Update::new(relevant.cloned().collect())
        .apply(&mut item)
        .map_err(trestle_api::Error::from)?;
    match template.render(&item) {
        Ok(value) => Ok(set(template.attribute(), value)),
        Err(RenderError::Missing { .. }) => Ok(Action::Remove(Path::top(template.attribute()))),
        Err(error) => Err(refused(entity, error)),
    }
}

pub(crate) fn set(attribute: &str, value: AttributeValue) -> Action {
    Action::Set(Path::top(attribute), SetValue::Operand(SetOperand::Value(value)))
}

/// The time as the entity keeps it.
pub(crate) fn time(entity: &Entity, attribute: &str, now_ms: u64) -> AttributeValue {
    match entity.attribute(attribute) {
        Some(attribute) => attribute.time(now_ms),
        None => AttributeValue::S(timestamp_text(now_ms)),
    }
}
