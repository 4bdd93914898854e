//! A string-set of a row that effects keep: adding and removing a member. Sets are sorted, so that a member
//! is found by binary search.

use trestle_item::{AttributeValue, Item};

/// The set with the member added; `None` if it has it already.
pub(super) fn joined(row: Option<&Item>, set: &str, member: &str) -> Option<AttributeValue> {
    let members = row.map_or(&[][..], |row| members(row, set));
    let place = find(members, member).err()?;
    let mut joined = Vec::with_capacity(members.len() + 1);
    joined.extend_from_slice(members);
    joined.insert(place, member.to_owned());
    Some(AttributeValue::Ss(joined))
}

/// The set without the member, if any others are left; `None` if it was no member.
pub(super) fn without(row: &Item, set: &str, member: &str) -> Option<Option<AttributeValue>> {
    let members = members(row, set);
    let place = find(members, member).ok()?;
    let (before, after) = (members.get(..place)?, members.get(place + 1..)?);
    let others: Vec<String> = before.iter().chain(after).cloned().collect();
    Some((!others.is_empty()).then_some(AttributeValue::Ss(others)))
}

fn members<'i>(row: &'i Item, set: &str) -> &'i [String] {
    match row.get(set) {
        Some(AttributeValue::Ss(members)) => members,
        _ => &[],
    }
}

fn find(members: &[String], member: &str) -> Result<usize, usize> {
    members.binary_search_by(|other| other.as_str().cmp(member))
}
