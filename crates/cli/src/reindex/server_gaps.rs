//! Gaps of a reindex of a server: fetched a page at a time, and compared with a local file.

use super::gaps::AgainstFlags;
use super::ids;
use super::place::ReindexPlace;
use crate::exit::Failure;
use std::collections::HashSet;
use std::path::Path;
use trestle_admin::ListReindexGaps;

/// Ids that are compared with a file at once: it is read once for each batch of this size.
const IDS_IN_MEMORY: usize = 1_000_000;
/// Ids per request.
const PAGE: u32 = 10_000;

type OnGap<'g> = &'g mut (dyn FnMut(&str) -> Result<(), String> + Send);

/// Prints the gaps and returns their number.
pub(super) fn found(
    place: &ReindexPlace,
    name: &str,
    flags: &AgainstFlags,
    on_gap: OnGap<'_>,
) -> Result<u64, Failure> {
    let (against_table, against_attribute) = flags.table().unzip();
    let mut call = ListReindexGaps {
        name: name.to_owned(),
        against_table,
        against_attribute: against_attribute.flatten(),
        all: flags.against.is_some(),
        limit: Some(PAGE),
        after: None,
    };
    let (mut count, mut candidates) = (0, Vec::new());
    loop {
        let page = place.ask(call.clone())?;
        candidates.extend(page.gaps);
        let is_last = page.next.is_none();
        let missing = match &flags.against {
            Some(_) if !is_last && candidates.len() < IDS_IN_MEMORY => Vec::new(),
            Some(file) => without_known(std::mem::take(&mut candidates), file)?,
            None => std::mem::take(&mut candidates),
        };
        for id in &missing {
            on_gap(id).map_err(Failure::failed)?;
        }
        count += missing.len() as u64;
        if is_last {
            return Ok(count);
        }
        call.after = page.next;
    }
}

/// The ids that are not in a file, in the given order.
fn without_known(candidates: Vec<String>, file: &Path) -> Result<Vec<String>, Failure> {
    let mut left: HashSet<&str> = candidates.iter().map(String::as_str).collect();
    for id in ids::read(file).map_err(Failure::usage)? {
        left.remove(id.map_err(Failure::usage)?.as_str());
    }
    let missing = candidates.iter().filter(|id| left.contains(id.as_str()));
    Ok(missing.cloned().collect())
}
