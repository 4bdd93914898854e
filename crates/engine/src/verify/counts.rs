//! Compares the stored counts of tables and indexes with the walked rows.

use trestle_store::Space;

use super::DisagreementKind as Kind;
use super::items::Expected;
use super::known::Known;
use super::report::{Found, Reporter};
use super::tally::Count;
use crate::meta;

pub(super) fn check(known: &Known, expected: &Expected, reporter: &mut Reporter<'_>) {
    for table in known.tables.values() {
        let key = meta::stats_key(table.id);
        let stored = known.stats.get(&table.id);
        let is = stored.map(|counts| counts.table).unwrap_or_default();
        let should = expected.tables.get(&table.id).copied().unwrap_or_default();
        if is != should {
            let found = Found::new(Kind::WrongCount, Space::Meta, &key, difference(is, should));
            reporter.found(found.table(&table.name));
        }
        for index in &table.indexes {
            let is = stored
                .and_then(|counts| counts.indexes.get(&index.id))
                .copied()
                .unwrap_or_default();
            let should = expected
                .indexes
                .get(&index.id)
                .map(|(count, _)| *count)
                .unwrap_or_default();
            if is != should {
                let found = Found::new(Kind::WrongCount, Space::Meta, &key, difference(is, should));
                reporter.found(found.table(&table.name).index(&index.name));
            }
        }
    }
}

fn difference(is: Count, should: Count) -> String {
    format!(
        "counted as {} items of {} bytes; there are {} of {} bytes",
        is.items, is.bytes, should.items, should.bytes
    )
}
