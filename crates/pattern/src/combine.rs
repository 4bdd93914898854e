//! `$or` expanded: one tree for each combination of alternatives.
//!
//! As in EventBridge, the fields beside an `$or` and the chosen alternative apply to the same objects of an
//! array. That is easy to check with one tree, and hard with a tree that contains choices.

use crate::fault::Fault;
use crate::read::{Field, Fields};
use crate::tree::Tree;

/// EventBridge's own limit.
const COMBINATIONS_MAX: usize = 1000;

type Named = Vec<(String, Tree)>;

/// All combinations of the alternatives in a pattern.
pub(crate) fn combinations(fields: &Fields) -> Result<Vec<Tree>, Fault> {
    let all = of_fields(fields, &mut Vec::new())?;
    Ok(all.into_iter().map(Tree::Fields).collect())
}

fn of_fields<'a>(fields: &'a Fields, path: &mut Vec<&'a str>) -> Result<Vec<Named>, Fault> {
    let mut all: Vec<Named> = vec![Vec::new()];
    for (name, field) in &fields.named {
        let trees = match field {
            Field::Leaf(leaf) => vec![Tree::Leaf(leaf.clone())],
            Field::Nested(nested) => {
                path.push(name);
                let nested = of_fields(nested, path)?;
                path.pop();
                nested.into_iter().map(Tree::Fields).collect()
            }
        };
        let named = trees.into_iter().map(|tree| vec![(name.clone(), tree)]).collect();
        all = joined(&all, named, path)?;
    }
    if !fields.either.is_empty() {
        let mut either = Vec::new();
        for alternative in &fields.either {
            either.extend(of_fields(alternative, path)?);
        }
        all = joined(&all, either, path)?;
    }
    Ok(all)
}

/// Each of the first list with each of the second.
fn joined(one: &[Named], other: Vec<Named>, path: &[&str]) -> Result<Vec<Named>, Fault> {
    let count = one.len().saturating_mul(other.len());
    if count > COMBINATIONS_MAX {
        return Err(Fault {
            path: place(path, None),
            message: format!(
                "its `$or`s make {count} combinations or more; {COMBINATIONS_MAX} are allowed. Use two routes"
            ),
        });
    }
    let mut all = Vec::with_capacity(count);
    for one in one {
        for other in &other {
            let mut merged = one.clone();
            merge(&mut merged, other, &mut path.to_vec())?;
            all.push(merged);
        }
    }
    Ok(all)
}

fn merge<'a>(into: &mut Named, fields: &'a Named, path: &mut Vec<&'a str>) -> Result<(), Fault> {
    for (name, tree) in fields {
        let present = into.iter_mut().find(|(present, _)| present == name);
        match (present, tree) {
            (None, _) => into.push((name.clone(), tree.clone())),
            (Some((_, Tree::Fields(present))), Tree::Fields(fields)) => {
                path.push(name);
                merge(present, fields, path)?;
                path.pop();
            }
            _ => {
                return Err(Fault {
                    path: place(path, Some(name)),
                    message: "is given twice, inside `$or` and beside it; move it into each alternative"
                        .into(),
                });
            }
        }
    }
    Ok(())
}

fn place(path: &[&str], name: Option<&str>) -> String {
    let steps: Vec<&str> = path.iter().copied().chain(name).collect();
    if steps.is_empty() {
        "pattern".to_owned()
    } else {
        steps.join(".")
    }
}
