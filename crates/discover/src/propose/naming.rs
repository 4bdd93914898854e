//! Names of entities: a tag, a given name, or the literals of its key.

use std::collections::BTreeSet;

use crate::draft::{Draft, DraftKey, Part};
use crate::facts::TableFacts;
use crate::name;
use crate::token::is_shouted;

/// Names the drafts of a table. Names are unique, also among previous tables.
pub(super) fn name(
    drafts: &mut [Draft],
    hinted: &[Option<String>],
    facts: &TableFacts,
    taken: &mut BTreeSet<String>,
) {
    let tags: BTreeSet<String> = drafts.iter().filter_map(|draft| draft.tag.clone()).collect();
    let wanted: Vec<String> = drafts
        .iter()
        .zip(hinted)
        .map(|(draft, hint)| wanted(draft, hint.as_deref(), drafts, facts))
        .collect();
    for (draft, wanted) in drafts.iter_mut().zip(wanted) {
        // The name of an entity without a tag is its tag.
        let is_other_tag = |name: &str| draft.tag.is_none() && tags.contains(name);
        let name = name::free(wanted, |name| taken.contains(name) || is_other_tag(name));
        taken.insert(name.clone());
        let old = std::mem::replace(&mut draft.name, name);
        for note in &mut draft.notes {
            *note = note.replace(&format!("`{old}`"), &format!("`{}`", draft.name));
        }
    }
}

fn wanted(draft: &Draft, hint: Option<&str>, drafts: &[Draft], facts: &TableFacts) -> String {
    if let Some(known) = draft.tag.as_deref().or(hint) {
        return name::entity(known);
    }
    let Some(short) = short(draft) else {
        return name::entity(&facts.name);
    };
    let alone = drafts
        .iter()
        .filter(|other| self::short(other) == Some(short))
        .count()
        == 1;
    if alone {
        return name::entity(short);
    }
    let words: Vec<&str> = draft.keys.iter().flat_map(telling_words).collect();
    name::entity(&words.join("_"))
}

/// The last key with a literal gives the best name: `USER#…`, `ORDER#…` is an order.
fn short(draft: &Draft) -> Option<&str> {
    draft.keys.iter().rev().find_map(word)
}

/// The last word that describes the kind of row.
fn word(key: &DraftKey) -> Option<&str> {
    telling_words(key).last().copied()
}

/// The words of a template's literals: those in capitals, because others may be values that all rows share;
/// if there are none, the last one.
fn telling_words(key: &DraftKey) -> Vec<&str> {
    let literals = key.parts.iter().filter_map(|part| match part {
        Part::Literal(text) => Some(text.as_str()),
        Part::Field { .. } => None,
    });
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let words: Vec<&str> = literals
        .flat_map(|text| text.split(move |c| !is_inside(c)))
        .filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() >= 2)
        .collect();
    let shouted: Vec<&str> = words.iter().copied().filter(|word| is_shouted(word)).collect();
    match words.last() {
        Some(last) if shouted.is_empty() => vec![*last],
        _ => shouted,
    }
}
