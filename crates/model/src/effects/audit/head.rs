//! The relation of a row to the head of its group, as far as an audit can determine it.

use std::sync::Arc;

use trestle_item::Item;

use super::Looked;
use super::memo::Memo;
use super::relation::Relation;
use crate::effects::head;
use crate::entity::Entity;
use crate::model::Model;
use trestle_api::Error;
use trestle_hook::Rows;

/// A row of a group, and the head of the group.
pub(super) struct Standing {
    pub(super) head: Option<Arc<Item>>,
    /// Whether the head stands for this row.
    pub(super) is_head: bool,
    /// Whether the row can be the newest.
    pub(super) takes_part: bool,
}

impl Standing {
    pub(super) fn of(
        model: &Model,
        relation: &Relation<'_>,
        step: &head::Step,
        looked: &Looked<'_>,
        memo: &mut Memo,
        rows: &dyn Rows,
    ) -> Result<Self, Error> {
        let row = &*looked.row;
        let head = memo.find(model, relation.other, |name| row.get(name), rows)?;
        let takes_part = match step.pointer.and_then(|pointer| model.entities.get(pointer)) {
            Some(pointer) => {
                let pointer = memo.find(model, pointer, |name| row.get(name), rows)?;
                pointer.is_some_and(|pointer| step.is_named(&pointer, row))
            }
            None => takes_part(step, row),
        };
        Ok(Standing {
            is_head: head
                .as_ref()
                .is_some_and(|head| stands_for(relation.of, head, row)),
            takes_part,
            head,
        })
    }
}

/// Table keys are injective, so that comparing identities is enough.
fn stands_for(entity: &Entity, head: &Item, row: &Item) -> bool {
    entity.identity.iter().all(|name| head.get(name) == row.get(name))
}

pub(super) fn takes_part(step: &head::Step, row: &Item) -> bool {
    let head = &step.head;
    !head.retired_by.iter().any(|name| row.contains_key(name))
        && head.newest_by.iter().all(|name| row.contains_key(name))
}

/// Whether a head has exactly the attributes that follow from its row, besides its own key and what it
/// remembers, and no tag but its own.
pub(super) fn is_made_by(
    model: &Model,
    of_head: &Entity,
    step: &head::Step,
    head: &Item,
    row: &Item,
) -> bool {
    let table = model.tables.get(of_head.table);
    let tag = table.and_then(|table| table.entity_attribute.as_ref());
    let is_own = |name: &String| {
        Some(name) == tag
            || of_head
                .key_template(name)
                .is_some_and(|template| !template.is_identity())
            || step
                .head
                .previous
                .iter()
                .any(|remembered| remembered.attribute == *name)
    };
    // A head that lacks its tag gets it when its row is derived.
    if model.is_tagged_otherwise(of_head, head) {
        return false;
    }
    let (mut own, mut same) = (0, 0);
    for (name, value) in head {
        if is_own(name) {
            own += 1;
        } else if !step.left_out.contains(name) && row.get(name) == Some(value) {
            same += 1;
        } else {
            return false;
        }
    }
    let made = row
        .keys()
        .filter(|name| !step.left_out.contains(name) && !is_own(name));
    own + same == head.len() && made.count() == same
}

/// Whether the newest row is marked as such.
pub(super) fn is_promoted(step: &head::Step, row: &Item) -> bool {
    let promote = &step.head.promote;
    promote
        .set
        .iter()
        .all(|(name, value)| row.get(name) == Some(value))
        && !promote.remove.iter().any(|name| row.contains_key(name))
}
