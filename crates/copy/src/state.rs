//! The progress of a copy in a file: the same command, run again, continues from it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use trestle_events::KeyPosition;
use trestle_item::Item;

use crate::CopyError;

/// The version of the file format.
const VERSION: u32 = 1;

/// The progress of a copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyState {
    version: u32,
    /// The source.
    pub from: String,
    /// The target.
    pub to: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// Its phase.
    pub phase: CopyPhase,
    pub(crate) tables: BTreeMap<String, TableState>,
    /// How long writes were paused in the cut-over.
    pub paused_ms: Option<u64>,
}

/// The phase of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyPhase {
    /// Rows are copied.
    Rows,
    /// All rows were copied; changes are followed.
    Following,
    /// The target has everything, and nothing is written at the source any more: the target will take over.
    Frozen,
    /// The target has taken over: streams of the copy are removed, and a migration to another layout is
    /// started.
    TakenOver,
    /// Nothing is left to do.
    Done,
}

/// The progress of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableState {
    /// Rows that were copied.
    pub(crate) rows: u64,
    pub(crate) segments: Vec<SegmentState>,
    /// The position up to which its changes are followed; `None` before the first row is read.
    pub(crate) position: Option<KeyPosition>,
    /// Whether the copy enabled the table's stream, and removes it at the end.
    pub(crate) stream_made: bool,
}

/// The progress in a segment of a table: rows up to that key are durable at the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SegmentState {
    #[default]
    Begin,
    After(Item),
    Done,
}

/// The stored state of a copy. Only one process at a time can open it.
pub struct StateFile {
    path: PathBuf,
    _lock: File,
    state: Mutex<CopyState>,
    /// Held while the file is written.
    saving: Mutex<()>,
    /// Whether the file existed.
    is_resumed: bool,
}

impl StateFile {
    /// Opens the state of a copy, or creates it. Refused if the file belongs to another copy, or another
    /// process has opened it.
    pub fn open(path: &Path, from: &str, to: &str, now_ms: u64) -> Result<Self, CopyError> {
        let lock = Self::lock(path)?.ok_or_else(|| {
            CopyError::State(format!(
                "another process works on the copy of {}; `trestle copy cut-over` tells it to cut over",
                path.display()
            ))
        })?;
        let stored = Self::read(path)?;
        if let Some(stored) = &stored
            && (stored.from != from || stored.to != to)
        {
            return Err(CopyError::State(format!(
                "{} is the state of a copy from {} to {}; name another file with --state, or remove it to give that copy up",
                path.display(),
                stored.from,
                stored.to
            )));
        }
        let is_resumed = stored.is_some();
        let state = stored.unwrap_or_else(|| CopyState {
            version: VERSION,
            from: from.to_owned(),
            to: to.to_owned(),
            started_ms: now_ms,
            phase: CopyPhase::Rows,
            tables: BTreeMap::new(),
            paused_ms: None,
        });
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            state: Mutex::new(state),
            saving: Mutex::new(()),
            is_resumed,
        })
    }

    /// The content of a file; `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<CopyState>, CopyError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(path, error)),
        };
        let state: CopyState = serde_json::from_slice(&bytes).map_err(|error| unusable(path, error))?;
        if state.version != VERSION {
            let why = format!("it has version {}, and this is for {VERSION}", state.version);
            return Err(unusable(path, why));
        }
        Ok(Some(state))
    }

    /// Whether a process is running the copy of this file.
    pub fn is_in_use(path: &Path) -> Result<bool, CopyError> {
        Ok(Self::lock(path)?.is_none())
    }

    fn lock(path: &Path) -> Result<Option<File>, CopyError> {
        let path = beside(path, "lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = file.map_err(|error| unusable(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unusable(&path, error)),
        }
    }

    /// The file that commands a copy to cut over.
    #[must_use]
    pub fn cut_over_note(path: &Path) -> PathBuf {
        beside(path, "cut-over")
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&CopyState) -> T) -> T {
        look(&self.state.lock())
    }

    /// Changes the state in memory: it is stored by the next [`StateFile::save`].
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut CopyState) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// Changes the state of a table.
    pub(crate) fn change_table<T>(&self, table: &str, change: impl FnOnce(&mut TableState) -> T) -> T {
        self.change(|state| change(state.tables.entry(table.to_owned()).or_default()))
    }

    /// Stores the state durably, in place of the previous one.
    pub(crate) fn save(&self) -> Result<(), CopyError> {
        let _one_at_a_time = self.saving.lock();
        let state = self.state.lock().clone();
        let stored = serde_json::to_vec(&state).map_err(|error| unusable(&self.path, error))?;
        let next = beside(&self.path, "next");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&next)?;
            file.write_all(&stored)?;
            file.sync_all()?;
            std::fs::rename(&next, &self.path)?;
            let directory = self.path.parent().filter(|path| !path.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| unusable(&self.path, error))
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn unusable(path: &Path, why: impl std::fmt::Display) -> CopyError {
    CopyError::State(format!("cannot use the state file {}: {why}", path.display()))
}
