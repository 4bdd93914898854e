//! Unions and differences of sets. Sets are sorted and stay so.

use trestle_item::AttributeValue;

/// All elements of both; `None` if these are not two sets of one type.
pub(super) fn union(set: &AttributeValue, added: &AttributeValue) -> Option<AttributeValue> {
    Some(match (set, added) {
        (AttributeValue::Ss(set), AttributeValue::Ss(added)) => AttributeValue::Ss(merged(set, added)),
        (AttributeValue::Ns(set), AttributeValue::Ns(added)) => AttributeValue::Ns(merged(set, added)),
        (AttributeValue::Bs(set), AttributeValue::Bs(added)) => AttributeValue::Bs(merged(set, added)),
        _ => return None,
    })
}

/// The remaining elements, possibly none; outer `None` if these are not two sets of one type.
pub(super) fn difference(set: &AttributeValue, removed: &AttributeValue) -> Option<Option<AttributeValue>> {
    Some(match (set, removed) {
        (AttributeValue::Ss(set), AttributeValue::Ss(removed)) => left(set, removed).map(AttributeValue::Ss),
        (AttributeValue::Ns(set), AttributeValue::Ns(removed)) => left(set, removed).map(AttributeValue::Ns),
        (AttributeValue::Bs(set), AttributeValue::Bs(removed)) => left(set, removed).map(AttributeValue::Bs),
        _ => return None,
    })
}

fn merged<T: Ord + Clone>(set: &[T], added: &[T]) -> Vec<T> {
    let mut all = [set, added].concat();
    all.sort();
    all.dedup();
    all
}

fn left<T: Ord + Clone>(set: &[T], removed: &[T]) -> Option<Vec<T>> {
    let left: Vec<T> = set
        .iter()
        .filter(|element| removed.binary_search(element).is_err())
        .cloned()
        .collect();
    if left.is_empty() { None } else { Some(left) }
}
