//! A `WHERE` clause that identifies its item by other attributes than the key, for tables with a hook.

use trestle_api::Error;
use trestle_expr::{Comparator, Condition, Operand, Path};
use trestle_item::{AttributeValue, Item};

use super::StatementTable;

/// The condition with the key of the item that its equalities identify. It does not change in a table without
/// a hook, or if it contains the key.
pub(super) fn with_key(
    table: StatementTable<'_>,
    condition: Option<Condition>,
) -> Result<Option<Condition>, Error> {
    let (Some(hook), Some(condition)) = (table.hook, &condition) else {
        return Ok(condition);
    };
    let mut given = Item::new();
    collect(condition, &mut given);
    let has_key = table.keys.attributes().all(|part| given.contains_key(&part.name));
    if has_key || given.is_empty() {
        return Ok(Some(condition.clone()));
    }
    let key = hook.key(table.name, &given)?;
    let mut all: Vec<_> = key.iter().map(equality).collect();
    all.push(condition.clone());
    Ok(Some(Condition::And(all)))
}

/// The attributes that must have one particular value for the condition to hold.
fn collect(condition: &Condition, given: &mut Item) {
    match condition {
        Condition::And(all) => all.iter().for_each(|one| collect(one, given)),
        Condition::Compare {
            left,
            comparator: Comparator::Equal,
            right,
        } => {
            if let (Operand::Path(path), Operand::Value(value)) | (Operand::Value(value), Operand::Path(path)) =
                (left, right)
                && !path.is_nested()
            {
                given.insert(path.attribute.clone(), value.clone());
            }
        }
        _ => {}
    }
}

fn equality((name, value): (&String, &AttributeValue)) -> Condition {
    Condition::Compare {
        left: Operand::Path(Path::top(name.clone())),
        comparator: Comparator::Equal,
        right: Operand::Value(value.clone()),
    }
}
