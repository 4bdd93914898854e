//! A thread that reads records and converts them to rows, ahead of their processing.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use trestle_api::Error;

use super::RunError;
use super::misfit::{Misfit, RecordPlace};
use super::row::{ImportedRow, Made, RowMaker};
use crate::export::{FilePosition, Records};
use crate::mapping::{BoundImport, FileLayout, Plan, Source};

/// The maximum number of rows of a file in a batch, also limited in bytes; with few batches under way, memory
/// is bounded.
pub(super) const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: u64 = 2 * 1024 * 1024;
const BATCHES_AHEAD: usize = 3;
/// The weight of a table of a live cluster in the progress.
pub(super) const LIVE_TABLE_BYTES: u64 = 1 << 32;

/// The position where reading begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct ReadFrom {
    /// The import, counted from 0.
    pub(super) import: usize,
    /// The file of the import, counted from 0.
    pub(super) file: usize,
    /// The position in the file; `None` for its beginning.
    pub(super) position: Option<FilePosition>,
    /// For a live cluster, the token at which reading the table continues; `None` for the first.
    #[serde(default)]
    pub(super) token: Option<i64>,
}

/// Rows of one file, or of one table of a live cluster.
pub(super) struct Batch {
    pub(super) import: usize,
    pub(super) file: usize,
    /// The records that were read.
    pub(super) records: u64,
    pub(super) without_row: u64,
    pub(super) rows: Vec<ImportedRow>,
    pub(super) misfits: Vec<Misfit>,
    /// Its share of the progress, relative to [`all_bytes`].
    pub(super) bytes: u64,
    /// The position of the next batch.
    pub(super) next: ReadFrom,
}

/// Converts records to rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Making {
    pub(super) now_ms: u64,
    pub(super) keeps_times: bool,
}

impl Making {
    pub(super) fn maker<'p>(self, plan: &'p Plan, import: &'p BoundImport) -> Result<RowMaker<'p>, RunError> {
        let maker = RowMaker::new(&plan.model, import, self.now_ms, self.keeps_times);
        maker.ok_or_else(|| Error::defect("the model has lost an entity").into())
    }
}

/// Starts to read. The thread ends with the files, or when the receiver is dropped.
pub(super) fn start(
    plan: &Arc<Plan>,
    from: ReadFrom,
    making: Making,
) -> Result<Receiver<Result<Batch, RunError>>, RunError> {
    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    let plan = Arc::clone(plan);
    let read = move || {
        let read = match &plan.source {
            Source::Files => read_all(&plan, from, making, &sender),
            #[cfg(feature = "live")]
            Source::Cluster(cluster) => super::scan::read_all(&plan, cluster, from, making, &sender),
        };
        if let Err(error) = read {
            // Without a receiver, the error is not needed.
            let _ = sender.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new()
        .name("import-reader".to_owned())
        .spawn(read);
    thread.map_err(RunError::Thread)?;
    Ok(receiver)
}

/// The bytes of all files. For a live cluster they are unknown: each table has the same weight, divided by
/// its tokens.
pub(super) fn all_bytes(plan: &Plan) -> u64 {
    if plan.source.is_live() {
        return plan.imports.len() as u64 * LIVE_TABLE_BYTES;
    }
    let files = plan.imports.iter().flat_map(|import| &import.files);
    files
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|file| file.len())
        .sum()
}

pub(super) type Sender = SyncSender<Result<Batch, RunError>>;

fn read_all(plan: &Plan, from: ReadFrom, making: Making, sender: &Sender) -> Result<(), RunError> {
    for (at, import) in plan.imports.iter().enumerate().skip(from.import) {
        let maker = making.maker(plan, import)?;
        let first_file = if at == from.import { from.file } else { 0 };
        for file in first_file..import.files.len() {
            let begun = at == from.import && file == from.file;
            let start = ReadFrom {
                import: at,
                file,
                position: from.position.filter(|_| begun),
                token: None,
            };
            if !read_file(import, &maker, start, sender)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads one file; `false` if the receiver was dropped.
fn read_file(
    import: &BoundImport,
    maker: &RowMaker<'_>,
    start: ReadFrom,
    sender: &Sender,
) -> Result<bool, RunError> {
    let Some(path) = import.files.get(start.file) else {
        return Ok(true);
    };
    let file = path.display().to_string();
    let failed = |reason: String| RunError::File {
        file: file.clone(),
        reason,
    };
    let mut records =
        Records::open(path, &import.format, start.position).map_err(|error| failed(error.to_string()))?;
    let layout = layout_of(import, &records, path).map_err(failed)?;
    let mut batch = Batch::empty(start);
    let mut begun = start.position.map_or(0, |position| position.offset);
    loop {
        let record = records.next().map_err(|error| failed(error.to_string()))?;
        let Some((line, cells)) = record else { break };
        batch.add(maker.make(cells, layout.as_ref(), &file, line));
        let position = records.position();
        if batch.records >= BATCH_ROWS as u64 || position.offset - begun >= BATCH_BYTES {
            let next = ReadFrom {
                position: Some(position),
                ..start
            };
            batch.end(next, position.offset - begun);
            begun = position.offset;
            if sender
                .send(Ok(std::mem::replace(&mut batch, Batch::empty(start))))
                .is_err()
            {
                return Ok(false);
            }
        }
    }
    let next = ReadFrom {
        file: start.file + 1,
        position: None,
        ..start
    };
    batch.end(next, records.position().offset - begun);
    Ok(sender.send(Ok(batch)).is_ok())
}

/// In a JSON file, each record has the names of its columns.
fn layout_of(import: &BoundImport, records: &Records, path: &Path) -> Result<Option<FileLayout>, String> {
    let Some(names) = records.names() else {
        return Ok(None);
    };
    if names.is_empty() {
        return Err(format!(
            "{} is empty; it should begin with a header",
            path.display()
        ));
    }
    FileLayout::of(import, names.iter().map(String::as_str)).map(Some)
}

impl Batch {
    /// The location of a row's record.
    pub(super) fn place(&self, plan: &Plan, row: &ImportedRow) -> RecordPlace {
        let import = plan.imports.get(self.import);
        match import.and_then(|import| import.files.get(self.file)) {
            Some(file) => RecordPlace::Line {
                file: file.display().to_string(),
                line: row.line,
            },
            None => RecordPlace::Table {
                table: import.map(|import| import.table.full_name()).unwrap_or_default(),
                row: None,
            },
        }
    }

    pub(super) fn add(&mut self, made: Made) {
        self.records += 1;
        match made {
            Made::Row(row) => self.rows.push(*row),
            Made::WithoutRow => self.without_row += 1,
            Made::Misfit(misfit) => self.misfits.push(*misfit),
        }
    }

    pub(super) fn empty(start: ReadFrom) -> Self {
        Batch {
            import: start.import,
            file: start.file,
            records: 0,
            without_row: 0,
            rows: Vec::new(),
            misfits: Vec::new(),
            bytes: 0,
            next: start,
        }
    }

    pub(super) fn end(&mut self, next: ReadFrom, bytes: u64) {
        self.next = next;
        self.bytes = bytes;
    }
}
