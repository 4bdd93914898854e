//! The branches of a `WHERE` clause, and what each says about the keys.

use trestle_expr::{Comparator, Condition, KeyAttribute, KeyOp, Operand};
use trestle_item::AttributeValue;

use crate::error::Result;
use crate::keys::{Keys, check_type, conjuncts, is_attribute};

/// A clause that would need more branches than this is not divided: the table is scanned instead.
const BRANCHES_MAX: usize = 256;

/// One way to fulfil the clause.
#[derive(Debug)]
pub(super) struct Branch<'c> {
    /// The partitions; empty if conditions on them contradict each other.
    pub(super) hashes: Vec<AttributeValue>,
    /// The sort keys: any of these; all if empty.
    sorts: Vec<KeyOp>,
    /// Conditions that are not answered by the key alone.
    pub(super) rest: Vec<&'c Condition>,
    /// Whether a negated condition on the sort key is among the others.
    pub(super) negated: bool,
}

impl Branch<'_> {
    /// Every partition with every condition on its sort key.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (&AttributeValue, Option<&KeyOp>)> {
        self.hashes.iter().flat_map(|hash| {
            let whole = self.sorts.is_empty().then_some((hash, None));
            whole
                .into_iter()
                .chain(self.sorts.iter().map(move |sort| (hash, Some(sort))))
        })
    }
}

/// The branches, if every one of them names its partitions.
pub(super) fn branches<'c>(condition: &'c Condition, keys: Keys<'_>) -> Result<Option<Vec<Branch<'c>>>> {
    let Some(alternatives) = alternatives(condition, keys) else {
        return Ok(None);
    };
    let mut branches = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        match branch(&alternative, keys)? {
            Some(branch) => branches.push(branch),
            None => return Ok(None),
        }
    }
    Ok(Some(branches))
}

/// Lists of conditions, of which one list must hold entirely. `None` if there would be too many.
fn alternatives<'c>(condition: &'c Condition, keys: Keys<'_>) -> Option<Vec<Vec<&'c Condition>>> {
    match condition {
        Condition::Or(all) if all.iter().any(|one| concerns_key(one, keys)) => {
            let mut either = Vec::new();
            for one in all {
                either.extend(alternatives(one, keys)?);
                if either.len() > BRANCHES_MAX {
                    return None;
                }
            }
            Some(either)
        }
        Condition::And(_) => {
            let mut joined: Vec<Vec<&Condition>> = vec![Vec::new()];
            for one in conjuncts(condition) {
                joined = multiply(&joined, &alternatives(one, keys)?)?;
            }
            Some(joined)
        }
        other => Some(vec![vec![other]]),
    }
}

fn multiply<'c>(
    left: &[Vec<&'c Condition>],
    right: &[Vec<&'c Condition>],
) -> Option<Vec<Vec<&'c Condition>>> {
    if left.len().saturating_mul(right.len()) > BRANCHES_MAX {
        return None;
    }
    let pairs = left
        .iter()
        .flat_map(|a| right.iter().map(move |b| [a.as_slice(), b.as_slice()].concat()));
    Some(pairs.collect())
}

/// Whether a condition on a key could be used to find items.
fn concerns_key(condition: &Condition, keys: Keys<'_>) -> bool {
    match condition {
        Condition::Or(all) | Condition::And(all) => all.iter().any(|one| concerns_key(one, keys)),
        other => keys
            .attributes()
            .any(|attribute| term(other, attribute).is_some() || negates(other, attribute)),
    }
}

/// The keys of one alternative; `None` if it names no partition.
fn branch<'c>(alternative: &[&'c Condition], keys: Keys<'_>) -> Result<Option<Branch<'c>>> {
    let Some(hashes) = hashes(alternative, keys)? else {
        return Ok(None);
    };
    let mut branch = Branch {
        hashes,
        sorts: Vec::new(),
        rest: Vec::new(),
        negated: false,
    };
    let mut directing: Option<&Condition> = None;
    for condition in alternative {
        if partitions(condition, keys).is_some() {
            continue;
        }
        let sorts = keys
            .range
            .and_then(|range| Some((range, term(condition, range)?)));
        match sorts {
            Some((range, ops)) => {
                ops.iter()
                    .flat_map(operands)
                    .try_for_each(|value| check_type(range, value))?;
                if directing.is_none() || rank(&ops) > rank(&branch.sorts) {
                    branch.rest.extend(directing.replace(condition));
                    branch.sorts = without_repetition(ops);
                } else {
                    branch.rest.push(condition);
                }
            }
            None => {
                branch.negated |= keys.range.is_some_and(|range| negates(condition, range));
                branch.rest.push(condition);
            }
        }
    }
    Ok(Some(branch))
}

/// The partitions that fulfil every condition on them; `None` if there is no such condition.
fn hashes(alternative: &[&Condition], keys: Keys<'_>) -> Result<Option<Vec<AttributeValue>>> {
    let mut hashes: Option<Vec<AttributeValue>> = None;
    for values in alternative
        .iter()
        .filter_map(|condition| partitions(condition, keys))
    {
        values.iter().try_for_each(|value| check_type(keys.hash, value))?;
        hashes = Some(match hashes {
            Some(before) => before.into_iter().filter(|hash| values.contains(hash)).collect(),
            None => without_repetition(values),
        });
    }
    Ok(hashes)
}

/// The partitions a condition names.
fn partitions(condition: &Condition, keys: Keys<'_>) -> Option<Vec<AttributeValue>> {
    term(condition, keys.hash).as_deref().and_then(equalities)
}

fn without_repetition<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut once = Vec::with_capacity(values.len());
    for value in values {
        if !once.contains(&value) {
            once.push(value);
        }
    }
    once
}

/// The alternatives of a condition on the key attribute alone: any of these holds.
fn term(condition: &Condition, attribute: &KeyAttribute) -> Option<Vec<KeyOp>> {
    let is_key = |operand: &Operand| matches!(operand, Operand::Path(path) if is_attribute(path, attribute));
    match condition {
        Condition::Compare {
            left,
            comparator,
            right,
        } => match (left, right) {
            (key, Operand::Value(value)) if is_key(key) => compared(*comparator, value),
            (Operand::Value(value), key) if is_key(key) => compared(mirrored(*comparator), value),
            _ => None,
        },
        Condition::Between {
            operand,
            low: Operand::Value(low),
            high: Operand::Value(high),
        } if is_key(operand) => Some(vec![KeyOp::Between(low.clone(), high.clone())]),
        Condition::In { operand, list } if is_key(operand) => list
            .iter()
            .map(|member| match member {
                Operand::Value(value) => Some(KeyOp::Eq(value.clone())),
                _ => None,
            })
            .collect(),
        Condition::BeginsWith {
            operand,
            prefix: Operand::Value(prefix),
        } if is_key(operand) => Some(vec![KeyOp::BeginsWith(prefix.clone())]),
        _ => None,
    }
}

fn compared(comparator: Comparator, value: &AttributeValue) -> Option<Vec<KeyOp>> {
    let value = value.clone();
    Some(vec![match comparator {
        Comparator::Equal => KeyOp::Eq(value),
        Comparator::NotEqual => return None,
        Comparator::Less => KeyOp::Lt(value),
        Comparator::LessOrEqual => KeyOp::Le(value),
        Comparator::Greater => KeyOp::Gt(value),
        Comparator::GreaterOrEqual => KeyOp::Ge(value),
    }])
}

fn mirrored(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Less => Comparator::Greater,
        Comparator::LessOrEqual => Comparator::GreaterOrEqual,
        Comparator::Greater => Comparator::Less,
        Comparator::GreaterOrEqual => Comparator::LessOrEqual,
        same => same,
    }
}

/// Whether a condition is `<>` or `NOT …` on the attribute.
fn negates(condition: &Condition, attribute: &KeyAttribute) -> bool {
    let names = || {
        condition
            .paths()
            .into_iter()
            .any(|path| is_attribute(path, attribute))
    };
    matches!(
        condition,
        Condition::Not(_)
            | Condition::Compare {
                comparator: Comparator::NotEqual,
                ..
            }
    ) && names()
}

/// The values, if all operations are equalities.
fn equalities(ops: &[KeyOp]) -> Option<Vec<AttributeValue>> {
    ops.iter()
        .map(|op| match op {
            KeyOp::Eq(value) => Some(value.clone()),
            _ => None,
        })
        .collect()
}

fn operands(op: &KeyOp) -> Vec<&AttributeValue> {
    match op {
        KeyOp::Eq(value)
        | KeyOp::Lt(value)
        | KeyOp::Le(value)
        | KeyOp::Gt(value)
        | KeyOp::Ge(value)
        | KeyOp::BeginsWith(value) => vec![value],
        KeyOp::Between(low, high) => vec![low, high],
    }
}

/// How narrow a condition on the sort key is: only one of several can direct the reading.
fn rank(ops: &[KeyOp]) -> u8 {
    match ops {
        [KeyOp::Eq(_)] => 4,
        _ if ops.iter().all(|op| matches!(op, KeyOp::Eq(_))) => 3,
        [KeyOp::Between(..) | KeyOp::BeginsWith(_)] => 2,
        _ => 1,
    }
}
