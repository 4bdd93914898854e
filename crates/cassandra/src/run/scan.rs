//! Reads the rows of a live cluster, table by table in the order of their tokens.

use super::RunError;
use super::reader::{BATCH_ROWS, Batch, LIVE_TABLE_BYTES, Making, ReadFrom, Sender};
use super::row::RowMaker;
use crate::export::Cells;
use crate::live::{LiveCluster, Pages};
use crate::mapping::{BoundImport, Plan};

pub(super) fn read_all(
    plan: &Plan,
    cluster: &LiveCluster,
    from: ReadFrom,
    making: Making,
    sender: &Sender,
) -> Result<(), RunError> {
    for (at, import) in plan.imports.iter().enumerate().skip(from.import) {
        let maker = making.maker(plan, import)?;
        let start = ReadFrom {
            import: at,
            token: from.token.filter(|_| at == from.import),
            ..ReadFrom::default()
        };
        let read = read_table(cluster, import, &maker, start, sender);
        let goes_on = read.map_err(|reason| RunError::Cluster {
            table: import.table.full_name(),
            reason,
        })?;
        if !goes_on {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads one table; `false` if the receiver was dropped. A resumed import begins with the partition at which
/// it stopped, because all rows of a partition have the same token.
fn read_table(
    cluster: &LiveCluster,
    import: &BoundImport,
    maker: &RowMaker<'_>,
    start: ReadFrom,
    sender: &Sender,
) -> Result<bool, String> {
    let mut pages = Pages::begin(cluster, import, start.token)?;
    let mut batch = Batch::empty(start);
    let mut begun = start.token.unwrap_or(i64::MIN);
    while let Some(page) = pages.next()? {
        for row in page.rows()? {
            let row = row?;
            let cells = Cells::Selected {
                values: row.values,
                asked_seconds: page.asked_seconds,
            };
            batch.add(maker.make_selected(&cells, pages.layout()));
            if batch.records >= BATCH_ROWS as u64 {
                let next = ReadFrom {
                    token: Some(row.token),
                    ..start
                };
                batch.end(next, bytes_of(begun, row.token));
                begun = row.token;
                let full = std::mem::replace(&mut batch, Batch::empty(start));
                if sender.send(Ok(full)).is_err() {
                    return Ok(false);
                }
            }
        }
    }
    let next = ReadFrom {
        import: start.import + 1,
        ..ReadFrom::default()
    };
    batch.end(next, bytes_of(begun, i64::MAX));
    Ok(sender.send(Ok(batch)).is_ok())
}

/// The share of the progress between two tokens.
fn bytes_of(from: i64, to: i64) -> u64 {
    to.abs_diff(from) / (u64::MAX / LIVE_TABLE_BYTES)
}
