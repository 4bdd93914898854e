//! `history`: a row for each change of some attributes of a row, in the same commit.

use trestle_env::{Timestamp, parse_iso_8601};
use trestle_item::{AttributeValue, Item};

use super::Stopped;
use super::head::Group;
use super::ledger::{At, Ledger};
use super::plan::Parts;
use super::settle::Row;
use crate::attribute::timestamp_text;
use crate::effect::History;
use crate::entity::Entity;
use crate::refusal::Refusal;

/// What is known about a history before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    history: History,
    /// Position of the entity of its rows.
    entity: usize,
    /// How the rows of one history are found.
    group: Group,
    /// The attribute with the time at which a row expires.
    ttl: Option<String>,
}

impl Step {
    pub(super) fn of(parts: &Parts<'_>, entity: &Entity, history: &History) -> Option<Self> {
        let position = parts.position(&history.entity)?;
        let of_history = parts.entities.get(position)?;
        let table = parts.tables.get(of_history.table)?;
        Some(Step {
            group: Group::of(table, of_history, &entity.identity)?.guarded(),
            ttl: table.ttl.clone(),
            entity: position,
            history: history.clone(),
        })
    }

    /// A row's values of the attributes whose changes are kept.
    fn said<'i>(&self, row: Option<&'i Item>) -> Vec<Option<&'i AttributeValue>> {
        let names = self.history.of.iter();
        names.map(|name| row.and_then(|row| row.get(name))).collect()
    }

    /// A history row: its row's identity, the new values and the old ones.
    fn content(&self, row: &Row<'_>, new: &Item, at: Timestamp, now: Timestamp) -> Item {
        let own = row.entity.identity.iter().chain(&self.history.of);
        let own = own.filter_map(|name| Some((name.clone(), new.get(name)?.clone())));
        let mut content: Item = own.collect();
        for remembered in &self.history.previous {
            if let Some(value) = row.old.and_then(|old| old.get(&remembered.of)) {
                content.insert(remembered.attribute.clone(), value.clone());
            }
        }
        content.insert(
            self.history.at.clone(),
            AttributeValue::S(timestamp_text(at.as_millis())),
        );
        if let (Some(ttl), Some(seconds)) = (&self.ttl, self.history.expire_after_seconds) {
            let expires: AttributeValue = now.as_secs().saturating_add(seconds).into();
            content.insert(ttl.clone(), expires);
        }
        content
    }

    /// The time of the change in a history row.
    fn time_of(&self, row: &Item) -> Timestamp {
        let text = row.get(&self.history.at).and_then(AttributeValue::as_s);
        text.and_then(parse_iso_8601).unwrap_or_default()
    }
}

/// Adds a row to the history if its attributes have changed, and removes the oldest rows beyond the limit.
/// The history of a removed row stays.
pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    let Some(new) = new.filter(|new| step.said(Some(new)) != step.said(row.old)) else {
        return Ok(());
    };
    let of_history = ledger.model.known_entity(step.entity)?;
    let rows = step.group.rows(ledger, of_history, new)?;
    let mut kept: Vec<(Timestamp, At)> = rows.iter().map(|(at, row)| (step.time_of(row), *at)).collect();
    kept.sort_unstable();
    // Each time is later than the previous one, even if two changes have the same time or a clock was set
    // back.
    let after = kept.last().map_or(0, |(last, _)| last.as_millis() + 1);
    let at = Timestamp::from_millis(ledger.now.as_millis().max(after));
    let content = step.content(row, new, at, ledger.now);
    let place = ledger.find(of_history, of_history.key_from(&content)?)?;
    ledger.put(of_history, place, content);
    let surplus = (kept.len() + 1).saturating_sub(step.history.keep);
    for (_, oldest) in kept.into_iter().take(surplus) {
        ledger.remove(oldest);
    }
    Ok(())
}

/// A client may remove a history row, but not write one.
pub(super) fn keep(
    ledger: &mut Ledger<'_, '_>,
    at: At,
    kept: &Entity,
    entity: &Entity,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    if new.is_none() {
        ledger.remove(at);
    } else if ledger.row(at).as_deref() != new {
        return Err(Refusal::Kept {
            entity: kept.name.clone(),
            of: entity.name.clone(),
            attribute: None,
        }
        .into());
    }
    Ok(())
}
