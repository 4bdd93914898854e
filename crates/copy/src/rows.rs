//! Copies the rows of a table, segment by segment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trestle_api::{Database, DatabaseExt, Scan};
use trestle_item::{Item, size};
use trestle_reindex::Units;

use crate::patience::Patience;
use crate::state::SegmentState;
use crate::under_way::PagesUnderWay;
use crate::write::{RowWrite, RowWriter};
use crate::{CopyError, CopyProgress, StateFile};

/// The bytes of a read unit.
const READ_UNIT_BYTES: usize = 4096;

/// Reads the rows of a table, page by page.
#[derive(Clone)]
pub(crate) struct RowScan {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) table: String,
    pub(crate) segments: u32,
    pub(crate) page_rows: u32,
    pub(crate) units: Arc<Units>,
    pub(crate) patience: Patience,
}

/// A page of rows, and the key after which the next one begins.
pub(crate) struct ScannedPage {
    pub(crate) rows: Vec<Item>,
    pub(crate) next: Option<Item>,
}

impl RowScan {
    /// Reads a page. All its rows are read after the call.
    pub(crate) async fn page(&self, segment: u32, after: Option<Item>) -> Result<ScannedPage, CopyError> {
        let request = Scan {
            table_name: self.table.clone(),
            limit: Some(self.page_rows),
            exclusive_start_key: after,
            total_segments: Some(self.segments),
            segment: Some(segment),
            consistent_read: Some(true),
            ..Scan::default()
        };
        let what = format!("reading rows of table {}", self.table);
        let scan = || self.database.scan(request.clone());
        let page = self.patience.ask(&what, scan).await?;
        let rows = page.items.map(|items| items.to_vec()).unwrap_or_default();
        let bytes: usize = rows.iter().map(size::of_item).sum();
        self.units
            .take(bytes.div_ceil(READ_UNIT_BYTES).max(1) as f64)
            .await;
        Ok(ScannedPage {
            rows,
            next: page.last_evaluated_key,
        })
    }
}

/// The copy of one table's rows.
pub(crate) struct RowCopy {
    pub(crate) scan: RowScan,
    pub(crate) writer: RowWriter,
    pub(crate) under_way: Arc<PagesUnderWay>,
    pub(crate) state: Arc<StateFile>,
    pub(crate) progress: Arc<CopyProgress>,
}

impl RowCopy {
    /// Copies the rest of a segment.
    pub(crate) async fn segment(&self, segment: u32) -> Result<(), CopyError> {
        let table = &self.scan.table;
        let at = segment as usize;
        loop {
            let place = self
                .state
                .change_table(table, |table| table.segments.get(at).cloned());
            let after = match place {
                Some(SegmentState::Begin) => None,
                Some(SegmentState::After(key)) => Some(key),
                Some(SegmentState::Done) => return Ok(()),
                None => {
                    return Err(CopyError::Defect(format!(
                        "table {table} has no segment {segment}"
                    )));
                }
            };
            // Changes of these rows that arrive from now on wait until the rows are written.
            let under_way = self.under_way.begin();
            let page = self.scan.page(segment, after).await?;
            let rows = page.rows.len() as u64;
            self.writer
                .write(page.rows.into_iter().map(RowWrite::Put).collect())
                .await?;
            drop(under_way);
            self.progress.rows.fetch_add(rows, Ordering::Relaxed);
            self.state.change_table(table, |table| {
                table.rows += rows;
                if let Some(place) = table.segments.get_mut(at) {
                    *place = page.next.map_or(SegmentState::Done, SegmentState::After);
                }
            });
        }
    }
}
