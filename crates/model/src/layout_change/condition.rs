//! Key conditions of clients that still use the former layout.

use trestle_expr::{KeyOp, KeySelection};
use trestle_item::{AttributeValue, Map};

use super::LayoutChange;
use super::known::{Filled, beginning_with, said_by};
use super::pair::{MovedEntity, given};
use super::plan::MovedTable;
use crate::entity::Entity;
use crate::refusal::Refusal;
use crate::template::{KeyTemplate, Said};

impl LayoutChange {
    pub(super) fn renewed_selection(
        &self,
        moved: &MovedTable,
        selection: &KeySelection,
    ) -> Result<Option<KeySelection>, Refusal> {
        let Some(table) = self.present.tables.get(moved.present) else {
            return Ok(None);
        };
        // A condition that is valid in the present layout is read as such.
        let mut present = self.present.entities_of(table);
        if present.any(|entity| said_by(entity, selection).is_some()) {
            return Ok(None);
        }
        let mut renewed: Option<KeySelection> = None;
        let mut meant: Vec<usize> = Vec::new();
        for moving in self.moving(moved) {
            let Some(said) = said_by(moving.former, selection) else {
                continue;
            };
            let own = moving.renewed_selection(selection, &said)?;
            let own = own.filter(|own| renewed.as_ref().is_none_or(|known| known == own));
            renewed = Some(own.ok_or_else(|| no_longer_together(moving.own))?);
            meant.push(moving.own.position);
        }
        let Some(renewed) = renewed else {
            return Ok(None);
        };
        let mut strangers = self.present.entities_of(table);
        let stranger =
            strangers.find(|entity| !meant.contains(&entity.position) && said_by(entity, &renewed).is_some());
        match stranger {
            Some(stranger) => Err(no_longer_together(stranger)),
            None => Ok(Some(renewed)),
        }
    }
}

fn no_longer_together(entity: &Entity) -> Refusal {
    Refusal::FormerCondition {
        entity: entity.name.clone(),
    }
}

impl MovedEntity<'_> {
    /// The selection of the same rows in the present layout; `None` if no selection has exactly these rows.
    fn renewed_selection(
        &self,
        selection: &KeySelection,
        said: &Said,
    ) -> Result<Option<KeySelection>, Refusal> {
        self.check_fixed(said)?;
        let hash = self.own.table_key.iter().take(1);
        let hash: Result<Vec<AttributeValue>, Refusal> =
            hash.map(|template| self.render_own(template, said)).collect();
        let hash = hash?;
        let (Some(before), Some(now)) = (self.former.table_key.get(1), self.own.table_key.get(1)) else {
            return Ok(Some(beginning_with(hash, String::new())));
        };
        if !selection.range_equal.is_empty() {
            return Ok(Some(KeySelection {
                hash,
                range_equal: vec![self.render_own(now, said)?],
                range_last: None,
            }));
        }
        let renewed = if before.renders_as(now) {
            Some(KeySelection {
                hash,
                ..selection.clone()
            })
        } else {
            self.renewed_range(before, now, hash, selection, said)
        };
        // Everything that distinguished its rows from others must still do so.
        let told = |renewed: &KeySelection| {
            said_by(self.own, renewed).is_some_and(|now| {
                let known =
                    |name: &String| now.values.contains_key(name) || self.pair.fixed.contains_key(name);
                said.values.keys().all(known)
            })
        };
        Ok(renewed.filter(told))
    }

    /// The same range of the sort keys.
    fn renewed_range(
        &self,
        before: &KeyTemplate,
        now: &KeyTemplate,
        hash: Vec<AttributeValue>,
        selection: &KeySelection,
        said: &Said,
    ) -> Option<KeySelection> {
        let before = Filled::new(before, said, &Map::new()).ok()?;
        let now = Filled::new(now, said, &self.pair.assumed).ok()?;
        let whole = match &selection.range_last {
            None => true,
            Some(KeyOp::BeginsWith(text)) => text.as_s() == Some(&before.beginning),
            Some(_) => false,
        };
        if whole {
            return Some(beginning_with(hash, now.beginning));
        }
        let moved = |value: &AttributeValue| {
            let rest = value.as_s()?.strip_prefix(&before.beginning)?;
            Some(AttributeValue::S(format!("{}{rest}", now.beginning)))
        };
        let range_last = match selection
            .range_last
            .as_ref()
            .filter(|_| before.goes_on_as(&now))?
        {
            KeyOp::Eq(value) => KeyOp::Eq(moved(value)?),
            KeyOp::BeginsWith(value) => KeyOp::BeginsWith(moved(value)?),
            KeyOp::Between(low, high) => KeyOp::Between(moved(low)?, moved(high)?),
            // Beyond an open end are rows that had other beginnings.
            _ => return None,
        };
        Some(KeySelection {
            hash,
            range_equal: Vec::new(),
            range_last: Some(range_last),
        })
    }

    fn render_own(&self, template: &KeyTemplate, said: &Said) -> Result<AttributeValue, Refusal> {
        let value = template.render_given(|slot| given(slot, said, &self.pair.assumed));
        value.map_err(|error| self.untold(said, error))
    }
}
