//! The repository's text files, read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Names of build results and downloads, at any depth. `.git` is a file where several worktrees share a
/// repository.
const BUILT: &[&str] = &[
    "target",
    ".git",
    ".test-env",
    "node_modules",
    "__pycache__",
    "trestle-data",
    "corpus",
    "artifacts",
];

/// Every text file of the repository, by its path from the root with `/` between the parts.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    files: BTreeMap<String, String>,
}

impl Repository {
    /// The repository this program was built in.
    pub(crate) fn own_root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if BUILT.contains(&&*name) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    // Files that are not text, such as pictures, are included, because documents name them.
                    let text = String::from_utf8(fs::read(&path)?).unwrap_or_default();
                    files.insert(from_root(root, &path), text);
                }
            }
        }
        Ok(Self { files })
    }

    /// A repository with these files, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn with_extension(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| {
            Path::new(path)
                .extension()
                .is_some_and(|found| found == extension)
        })
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether a file or folder of that path exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.contains_key(path) || self.files.keys().any(|file| is_inside(file, path))
    }
}

fn is_inside(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn from_root(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    inner
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
