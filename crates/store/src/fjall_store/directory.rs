//! The files of a data directory, and the version that wrote them. `docs/internals/format.md` describes them
//! in full.

use super::guard::WAY_OUT;
use super::keyspaces;
use crate::{BlockSize, ErrorKind, Result, StoreError, private};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The version of everything below the root. A change that an older program would misread gets the next number.
const FORMAT_VERSION: u32 = 1;

/// The beginning of the first line of the version file.
const FORMAT_NAME: &str = "trestle-store";

const FORMAT_FILE: &str = "FORMAT";
const NEW_FORMAT_FILE: &str = "FORMAT.new";
const LOCK_FILE: &str = "LOCK";
const ENGINE_FOLDER: &str = "db";
const ENGINE_LOCK_FILE: &str = "lock";
const NEW_ENGINE_FOLDER: &str = "db.new";
const SECOND_NAMES_FOLDER: &str = "journals";
const SYNCED_FILE: &str = "SYNCED";
const NEW_JOURNAL_FILE: &str = "journal.new";
const TRIAL_FILE: &str = "trial";

/// Large enough that a disk with room for it also has room for the end of a journal.
const TRIAL_BYTES: usize = 1024 * 1024;

/// A data directory that exists.
#[derive(Clone)]
pub(super) struct Directory {
    root: PathBuf,
}

impl Directory {
    /// Makes sure the directory exists.
    pub(super) fn prepare(root: &Path) -> Result<Self> {
        private::create_folder(root).map_err(|error| StoreError::io("cannot create", root, error))?;
        Ok(Self::at(root))
    }

    /// Does not create the directory.
    pub(super) fn at(root: &Path) -> Self {
        Directory {
            root: root.to_path_buf(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.root.join(LOCK_FILE)
    }

    /// The engine's folder.
    pub(super) fn engine(&self) -> PathBuf {
        self.root.join(ENGINE_FOLDER)
    }

    /// A journal of the engine.
    pub(super) fn journal(&self, number: u64) -> PathBuf {
        self.engine().join(format!("{number}.jnl"))
    }

    /// The folder of the journals' second names.
    pub(super) fn second_names(&self) -> PathBuf {
        self.root.join(SECOND_NAMES_FOLDER)
    }

    /// Where the last synced commit is noted.
    pub(super) fn synced_note(&self) -> PathBuf {
        self.root.join(SYNCED_FILE)
    }

    /// Where bytes cut from a journal are kept. Names do not repeat, so that bytes kept earlier stay as
    /// evidence.
    pub(super) fn set_aside_file(&self, journal: &str, offset: u64) -> PathBuf {
        let name = |suffix: &str| self.root.join(format!("damaged-{journal}-at-{offset}{suffix}"));
        let suffixes = (2..).map(|n: u32| format!("-{n}"));
        let mut names = std::iter::once(name("")).chain(suffixes.map(|suffix| name(&suffix)));
        names.find(|path| !path.exists()).unwrap_or_else(|| name(""))
    }

    /// The new file of a journal that is to replace an old one.
    pub(super) fn new_journal(&self, position: usize) -> PathBuf {
        self.root.join(format!("{NEW_JOURNAL_FILE}.{position}"))
    }

    /// Directories of earlier versions, and copies, may be open to other users of the machine.
    pub(super) fn warn_if_open_to_others(&self) {
        let root = self.root.display();
        if private::is_open_to_others(&self.root) && private::is_open_to_others(&self.engine()) {
            tracing::warn!(
                "other users of this machine may read the data directory {root}; close it with: chmod -R go-rwx {root}"
            );
        }
    }

    /// Writes something and removes it again, to test whether the disk accepts writes, and whether a file may
    /// grow beyond `size`.
    pub(super) fn try_writing(&self, size: u64) -> Result<()> {
        let path = self.root.join(TRIAL_FILE);
        let written = private::create(&path).and_then(|mut file| {
            file.seek(SeekFrom::Start(size))?;
            file.write_all(&vec![0x5a; TRIAL_BYTES])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        written
            .and(removed)
            .map_err(|error| StoreError::io("cannot write", &path, error))
    }

    /// Whether the directory is still empty. Refuses a directory that this version cannot read.
    pub(super) fn is_new(&self) -> Result<bool> {
        let path = self.root.join(FORMAT_FILE);
        match fs::read(&path) {
            Ok(bytes) => {
                check_version(&path, &bytes)?;
                // Creation was interrupted between its last two steps.
                Ok(!self.engine().exists() && self.root.join(NEW_ENGINE_FOLDER).exists())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.check_empty().map(|()| true),
            Err(error) => Err(StoreError::io("cannot read", &path, error)),
        }
    }

    /// Fills the directory. Each step leaves a state that the next opening recognises: the engine's folder appears
    /// under its name only when it is complete, and after the version file.
    pub(super) fn create(&self, block_size: BlockSize) -> Result<()> {
        let new_engine = self.root.join(NEW_ENGINE_FOLDER);
        match fs::remove_dir_all(&new_engine) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("cannot remove", &new_engine, error));
            }
            _ => {}
        }
        keyspaces::create(&new_engine, block_size)?;
        private::close_folder(&new_engine)
            .map_err(|error| StoreError::io("cannot set the mode of", &new_engine, error))?;
        sync_folders(&new_engine).map_err(|error| StoreError::io("cannot sync", &new_engine, error))?;
        self.write_format()
            .map_err(|error| StoreError::io("cannot write the format version in", &self.root, error))?;
        let rename = fs::rename(&new_engine, self.engine()).and_then(|()| sync_folder(&self.root));
        rename.map_err(|error| StoreError::io("cannot rename", &new_engine, error))
    }

    fn write_format(&self) -> io::Result<()> {
        let new = self.root.join(NEW_FORMAT_FILE);
        let mut file = private::create(&new)?;
        writeln!(file, "{FORMAT_NAME} {FORMAT_VERSION}")?;
        file.sync_all()?;
        fs::rename(&new, self.root.join(FORMAT_FILE))?;
        sync_folder(&self.root)
    }

    /// Refuses a folder with missing parts: the engine would create empty ones in their place and delete
    /// files that are no longer named.
    pub(super) fn check_layout(&self) -> Result<()> {
        let engine = self.engine();
        let folders =
            keyspaces::FOLDERS.map(|id| engine.join("keyspaces").join(id.to_string()).join("current"));
        let missing = std::iter::once(engine.join("version"))
            .chain(folders)
            .find(|path| !path.is_file());
        if let Some(path) = missing {
            return Err(damaged(format!(
                "{} is missing. Affected: all data. {WAY_OUT}",
                path.display()
            )));
        }
        Ok(())
    }

    /// Without one, the engine would begin a new journal.
    pub(super) fn check_has_journal(&self) -> Result<()> {
        let engine = self.engine();
        if self.journals()?.is_empty() {
            return Err(damaged(format!(
                "{} has no journal (<number>.jnl). Affected: the newest writes. {WAY_OUT}",
                engine.display()
            )));
        }
        Ok(())
    }

    /// The engine locks an empty file of its own, and does not open without it.
    pub(super) fn ensure_engine_lock(&self) -> Result<()> {
        let path = self.engine().join(ENGINE_LOCK_FILE);
        let mut options = private::file_options();
        let opened = options.write(true).create(true).truncate(false).open(&path);
        opened
            .map(drop)
            .map_err(|error| StoreError::io("cannot open", &path, error))
    }

    /// The journal files, oldest first.
    pub(super) fn journals(&self) -> Result<Vec<PathBuf>> {
        let engine = self.engine();
        let cannot_list = |error| StoreError::io("cannot list", &engine, error);
        let mut journals = Vec::new();
        for entry in fs::read_dir(&engine).map_err(cannot_list)? {
            let path = entry.map_err(cannot_list)?.path();
            if path
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("jnl"))
            {
                let number = path
                    .file_stem()
                    .and_then(|stem| stem.to_str()?.parse::<u64>().ok());
                let number = number.filter(|_| path.is_file()).ok_or_else(|| {
                    damaged(format!(
                        "{} is not a journal file; move it elsewhere",
                        path.display()
                    ))
                })?;
                journals.push((number, path));
            }
        }
        journals.sort();
        Ok(journals.into_iter().map(|(_, path)| path).collect())
    }

    /// A directory without a version file may hold only what an interrupted creation leaves.
    fn check_empty(&self) -> Result<()> {
        let cannot_list = |error| StoreError::io("cannot list", &self.root, error);
        for entry in fs::read_dir(&self.root).map_err(cannot_list)? {
            let name = entry.map_err(cannot_list)?.file_name();
            if [LOCK_FILE, NEW_ENGINE_FOLDER, NEW_FORMAT_FILE]
                .iter()
                .any(|known| name == *known)
            {
                continue;
            }
            // Another process may have filled the directory since.
            if self.root.join(FORMAT_FILE).exists() {
                return Ok(());
            }
            if self.engine().exists() {
                let way_out = format!(
                    "restore the file, or write it anew with the one line {FORMAT_NAME} {FORMAT_VERSION}, which every directory \
                     has so far (docs/internals/format.md)"
                );
                return Err(self.refuse("holds a database", &way_out));
            }
            let what = format!("holds {}", name.to_string_lossy());
            return Err(self.refuse(&what, "choose an empty or a new directory"));
        }
        Ok(())
    }

    fn refuse(&self, what: &str, way_out: &str) -> StoreError {
        let message = format!(
            "{} {what} but no {FORMAT_FILE} file; {way_out}",
            self.root.display()
        );
        StoreError::new(ErrorKind::Format, message)
    }
}

fn check_version(path: &Path, bytes: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let version = text
        .trim()
        .strip_prefix(FORMAT_NAME)
        .and_then(|rest| rest.trim().parse::<u32>().ok());
    let path = path.display();
    let message = match version {
        Some(FORMAT_VERSION) => return Ok(()),
        Some(newer) if newer > FORMAT_VERSION => format!(
            "{path} says format {newer}; this program reads format {FORMAT_VERSION}. \
             Open the directory with the newer version of Trestle that wrote it."
        ),
        Some(older) => format!(
            "{path} says format {older}; this program reads format {FORMAT_VERSION}. \
             docs/internals/format.md says how to bring the directory up to date."
        ),
        None => format!(
            "{path} does not hold \"{FORMAT_NAME} <number>\". If this is a Trestle directory, restore the file \
             from a backup; if not, choose another directory."
        ),
    };
    Err(StoreError::new(ErrorKind::Format, message))
}

fn damaged(message: String) -> StoreError {
    StoreError::new(ErrorKind::Damaged, message)
}

/// Makes the names of everything below `folder` survive a power cut: the engine does not sync the folder that holds
/// its keyspaces after adding one.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(folder)
}

/// Makes a rename in `folder` survive a power cut, where the system supports it.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}
