//! How a `SELECT` finds its items: the keys it names, and the conditions that remain as a filter.
//!
//! The `WHERE` clause is converted to branches, one of which must hold, as far as its `OR`s concern keys. If
//! every branch names a partition, only those partitions are read; otherwise everything is.

mod branches;
mod range;

use trestle_expr::{Condition, KeyOp, KeySelection};
use trestle_item::AttributeValue;

use crate::check::order;
use crate::error::{Result, StatementError};
use crate::keys::{Keys, conjunction};
use crate::statement::Select;
use crate::syntax::Direction;
use branches::{Branch, branches};
use range::Range;

/// How to read, and the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where to look.
    pub access: Access,
    /// The other conditions on the items found there.
    pub filter: Option<Condition>,
    /// Whether each partition is read from its largest sort key down.
    pub descending: bool,
}

/// Where the items are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anywhere in the table or index.
    Scan,
    /// In these stretches of partitions, to be read in this order. They do not overlap; there may be none.
    Partitions(Vec<KeySelection>),
}

/// One stretch of a partition.
struct Stretch {
    hash: AttributeValue,
    sort: Option<KeyOp>,
    /// Whether there is also a negated condition on the sort key; such branches may overlap.
    negated: bool,
}

impl Select {
    /// Divides the `WHERE` clause by the keys of the table or index that is read.
    pub fn plan(&self, keys: Keys<'_>) -> Result<Plan> {
        if let Some(projection) = &self.projection {
            keys.check_paths(projection.paths())?;
        }
        let Some(condition) = &self.condition else {
            if !self.order.is_empty() {
                return Err(StatementError::new(
                    "Must have WHERE clause in the statement when using ORDER BY clause.",
                ));
            }
            return Ok(Plan {
                access: Access::Scan,
                filter: None,
                descending: false,
            });
        };
        keys.check_paths(condition.paths())?;
        let branches = branches(condition, keys)?;
        let Some(branches) = branches else {
            return self.scan(condition);
        };
        self.partitions(condition, &branches, keys)
    }

    fn scan(&self, condition: &Condition) -> Result<Plan> {
        if !self.order.is_empty() {
            return Err(StatementError::new(
                "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
            ));
        }
        Ok(Plan {
            access: Access::Scan,
            filter: Some(condition.clone()),
            descending: false,
        })
    }

    fn partitions(&self, condition: &Condition, branches: &[Branch<'_>], keys: Keys<'_>) -> Result<Plan> {
        let order = self.direction(branches, keys)?;
        let descending = order.sort == Some(Direction::Descending);
        let mut stretches = separate(branches, keys)?;
        arrange(&mut stretches, order.hash, descending);
        let filter = match branches {
            [only] => conjunction(&only.rest),
            _ => Some(condition.clone()),
        };
        let selections = stretches.into_iter().map(selection).collect();
        Ok(Plan {
            access: Access::Partitions(selections),
            filter,
            descending,
        })
    }

    /// The order that `ORDER BY` asks for, of partitions and of sort keys.
    fn direction(&self, branches: &[Branch<'_>], keys: Keys<'_>) -> Result<Order> {
        let mut order = Order::default();
        for term in &self.order {
            if term.attribute == keys.hash.name {
                order.hash = Some(term.direction);
            } else if keys.range.is_some_and(|range| range.name == term.attribute) {
                order.sort = Some(term.direction);
            } else {
                return Err(StatementError::new(format!(
                    "Variable reference {} in ORDER BY clause must be part of the primary key",
                    term.attribute
                )));
            }
        }
        let partitions = branches.iter().map(|branch| branch.hashes.len()).sum::<usize>();
        if !self.order.is_empty() && order.hash.is_none() && partitions > 1 {
            let first = branches.iter().flat_map(|branch| &branch.hashes).next();
            let same = branches
                .iter()
                .flat_map(|branch| &branch.hashes)
                .all(|hash| Some(hash) == first);
            if !same {
                return Err(StatementError::new(
                    "Must have hash key in ORDER BY clause when more than one hash key condition \
                     specified in WHERE clause.",
                ));
            }
        }
        Ok(order)
    }
}

#[derive(Default)]
struct Order {
    hash: Option<Direction>,
    sort: Option<Direction>,
}

/// The stretches of all branches, none overlapping another.
fn separate(branches: &[Branch<'_>], keys: Keys<'_>) -> Result<Vec<Stretch>> {
    let mut separate: Vec<Stretch> = Vec::new();
    for branch in branches {
        for (hash, sort) in branch.stretches() {
            let found = separate
                .iter()
                .position(|other| other.hash == *hash && touch(other, sort));
            let Some(found) = found.and_then(|at| separate.get_mut(at)) else {
                separate.push(Stretch {
                    hash: hash.clone(),
                    sort: sort.cloned(),
                    negated: branch.negated,
                });
                continue;
            };
            let repeated = branches.len() == 1 && found.sort.as_ref() == sort;
            if keys.range.is_some() && !repeated && !found.negated && !branch.negated {
                return Err(StatementError::new(
                    "Overlapping conditions with range keys are not supported in where clause",
                ));
            }
            if found.sort.as_ref() != sort {
                found.sort = None;
            }
            found.negated |= branch.negated;
            absorb(&mut separate);
        }
    }
    Ok(separate)
}

fn touch(stretch: &Stretch, sort: Option<&KeyOp>) -> bool {
    Range::of(stretch.sort.as_ref()).intersects(&Range::of(sort))
}

/// A whole partition makes its other stretches superfluous.
fn absorb(stretches: &mut Vec<Stretch>) {
    let whole: Vec<AttributeValue> = stretches
        .iter()
        .filter(|stretch| stretch.sort.is_none())
        .map(|stretch| stretch.hash.clone())
        .collect();
    stretches.retain(|stretch| stretch.sort.is_none() || !whole.contains(&stretch.hash));
}

/// Brings partitions into the order asked for, and stretches of one partition into the order of their keys.
fn arrange(stretches: &mut [Stretch], hash: Option<Direction>, descending: bool) {
    let turned = |ordering: std::cmp::Ordering, descending: bool| {
        if descending { ordering.reverse() } else { ordering }
    };
    if let Some(direction) = hash {
        stretches.sort_by(|a, b| {
            let ordering = order(&a.hash, &b.hash).unwrap_or(std::cmp::Ordering::Equal);
            turned(ordering, direction == Direction::Descending)
        });
    }
    for same in stretches.chunk_by_mut(|a, b| a.hash == b.hash) {
        same.sort_by(|a, b| {
            turned(
                Range::of(a.sort.as_ref()).order(&Range::of(b.sort.as_ref())),
                descending,
            )
        });
    }
}

fn selection(stretch: Stretch) -> KeySelection {
    let (range_equal, range_last) = match stretch.sort {
        Some(KeyOp::Eq(value)) => (vec![value], None),
        other => (Vec::new(), other),
    };
    KeySelection {
        hash: vec![stretch.hash],
        range_equal,
        range_last,
    }
}
