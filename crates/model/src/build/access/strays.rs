//! Rows of other entities that a query would read too.

use super::Target;
use crate::access::{Expression, KeyTest, KeyTestOp, Operation, TagFilter};
use crate::build::Builder;
use crate::draft::DraftAccess;
use crate::entity::Entity;
use crate::language::{Language, Piece};

impl Builder<'_, '_, '_> {
    /// The entities whose rows may be among those read, and the filter that excludes them.
    pub(super) fn strays(
        &mut self,
        draft: &DraftAccess,
        target: &Target,
        tests: &[KeyTest],
        operation: Operation,
        what: &str,
    ) -> (Vec<String>, Option<TagFilter>) {
        if operation == Operation::GetItem {
            return (Vec::new(), None);
        }
        let read: Vec<(&str, Language)> = tests
            .iter()
            .map(|test| (test.attribute.as_str(), language(&test.op)))
            .collect();
        let others = target
            .table
            .entities
            .iter()
            .filter_map(|at| self.entities.get(*at));
        let strays: Vec<String> = others
            .filter(|other| !target.entities.iter().any(|entity| entity.name == other.name))
            .filter(|other| is_among(other, target, &read))
            .map(|other| other.name.clone())
            .collect();
        let Some(attribute) = target
            .table
            .entity_attribute
            .as_ref()
            .filter(|_| !strays.is_empty())
        else {
            return (strays, None);
        };
        if !target.holds(attribute) {
            self.problems.warning(draft.name.at, format!("{what} also reads rows of {}, and {} does not project `{attribute}`, so they are told apart only after reading", crate::problem::listed(strays.iter().map(String::as_str)), target.shown()), format!("add `{attribute}` to its `project`"));
            return (strays, None);
        }
        let tags = target.entities.iter().map(|entity| entity.tag.clone()).collect();
        let filter = TagFilter {
            attribute: attribute.clone(),
            tags,
        };
        (strays, Some(filter))
    }
}

fn is_among(other: &Entity, target: &Target, read: &[(&str, Language)]) -> bool {
    let in_index = target
        .key()
        .attributes()
        .all(|key| other.key_template(&key.name).is_some());
    let pairs = || {
        let templates = read
            .iter()
            .map(|(attribute, language)| (other.key_template(attribute), language));
        templates.filter_map(|(template, language)| Some((template?, language)))
    };
    // Most entities differ in the first characters, and then no automaton is needed.
    in_index
        && !pairs().any(|(template, language)| language.begins_apart(template.beginning()))
        && pairs().all(|(template, language)| template.language().common(language).is_some())
}

/// Every key value a condition may read.
fn language(op: &KeyTestOp) -> Language {
    let pieces = match op {
        KeyTestOp::Eq(expression) => expression.pieces_of_language(),
        KeyTestOp::BeginsWith(expression) => going_on(expression.pieces_of_language()),
        KeyTestOp::Between(low, high) => going_on(shared(low, high)),
        KeyTestOp::Lt(_) | KeyTestOp::Le(_) | KeyTestOp::Gt(_) | KeyTestOp::Ge(_) => vec![Piece::anything()],
    };
    Language::of(&pieces)
}

fn going_on(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.push(Piece::anything());
    pieces
}

/// The keys between two bounds share the beginning that the bounds share.
fn shared(low: &Expression, high: &Expression) -> Vec<Piece> {
    low.common_beginning(high).pieces_of_language()
}
