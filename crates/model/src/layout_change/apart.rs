//! The proof that a key shows where its row is: no key belongs to both the former and the present layout.

use super::Hindrance;
use super::hindrance::shown_templates;
use super::plan::Both;
use crate::entity::Entity;
use crate::language::common_texts;
use crate::model::Model;
use crate::template::{KeyTemplate, Part, Slot};

/// Why keys of the two layouts could be confused.
pub(super) fn hindrances(
    former: &Model,
    present: &Model,
    all: &[Both<'_>],
    moving: &[Both<'_>],
) -> Vec<Hindrance> {
    let is_gone = |entity: &&Entity| !all.iter().any(|both| both.former.name == entity.name);
    let mut hindrances = Vec::new();
    for both in moving {
        let others = present.entities_of(both.table);
        for other in others {
            let is_own = other.name == both.own.name;
            if !(is_own && differ_in_width_only(both.former, both.own)) {
                hindrances.extend(of_layouts(*both, other));
            }
            if !is_own {
                hindrances.extend(of_own_places(*both, other, all));
            }
        }
        let gone = former.entities_of(both.former_table).filter(is_gone);
        hindrances.extend(gone.filter_map(|gone| of_one_that_is_gone(*both, gone)));
    }
    hindrances
}

/// A key that belongs to an entity's former layout and to another's present layout.
fn of_layouts(both: Both<'_>, other: &Entity) -> Option<Hindrance> {
    let key = common_texts(&both.former.shape(), &other.shape())?;
    let owner = if other.name == both.own.name {
        "now".to_owned()
    } else {
        format!("of entity `{}`", other.name)
    };
    let message = format!(
        "had the key {}, and {} is a key of both that and {} {owner}: such a row could lie in either place",
        shown_templates(both.former),
        both.own.shown_key(&key),
        shown_templates(other),
    );
    let help = "begin the present key with a text of its own; or narrow what the former key is made of with `chars`, \
                `length` or `one_of`, in a separate version before this one";
    Some(Hindrance::new(both.own, message, help))
}

/// Rows of an entity that the present version lacks may still be where others belong.
fn of_one_that_is_gone(both: Both<'_>, gone: &Entity) -> Option<Hindrance> {
    let key = common_texts(&both.own.shape(), &gone.shape())?;
    let message = format!(
        "has the key {}, and {} was a key of entity `{}`, which is no longer in the model: its rows may still be there",
        shown_templates(both.own),
        both.own.shown_key(&key),
        gone.name
    );
    let help = format!(
        "give it keys of another shape; or take `{}` out of the model in a separate version before this one",
        gone.name
    );
    Some(Hindrance::new(both.own, message, help))
}

/// Entities whose present keys have the same shape must have had former keys of the same shape; otherwise one
/// present place would have two former ones.
fn of_own_places(both: Both<'_>, other: &Entity, all: &[Both<'_>]) -> Option<Hindrance> {
    let key = common_texts(&both.own.shape(), &other.shape())?;
    let theirs = all.iter().find(|known| known.own.name == other.name);
    let alike = theirs.is_some_and(|theirs| {
        let before = both.former.table_key.iter().zip(&theirs.former.table_key);
        let now = both.own.table_key.iter().zip(&other.table_key);
        before.chain(now).all(|(one, two)| one.renders_as(two))
    });
    if alike {
        return None;
    }
    let message = format!(
        "has keys that look like those of entity `{}`, such as {}, and before it had not: rows of both could belong in \
         one place",
        other.name,
        both.own.shown_key(&key)
    );
    let help = "give the two keys of different shapes, or move both alike";
    Some(Hindrance::new(both.own, message, help))
}

/// Whether a key of both layouts means the same row in both: only the padding of numbers differs, and each
/// number ends where its digits end.
pub(super) fn differ_in_width_only(former: &Entity, own: &Entity) -> bool {
    let templates = former.table_key.iter().zip(&own.table_key);
    templates
        .into_iter()
        .all(|(before, now)| template_differs_in_width_only(before, now))
}

fn template_differs_in_width_only(before: &KeyTemplate, now: &KeyTemplate) -> bool {
    let alike = |at: usize, one: &Part, two: &Part| match (one, two) {
        (Part::Slot(one), Part::Slot(two)) => {
            let next = before.parts.get(at + 1);
            slot_differs_in_width_only(one, two, next)
        }
        _ => one.renders_as(two),
    };
    let parts = before.parts.iter().zip(&now.parts).enumerate();
    before.parts.len() == now.parts.len() && parts.into_iter().all(|(at, (one, two))| alike(at, one, two))
}

fn slot_differs_in_width_only(before: &Slot, now: &Slot, next: Option<&Part>) -> bool {
    if before.width == now.width {
        return before.renders_as(now) && before.fixed_length() == now.fixed_length();
    }
    let mut padded = before.clone();
    padded.width = now.width;
    let ends = match next {
        None => true,
        Some(Part::Literal(text)) => !text.starts_with(|c: char| c.is_ascii_digit()),
        Some(Part::Slot(_)) => false,
    };
    padded.renders_as(now) && ends
}
