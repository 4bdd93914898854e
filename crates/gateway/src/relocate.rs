//! A write moves its row: if a row is still in its former place, the write removes it there and puts it into
//! its own place, in one transaction.

use crate::find::LyingRow;
use crate::known_rows::KnownRows;
use crate::part::{Becomes, Part};
use crate::table_shape::RowId;

/// The parts of a write, with those for rows in former places translated. A row that is only checked stays in
/// its place.
pub(crate) fn relocated(parts: Vec<Part>, known: &KnownRows) -> Vec<Part> {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let row = known.row(&RowId::new(&part.table, &part.key));
        match row.and_then(|row| row.lying.clone()) {
            None => all.push(part),
            Some(lying) => all.extend(moved(part, lying)),
        }
    }
    all
}

fn moved(part: Part, lying: LyingRow) -> Vec<Part> {
    let LyingRow { key, item } = lying;
    // The new row depends on all attributes.
    let uses = item.keys().cloned().collect();
    let there = |becomes: Becomes| Part {
        table: part.table.clone(),
        key: key.clone(),
        hash: part.hash.clone(),
        old: Some(item.clone()),
        becomes,
        uses,
        position: part.position,
    };
    match part.becomes {
        Becomes::Unchanged => vec![there(Becomes::Unchanged)],
        Becomes::Removed => vec![there(Becomes::Removed)],
        Becomes::Changed(new) | Becomes::Replaced(new) => {
            let from = there(Becomes::Removed);
            let to = Part {
                old: None,
                becomes: Becomes::Replaced(new),
                uses: Default::default(),
                ..part
            };
            vec![from, to]
        }
    }
}
