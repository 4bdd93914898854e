//! A data directory to be damaged, and copies of it.

use super::served::{Served, key};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::server::Server;
use trestle_torture::workload::{self, TABLE, succeed};

/// In shorter files, every byte can be tested.
const SMALL_FILE_BYTES: usize = 4 * 1024;
/// The most that a request may have.
const BATCH_ITEMS: usize = 25;
const ITEMS: usize = 1_000;
/// So many deletions make an idle server write its buffers to tables.
const DELETED_ITEMS: usize = 1_000;

/// A directory that a killed server left, in memory, and what a server serves from it.
pub(super) struct Specimen {
    files: Vec<Original>,
    pub(super) served: Served,
}

/// A file of the directory.
struct Original {
    /// Path below the directory.
    name: String,
    /// Without the zeros at the end: most of a journal is not used.
    bytes: Vec<u8>,
    len: usize,
    inode: u64,
}

/// What happens to one file of a copy.
pub(super) struct Damage {
    file: String,
    what: What,
}

enum What {
    Flip { at: usize, mask: u8 },
    Cut { len: usize },
    Deletion,
}

impl Damage {
    pub(super) fn flip(file: &str, at: usize, mask: u8) -> Self {
        Self::of(file, What::Flip { at, mask })
    }

    pub(super) fn cut(file: &str, len: usize) -> Self {
        Self::of(file, What::Cut { len })
    }

    pub(super) fn deletion(file: &str) -> Self {
        Self::of(file, What::Deletion)
    }

    fn of(file: &str, what: What) -> Self {
        let file = file.to_owned();
        Damage { file, what }
    }

    /// The file, as a message has to name it.
    pub(super) fn file(&self) -> &str {
        // A second name is the same file as the journal, whose name messages use.
        match self.file.strip_prefix("journals/") {
            Some(second_name) => second_name.split('-').next().unwrap(),
            None => &self.file,
        }
    }

    fn apply(&self, path: &Path) {
        // In place: the file may have a second name.
        let open = || File::options().read(true).write(true).open(path).unwrap();
        match self.what {
            What::Flip { at, mask } => {
                let (file, mut byte) = (open(), [0]);
                file.read_exact_at(&mut byte, at as u64).unwrap();
                file.write_all_at(&[byte[0] ^ mask], at as u64).unwrap();
            }
            What::Cut { len } => open().set_len(len as u64).unwrap(),
            What::Deletion => fs::remove_file(path).unwrap(),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Flip { at, mask } => write!(f, "byte {at} of {} flipped with {mask:#04x}", self.file),
            What::Cut { len } => write!(f, "{} cut to {len} bytes", self.file),
            What::Deletion => write!(f, "{} deleted", self.file),
        }
    }
}

impl Specimen {
    /// Tables in several spaces, and the newest rows only in the journal.
    pub(super) fn make(seed: u64) -> Self {
        fastrand::seed(seed);
        let dir = TempDir::new().unwrap();
        let server = Server::on(dir.path());
        workload::create_table(&mut server.connect());
        for part in 0..2 {
            let before = selected_tables(dir.path());
            fill(&server, part * ITEMS / 2..(part + 1) * ITEMS / 2);
            fill_and_delete(&server);
            wait_for_tables(dir.path(), &before);
        }
        fill(&server, 100..200);
        // Journals get their second names within a second or two.
        std::thread::sleep(Duration::from_millis(2_500));
        server.kill();
        let files = originals(dir.path());
        let served = Served::all(&Server::on(dir.path())).unwrap();
        Specimen { files, served }
    }

    pub(super) fn small_files(&self) -> Vec<&str> {
        let small = self.files.iter().filter(|file| file.len <= SMALL_FILE_BYTES);
        small.map(|file| file.name.as_str()).collect()
    }

    pub(super) fn any_file(&self) -> &str {
        &fastrand::choice(&self.files).unwrap().name
    }

    /// The larger a file, the more often it is chosen; but not the unused part of a journal.
    pub(super) fn place_in_a_large_file(&self) -> (&str, usize) {
        let is_large = |file: &&Original| file.len > SMALL_FILE_BYTES && !file.name.starts_with("journals/");
        let large = || self.files.iter().filter(is_large);
        let all: usize = large().map(|file| file.bytes.len()).sum();
        let mut at = fastrand::usize(..all);
        for file in large() {
            match at.checked_sub(file.bytes.len()) {
                None => return (&file.name, at),
                Some(rest) => at = rest,
            }
        }
        unreachable!("the place lies in one of the files")
    }

    pub(super) fn len(&self, file: &str) -> usize {
        self.files
            .iter()
            .find(|original| original.name == file)
            .unwrap()
            .len
    }

    /// A copy with the damage. Names of the same file are names of one file in the copy, too.
    pub(super) fn damaged(&self, damage: &Damage) -> TempDir {
        let copy = TempDir::new().unwrap();
        let mut first_names: HashMap<u64, PathBuf> = HashMap::new();
        for file in &self.files {
            let path = copy.path().join(&file.name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match first_names.get(&file.inode) {
                Some(first) => fs::hard_link(first, &path).unwrap(),
                None => file.write(&path),
            }
            first_names.insert(file.inode, path);
        }
        damage.apply(&copy.path().join(&damage.file));
        copy
    }
}

impl Original {
    fn read(root: &Path, path: &Path) -> Self {
        let mut bytes = fs::read(path).unwrap();
        let len = bytes.len();
        bytes.truncate(used_len(&bytes));
        Original {
            name: path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(),
            bytes,
            len,
            inode: fs::metadata(path).unwrap().ino(),
        }
    }

    fn write(&self, path: &Path) {
        fs::write(path, &self.bytes).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(self.len as u64).unwrap();
    }
}

fn originals(dir: &Path) -> Vec<Original> {
    let mut files = Vec::new();
    collect(dir, dir, &mut files);
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

fn fill(server: &Server, numbers: Range<usize>) {
    write(server, numbers.map(put));
}

fn fill_and_delete(server: &Server) {
    let keys = || (0..DELETED_ITEMS).map(|n| json!({"pk": {"S": format!("deleted-{n}")}}));
    write(server, keys().map(|key| json!({"PutRequest": {"Item": key}})));
    write(server, keys().map(|key| json!({"DeleteRequest": {"Key": key}})));
}

fn write(server: &Server, requests: impl Iterator<Item = Value>) {
    let mut client = server.connect();
    for batch in requests.collect::<Vec<_>>().chunks(BATCH_ITEMS) {
        let request = json!({"RequestItems": {TABLE: batch}});
        succeed(&mut client, "BatchWriteItem", &request);
    }
}

fn put(n: usize) -> Value {
    let item = json!({"pk": {"S": key(n)}, "g": {"S": format!("g{}", n % 5)}, "v": {"S": noise()}});
    json!({"PutRequest": {"Item": item}})
}

/// A kilobyte that hardly compresses.
fn noise() -> Value {
    (0..1024)
        .map(|_| fastrand::alphanumeric())
        .collect::<String>()
        .into()
}

/// The file that selects the tables of items.
fn selected_tables(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("db/keyspaces/3/current")).unwrap()
}

fn wait_for_tables(dir: &Path, before: &[u8]) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while selected_tables(dir) == before {
        assert!(Instant::now() < deadline, "no table was written in a minute");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<Original>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => collect(root, &path, files),
            false => files.push(Original::read(root, &path)),
        }
    }
}

fn used_len(bytes: &[u8]) -> usize {
    const PIECE: usize = 64 * 1024;
    let mut used = bytes;
    while used.len() > PIECE && used[used.len() - PIECE..].iter().all(|byte| *byte == 0) {
        used = &used[..used.len() - PIECE];
    }
    used.iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}
