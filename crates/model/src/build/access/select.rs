//! Conditions on attributes to conditions on keys.

use trestle_expr::KeyAttribute;

use super::{Target, key_test};
use crate::access::{Expression, ExpressionPiece, KeyTest, KeyTestOp};
use crate::attribute::AttributeKind;
use crate::build::Builder;
use crate::draft::{DraftAccess, DraftTest, Operand, Test};
use crate::entity::Entity;
use crate::model::KeySchema;
use crate::template::{KeyTemplate, Part, Slot};

/// Which part of a table or index is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Conditions on key attributes: all of the hash, then the range from its first on.
    pub(super) tests: Vec<KeyTest>,
    /// How many of them are on the hash.
    hash: usize,
    /// Attributes whose values are needed to read one partition.
    pub(super) missing: Vec<String>,
    /// Attributes whose tests are done completely by the key conditions.
    pub(super) used: Vec<String>,
}

impl Selection {
    /// Whether the whole key is known. In an index, several rows may share one.
    pub(super) fn is_one_row(&self, target: &Target) -> bool {
        let equal = self
            .tests
            .iter()
            .filter(|test| matches!(test.op, KeyTestOp::Eq(_)));
        target.index.is_none()
            && self.missing.is_empty()
            && equal.count() == target.key().attributes().count()
    }
}

/// Why conditions cannot become one key condition.
struct Fault {
    message: String,
    help: String,
}

impl Builder<'_, '_, '_> {
    /// The key conditions that all entities have in common.
    pub(super) fn selection(
        &mut self,
        draft: &DraftAccess,
        target: &Target,
        what: &str,
    ) -> Option<Selection> {
        let mut together: Option<Selection> = None;
        for entity in &target.entities {
            let one = match of_entity(entity, target, &draft.tests) {
                Ok(one) => one,
                Err(fault) => {
                    self.problems
                        .error(draft.name.at, format!("{what}: {}", fault.message), fault.help);
                    return None;
                }
            };
            together = match together {
                None => Some(one),
                Some(other) => match merge(other, one) {
                    Ok(merged) => Some(merged),
                    Err(reason) => {
                        let names: Vec<&str> = target.entities.iter().map(Entity::name).collect();
                        self.problems.error(
                            draft.name.at,
                            format!("{what} returns {}, but {reason}", crate::problem::listed(names)),
                            "make one access pattern for each of them",
                        );
                        return None;
                    }
                },
            };
        }
        together
    }
}

/// Whether the tests are enough to read one partition.
pub(super) fn can_serve(entity: &Entity, key: &KeySchema, tests: &[DraftTest]) -> bool {
    key.hash.iter().all(|attribute| {
        entity
            .key_template(&attribute.name)
            .is_some_and(|template| template.slots().all(|slot| equal_to(slot, tests).is_some()))
    }) && key
        .range
        .iter()
        .all(|attribute| entity.key_template(&attribute.name).is_some())
}

fn equal_to(slot: &Slot, tests: &[DraftTest]) -> Option<Operand> {
    let test = tests
        .iter()
        .find(|test| test.attribute.value == slot.attribute.name)?;
    match &test.test {
        Test::Eq(operand) => Some(operand.clone()),
        _ => None,
    }
}

fn of_entity(entity: &Entity, target: &Target, tests: &[DraftTest]) -> Result<Selection, Fault> {
    let key = target.key();
    let mut selection = Selection::default();
    for attribute in &key.hash {
        let template = template_of(entity, attribute, target)?;
        select_hash(attribute, template, tests, &mut selection);
    }
    selection.hash = selection.tests.len();
    for attribute in &key.range {
        let template = template_of(entity, attribute, target)?;
        if !select_range(attribute, template, tests, &mut selection)? {
            break;
        }
    }
    Ok(selection)
}

fn template_of<'e>(
    entity: &'e Entity,
    attribute: &KeyAttribute,
    target: &Target,
) -> Result<&'e KeyTemplate, Fault> {
    entity.key_template(&attribute.name).ok_or_else(|| Fault {
        message: format!(
            "`{}` is never in {}: it has no key `{}`",
            entity.name,
            target.shown(),
            attribute.name
        ),
        help: format!(
            "give it `key.{} = \"…\"`, or do not return it",
            super::super::entity::toml_key(&attribute.name)
        ),
    })
}

fn select_hash(
    attribute: &KeyAttribute,
    template: &KeyTemplate,
    tests: &[DraftTest],
    selection: &mut Selection,
) {
    let expression = Expression::of(&template.parts, |slot| equal_to(slot, tests));
    for slot in template.slots() {
        let name = &slot.attribute.name;
        if equal_to(slot, tests).is_some() {
            selection.used.push(name.clone());
        } else if !selection.missing.contains(name) {
            selection.missing.push(name.clone());
        }
    }
    if expression.pieces.len() == template.parts.len() {
        selection
            .tests
            .push(key_test(attribute, KeyTestOp::Eq(expression)));
    }
}

/// Adds the condition on one range attribute; whether the next one may have a condition, too.
fn select_range(
    attribute: &KeyAttribute,
    template: &KeyTemplate,
    tests: &[DraftTest],
    selection: &mut Selection,
) -> Result<bool, Fault> {
    let expression = Expression::of(&template.parts, |slot| equal_to(slot, tests));
    let known = expression.pieces.len();
    for part in template.parts.iter().take(known) {
        if let Part::Slot(slot) = part {
            selection.used.push(slot.attribute.name.clone());
        }
    }
    let Some(Part::Slot(slot)) = template.parts.get(known) else {
        selection
            .tests
            .push(key_test(attribute, KeyTestOp::Eq(expression)));
        return Ok(true);
    };
    let last = known + 1 == template.parts.len();
    let test = tests
        .iter()
        .find(|test| test.attribute.value == slot.attribute.name);
    let ranged = test.map(|test| ranged(&expression, template, slot, &test.test, last));
    match ranged {
        Some(Some(Ok((op, exact)))) => {
            selection.tests.push(key_test(attribute, op));
            if exact {
                selection.used.push(slot.attribute.name.clone());
            }
        }
        Some(Some(Err(fault))) => return Err(fault),
        _ if !expression.is_empty() => selection
            .tests
            .push(key_test(attribute, KeyTestOp::BeginsWith(expression))),
        _ => {}
    }
    Ok(false)
}

/// A comparison with a field's value as a comparison with the key, and whether the two are equivalent. `None`
/// if keys have no such comparison.
fn ranged(
    before: &Expression,
    template: &KeyTemplate,
    slot: &Slot,
    test: &Test<Operand>,
    last: bool,
) -> Option<Result<(KeyTestOp, bool), Fault>> {
    if matches!(test, Test::Eq(_) | Test::Ne(_) | Test::OneOf(_) | Test::Exists(_)) {
        return None;
    }
    let whole = before.is_empty() && last;
    let sorted = slot.sorts() || (whole && slot.attribute.kind.scalar_type() == Some(template.kind));
    if !sorted {
        return Some(Err(unsorted(template, slot)));
    }
    let is_version = slot.attribute.kind == AttributeKind::Semver;
    if !last && !is_version && slot.fixed_length().is_none() && !matches!(test, Test::BeginsWith(_)) {
        return Some(Err(Fault {
            message: format!(
                "compares `{}`, which is neither last in {:?} nor of one length, so its keys do not sort by it",
                slot.attribute.name, template.source
            ),
            help: "move it to the end of the template, or give it a fixed `length`".to_owned(),
        }));
    }
    let at = |operand: &Operand| before.followed_by(slot, operand);
    // More text follows a value that is not last; then the value itself is less than all its keys.
    let behind = |operand: &Operand| {
        match slot.ends_before {
            _ if last => at(operand),
            // A version continues in longer ones; in all its keys the separator is next.
            Some(separator) => at(operand).followed_by_text(separator).to_its_end(),
            None => at(operand).to_its_end(),
        }
    };
    let open = before.is_empty();
    Some(Ok(match test {
        Test::BeginsWith(operand) => (KeyTestOp::BeginsWith(at(operand)), true),
        Test::Between(low, high) => (KeyTestOp::Between(at(low), behind(high)), true),
        Test::Lt(operand) if open => (KeyTestOp::Lt(at(operand)), true),
        Test::Le(operand) if open => (KeyTestOp::Le(behind(operand)), true),
        Test::Gt(operand) if open => (KeyTestOp::Gt(behind(operand)), true),
        Test::Ge(operand) if open => (KeyTestOp::Ge(at(operand)), true),
        // `between` includes its bounds: where the value itself must not be found, a filter removes it.
        Test::Lt(operand) => (KeyTestOp::Between(before.clone(), at(operand)), !last),
        Test::Le(operand) => (KeyTestOp::Between(before.clone(), behind(operand)), true),
        Test::Gt(operand) => (KeyTestOp::Between(behind(operand), before.to_its_end()), !last),
        Test::Ge(operand) => (KeyTestOp::Between(at(operand), before.to_its_end()), true),
        Test::Eq(_) | Test::Ne(_) | Test::OneOf(_) | Test::Exists(_) => return None,
    }))
}

/// Whether the key condition compares an attribute.
pub(super) fn compares(test: &KeyTest, name: &str) -> bool {
    let bounds = match &test.op {
        KeyTestOp::Between(low, high) => vec![low, high],
        KeyTestOp::Lt(bound) | KeyTestOp::Le(bound) | KeyTestOp::Gt(bound) | KeyTestOp::Ge(bound) => {
            vec![bound]
        }
        KeyTestOp::Eq(_) | KeyTestOp::BeginsWith(_) => Vec::new(),
    };
    let mut last = bounds.into_iter().filter_map(|bound| bound.pieces.last());
    last.any(|piece| matches!(piece, ExpressionPiece::Slot(slot, _) if slot.attribute.name == name))
}

fn unsorted(template: &KeyTemplate, slot: &Slot) -> Fault {
    let name = &slot.attribute.name;
    let (why, help) = if slot.attribute.kind.is_numeric() {
        (
            "does not sort as a number there",
            format!("pad it: `{{{name}:08}}`"),
        )
    } else {
        (
            "does not sort there, because it is escaped or folded",
            format!("write `{{{name}}}`"),
        )
    };
    Fault {
        message: format!("compares `{name}` in {:?}, which {why}", template.source),
        help,
    }
}

/// What two entities have in common: the same hash, and as much of the range as is the same.
fn merge(one: Selection, two: Selection) -> Result<Selection, String> {
    let hashes = one
        .tests
        .iter()
        .take(one.hash)
        .zip(two.tests.iter().take(two.hash));
    for (left, right) in hashes {
        if !same(&left.op, &right.op) {
            return Err(format!(
                "`{}` is made differently in each of them",
                left.attribute
            ));
        }
    }
    let mut missing = one.missing;
    missing.extend(
        two.missing
            .into_iter()
            .filter(|name| !missing.contains(name))
            .collect::<Vec<_>>(),
    );
    let mut merged = Selection {
        tests: one.tests.iter().take(one.hash).cloned().collect(),
        hash: one.hash,
        missing,
        used: Vec::new(),
    };
    let mut complete = true;
    let mut lefts = one.tests.iter().skip(one.hash);
    let mut rights = two.tests.iter().skip(two.hash);
    loop {
        match (lefts.next(), rights.next()) {
            (None, None) => break,
            (Some(left), Some(right)) if same(&left.op, &right.op) => merged.tests.push(left.clone()),
            (left, right) => {
                complete = false;
                merged.tests.extend(common(left, right)?);
                break;
            }
        }
    }
    merged.used = one
        .used
        .into_iter()
        .filter(|name| two.used.contains(name))
        .collect();
    if !complete {
        // A condition that is covered only in part is filtered as well; the condition on the hash always
        // holds.
        let of_hash: Vec<String> = merged
            .tests
            .iter()
            .take(merged.hash)
            .flat_map(|test| slots_of(&test.op))
            .collect();
        merged.used.retain(|name| of_hash.contains(name));
    }
    Ok(merged)
}

fn slots_of(op: &KeyTestOp) -> Vec<String> {
    let KeyTestOp::Eq(expression) = op else {
        return Vec::new();
    };
    let names = expression.pieces.iter().filter_map(|piece| match piece {
        ExpressionPiece::Slot(slot, _) => Some(slot.attribute.name.clone()),
        ExpressionPiece::Literal(_) => None,
    });
    names.collect()
}

fn same(one: &KeyTestOp, two: &KeyTestOp) -> bool {
    match (one, two) {
        (KeyTestOp::Eq(a), KeyTestOp::Eq(b))
        | (KeyTestOp::Lt(a), KeyTestOp::Lt(b))
        | (KeyTestOp::Le(a), KeyTestOp::Le(b))
        | (KeyTestOp::Gt(a), KeyTestOp::Gt(b))
        | (KeyTestOp::Ge(a), KeyTestOp::Ge(b))
        | (KeyTestOp::BeginsWith(a), KeyTestOp::BeginsWith(b)) => a.signature() == b.signature(),
        (KeyTestOp::Between(a, b), KeyTestOp::Between(c, d)) => {
            a.signature() == c.signature() && b.signature() == d.signature()
        }
        _ => false,
    }
}

/// A prefix that two different conditions share, ending at a separator; nothing if they share none.
fn common(one: Option<&KeyTest>, two: Option<&KeyTest>) -> Result<Option<KeyTest>, String> {
    let beginning = |test: Option<&KeyTest>| match test.map(|test| &test.op) {
        None => Some(Expression::default()),
        Some(KeyTestOp::Eq(expression) | KeyTestOp::BeginsWith(expression)) => Some(expression.clone()),
        Some(_) => None,
    };
    let (Some(left), Some(right)) = (beginning(one), beginning(two)) else {
        return Err("a comparison on their sort keys cannot be asked of all of them at once".to_owned());
    };
    let shared = left.common_beginning(&right);
    let test = one.filter(|_| !shared.is_empty());
    Ok(test.map(|test| KeyTest {
        op: KeyTestOp::BeginsWith(shared),
        ..test.clone()
    }))
}
