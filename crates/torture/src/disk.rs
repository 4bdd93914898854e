//! A directory as a power cut may leave it.
//!
//! # The model
//!
//! [`Disk`] replays a [recording](crate::recording) up to a moment and then [rebuilds](Disk::rebuild) the directory as
//! a disk could hold it then. What a finished `fsync` or `fdatasync` covered is there. Of everything else:
//!
//! - **Contents.** Writes that were not synced reach the disk in pages of 4 KiB, each page independently: not
//!   at all, as of any moment since the last sync, as of the newest write, only some of its 512-byte sectors,
//!   or with zeros where the unsynced bytes should be. Bytes next to them on the same page that were synced
//!   earlier stay: a disk that destroys what it has confirmed is broken, and no journal survives it.
//! - **Lengths.** A file is as long as it was after any of the unsynced writes, or still as long as when it was synced.
//!   Shortenings happen in their order, and not later than writes that came after them.
//! - **Names.** Creating, renaming and removing need a sync of the folder. Changes of one folder become durable in
//!   their order, as in every journalling file system, but folders advance independently of one another and of
//!   the files in them: also a synced file may have no name yet, and a name may come back to a file that was removed.
//!   A rename within a folder is atomic.
//!
//! A sync covers everything that was finished before it began; later changes are uncertain. `sync_file_range`
//! promises nothing. Not modelled: reordering within one folder, and media errors.

use crate::recording::Event;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const PAGE: usize = 4096;
const SECTOR: usize = 512;
const O_CREAT: i64 = 0o100;
const O_TRUNC: i64 = 0o1000;

type Id = usize;

/// The replayed directory: what is durable, and what is not yet.
#[derive(Debug)]
pub struct Disk<'a> {
    root: String,
    nodes: Vec<Node<'a>>,
    descriptors: HashMap<i64, Id>,
    /// What each running sync will make durable: how many changes of which node.
    syncs: HashMap<(i64, i64), (Id, usize)>,
}

#[derive(Debug)]
enum Node<'a> {
    File(File<'a>),
    Folder(Folder),
}

#[derive(Debug, Default)]
struct File<'a> {
    synced: Vec<u8>,
    /// How many changes are in `synced`.
    synced_changes: usize,
    pending: Vec<Change<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Change<'a> {
    Write { offset: usize, data: &'a [u8] },
    Length(usize),
}

#[derive(Debug, Default)]
struct Folder {
    now: BTreeMap<String, Id>,
    synced: BTreeMap<String, Id>,
    synced_changes: usize,
    pending: Vec<NameChange>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Set(String, Id),
    Remove(String),
    Rename(String, String, Id),
}

/// The share of unsynced changes that reached the disk.
#[derive(Clone, Copy, Debug)]
enum Luck {
    Nothing,
    Everything,
    Mixed,
}

/// What happened to one page's unsynced writes.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Old,
    New,
    AsOf(usize),
    Sectors(u8),
    Zeros,
}

impl<'a> Disk<'a> {
    /// A disk on which the directory and everything in it is durable.
    pub fn holding(directory: &Path) -> Self {
        let mut disk = Disk {
            root: directory.to_str().unwrap().to_owned(),
            nodes: Vec::new(),
            descriptors: HashMap::new(),
            syncs: HashMap::new(),
        };
        disk.load(directory, &mut HashMap::new());
        disk
    }

    /// The recording's name for the directory.
    pub fn at(mut self, root: &str) -> Self {
        self.root = root.to_owned();
        self
    }

    fn load(&mut self, path: &Path, known: &mut HashMap<u64, Id>) -> Id {
        let id = self.nodes.len();
        let inode = fs::metadata(path).unwrap().ino();
        if let Some(second_name) = known.insert(inode, id) {
            known.insert(inode, second_name);
            return second_name;
        }
        if path.is_dir() {
            self.nodes.push(Node::Folder(Folder::default()));
            for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                let child = self.load(&entry.path(), known);
                let folder = self.folder(id);
                folder.now.insert(name.clone(), child);
                folder.synced.insert(name, child);
            }
        } else {
            self.nodes.push(Node::File(File {
                synced: fs::read(path).unwrap(),
                ..File::default()
            }));
        }
        id
    }

    /// Replays the next event of the recorded program.
    pub fn replay(&mut self, event: Event<'a>) {
        match event {
            Event::Open { fd, flags, path } => self.open(fd, flags, path),
            Event::Dup { old, new } => {
                let id = self.descriptors[&old];
                self.descriptors.insert(new, id);
            }
            Event::Close { fd } => {
                self.descriptors.remove(&fd);
            }
            Event::Write { fd, offset, data } => {
                let offset = offset as usize;
                self.file(fd).pending.push(Change::Write { offset, data });
            }
            Event::Truncate { fd, length } => {
                self.file(fd).pending.push(Change::Length(length as usize));
            }
            Event::Sync { fd, thread } => {
                let id = self.descriptors[&fd];
                let covered = match &self.nodes[id] {
                    Node::File(file) => file.synced_changes + file.pending.len(),
                    Node::Folder(folder) => folder.synced_changes + folder.pending.len(),
                };
                self.syncs.insert((fd, thread), (id, covered));
            }
            Event::Synced { fd, thread } => self.synced(fd, thread),
            Event::Rename { from, to } => self.rename(from, to),
            Event::Link { from, to } => {
                let id = self
                    .find(from)
                    .unwrap_or_else(|| panic!("{from} got a second name and is not there"));
                let (folder, name) = self.parent(to);
                self.change_name(folder, NameChange::Set(name, id));
            }
            Event::Unlink { path } => {
                let (folder, name) = self.parent(path);
                self.change_name(folder, NameChange::Remove(name));
            }
            Event::MakeFolder { path } => {
                let id = self.add(Node::Folder(Folder::default()));
                // The root is made by the program, but the folder that holds it is not part of the model.
                if path != self.root {
                    let (folder, name) = self.parent(path);
                    self.change_name(folder, NameChange::Set(name, id));
                }
            }
        }
    }

    fn open(&mut self, fd: i64, flags: i64, path: &str) {
        let found = self.find(path);
        let id = found.unwrap_or_else(|| {
            assert!(flags & O_CREAT != 0, "{path} was opened and is not there");
            let id = self.add(Node::File(File::default()));
            let (folder, name) = self.parent(path);
            self.change_name(folder, NameChange::Set(name, id));
            id
        });
        self.descriptors.insert(fd, id);
        if found.is_some() && flags & O_TRUNC != 0 {
            self.file(fd).pending.push(Change::Length(0));
        }
    }

    fn synced(&mut self, fd: i64, thread: i64) {
        let Some((id, covered)) = self.syncs.remove(&(fd, thread)) else {
            return;
        };
        match &mut self.nodes[id] {
            Node::File(file) => {
                let count = covered.saturating_sub(file.synced_changes);
                for change in file.pending.drain(..count) {
                    apply_all(&mut file.synced, change);
                }
                file.synced_changes += count;
            }
            Node::Folder(folder) => {
                let count = covered.saturating_sub(folder.synced_changes);
                for change in folder.pending.drain(..count) {
                    apply_name(&mut folder.synced, &change);
                }
                folder.synced_changes += count;
            }
        }
    }

    fn rename(&mut self, from: &str, to: &str) {
        let id = self
            .find(from)
            .unwrap_or_else(|| panic!("{from} was renamed and is not there"));
        let ((old_folder, old), (new_folder, new)) = (self.parent(from), self.parent(to));
        if old_folder == new_folder {
            self.change_name(new_folder, NameChange::Rename(old, new, id));
        } else {
            self.change_name(new_folder, NameChange::Set(new, id));
            self.change_name(old_folder, NameChange::Remove(old));
        }
    }

    /// Writes the directory to `target` in a state that it may have if the power fails now.
    pub fn rebuild(&self, target: &Path, random: &mut fastrand::Rng) {
        let luck = match random.u8(0..8) {
            0 => Luck::Nothing,
            1 => Luck::Everything,
            _ => Luck::Mixed,
        };
        self.rebuild_node(0, target, luck, random, &mut HashMap::new());
    }

    /// A file with several names is written once.
    fn rebuild_node(
        &self,
        id: Id,
        target: &Path,
        luck: Luck,
        random: &mut fastrand::Rng,
        written: &mut HashMap<Id, PathBuf>,
    ) {
        match &self.nodes[id] {
            Node::File(_) if written.contains_key(&id) => fs::hard_link(&written[&id], target).unwrap(),
            Node::File(file) => {
                write_sparse(target, &file.after_power_cut(luck, random));
                written.insert(id, target.to_path_buf());
            }
            Node::Folder(folder) => {
                fs::create_dir_all(target).unwrap();
                for (name, child) in folder.after_power_cut(luck, random) {
                    self.rebuild_node(child, &target.join(name), luck, random, written);
                }
            }
        }
    }

    fn add(&mut self, node: Node<'a>) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn file(&mut self, fd: i64) -> &mut File<'a> {
        match &mut self.nodes[self.descriptors[&fd]] {
            Node::File(file) => file,
            Node::Folder(_) => panic!("a folder was written to"),
        }
    }

    fn folder(&mut self, id: Id) -> &mut Folder {
        match &mut self.nodes[id] {
            Node::Folder(folder) => folder,
            Node::File(_) => panic!("a file was used as a folder"),
        }
    }

    fn names<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> + use<'p, 'a> {
        let below = path.strip_prefix(&self.root).unwrap();
        below.split('/').filter(|name| !name.is_empty() && *name != ".")
    }

    fn find(&self, path: &str) -> Option<Id> {
        self.names(path).try_fold(0, |id, name| match &self.nodes[id] {
            Node::Folder(folder) => folder.now.get(name).copied(),
            Node::File(_) => None,
        })
    }

    fn parent(&self, path: &str) -> (Id, String) {
        let (folder, name) = path.trim_end_matches('/').rsplit_once('/').unwrap();
        let id = self
            .find(folder)
            .unwrap_or_else(|| panic!("the folder of {path} is not there"));
        (id, name.to_owned())
    }

    fn change_name(&mut self, folder: Id, change: NameChange) {
        let folder = self.folder(folder);
        apply_name(&mut folder.now, &change);
        folder.pending.push(change);
    }
}

impl Folder {
    fn after_power_cut(&self, luck: Luck, random: &mut fastrand::Rng) -> BTreeMap<String, Id> {
        let mut names = self.synced.clone();
        for change in &self.pending[..how_many(self.pending.len(), luck, random)] {
            apply_name(&mut names, change);
        }
        names
    }
}

impl File<'_> {
    fn after_power_cut(&self, luck: Luck, random: &mut fastrand::Rng) -> Vec<u8> {
        let shortenings = self
            .pending
            .iter()
            .filter(|change| matches!(change, Change::Length(_)));
        let mut lengths_left = how_many(shortenings.count(), luck, random);
        let mut contents = self.synced.clone();
        let mut fates = HashMap::new();
        let mut length = contents.len();
        // A length lies between those of the last durable truncation and of the last write.
        let mut lengths = vec![length];
        for change in &self.pending {
            match *change {
                Change::Length(_) if lengths_left == 0 => break,
                Change::Length(to) => {
                    lengths_left -= 1;
                    contents.resize(to, 0);
                    length = to;
                    lengths = vec![length];
                }
                Change::Write { offset, data } => {
                    for (page, offset, data) in pages_of(offset, data) {
                        let (fate, earlier) = fates
                            .entry(page)
                            .or_insert_with(|| (Fate::choose(luck, random), 0));
                        fate.write(&mut contents, offset, data, *earlier);
                        *earlier += 1;
                    }
                    length = length.max(offset + data.len());
                    lengths.push(length);
                }
            }
        }
        let length = lengths[how_many(lengths.len() - 1, luck, random)];
        contents.resize(length, 0);
        contents
    }
}

impl Fate {
    fn choose(luck: Luck, random: &mut fastrand::Rng) -> Self {
        match luck {
            Luck::Nothing => Fate::Old,
            Luck::Everything => Fate::New,
            Luck::Mixed => match random.u8(0..8) {
                0 | 1 => Fate::Old,
                2..5 => Fate::New,
                5 => Fate::AsOf(random.usize(0..6)),
                6 => Fate::Sectors(random.u8(..)),
                _ => Fate::Zeros,
            },
        }
    }
}

impl Fate {
    /// Applies the next write within one page, after so many others, as far as it reached the disk.
    fn write(self, contents: &mut Vec<u8>, offset: usize, data: &[u8], earlier: usize) {
        if contents.len() < offset + data.len() {
            contents.resize(offset + data.len(), 0);
        }
        let target = &mut contents[offset..offset + data.len()];
        match self {
            Fate::Old => {}
            Fate::New => target.copy_from_slice(data),
            Fate::AsOf(writes) if earlier < writes => target.copy_from_slice(data),
            Fate::AsOf(_) => {}
            Fate::Zeros => target.fill(0),
            Fate::Sectors(there) => {
                for (position, (to, from)) in target.iter_mut().zip(data).enumerate() {
                    let sector = (offset + position) % PAGE / SECTOR;
                    if there & (1 << sector) != 0 {
                        *to = *from;
                    }
                }
            }
        }
    }
}

/// Cuts a write at the borders of pages: page, offset, bytes.
fn pages_of(offset: usize, data: &[u8]) -> impl Iterator<Item = (usize, usize, &[u8])> {
    let (mut offset, mut rest) = (offset, data);
    std::iter::from_fn(move || {
        let here = rest.len().min(PAGE - offset % PAGE);
        let (piece, after) = rest.split_at(here);
        let found = (offset / PAGE, offset, piece);
        (offset, rest) = (offset + here, after);
        (!piece.is_empty()).then_some(found)
    })
}

fn apply_all(contents: &mut Vec<u8>, change: Change<'_>) {
    match change {
        Change::Length(length) => contents.resize(length, 0),
        Change::Write { offset, data } => Fate::New.write(contents, offset, data, 0),
    }
}

fn apply_name(names: &mut BTreeMap<String, Id>, change: &NameChange) {
    match change {
        NameChange::Set(name, id) => {
            names.insert(name.clone(), *id);
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
        NameChange::Rename(from, to, id) => {
            names.remove(from);
            names.insert(to.clone(), *id);
        }
    }
}

/// Leaves out pages of zeros: journals begin as 64 MB of them.
fn write_sparse(path: &Path, contents: &[u8]) {
    const ZEROS: [u8; PAGE] = [0; PAGE];
    let mut file = fs::File::create(path).unwrap();
    file.set_len(contents.len() as u64).unwrap();
    for (page, bytes) in contents.chunks(PAGE).enumerate() {
        if bytes != &ZEROS[..bytes.len()] {
            file.seek(SeekFrom::Start((page * PAGE) as u64)).unwrap();
            file.write_all(bytes).unwrap();
        }
    }
}

/// How many of so many ordered changes reached the disk.
fn how_many(changes: usize, luck: Luck, random: &mut fastrand::Rng) -> usize {
    match luck {
        Luck::Nothing => 0,
        Luck::Everything => changes,
        Luck::Mixed => random.usize(0..=changes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const CREATE: i64 = O_CREAT;

    /// Replays the events on an empty disk and returns what `file` may hold after a power cut; `None` for no file.
    fn outcomes(events: &[Event<'_>], file: &str) -> Vec<Option<Vec<u8>>> {
        let dir = TempDir::new().unwrap();
        let mut disk = Disk::holding(dir.path()).at("/d");
        for event in events {
            disk.replay(*event);
        }
        let mut random = fastrand::Rng::with_seed(7);
        let mut found: Vec<_> = (0..300)
            .map(|_| {
                let target = TempDir::new().unwrap();
                disk.rebuild(target.path(), &mut random);
                fs::read(target.path().join(file)).ok()
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn write(data: &[u8]) -> [Event<'_>; 2] {
        let path = "/d/file";
        [
            Event::Open {
                fd: 3,
                flags: CREATE,
                path,
            },
            Event::Write {
                fd: 3,
                offset: 0,
                data,
            },
        ]
    }

    const SYNC: [Event<'static>; 2] = [
        Event::Sync { fd: 3, thread: 1 },
        Event::Synced { fd: 3, thread: 1 },
    ];
    const SYNC_FOLDER: [Event<'static>; 3] = [
        Event::Open {
            fd: 4,
            flags: 0,
            path: "/d",
        },
        Event::Sync { fd: 4, thread: 1 },
        Event::Synced { fd: 4, thread: 1 },
    ];

    #[test]
    fn what_was_synced_with_its_folder_is_there() {
        let events = [write(b"safe").as_slice(), &SYNC, &SYNC_FOLDER].concat();
        assert_eq!(outcomes(&events, "file"), [Some(b"safe".to_vec())]);
    }

    #[test]
    fn a_synced_file_may_lack_its_name() {
        let events = [write(b"safe").as_slice(), &SYNC].concat();
        assert_eq!(outcomes(&events, "file"), [None, Some(b"safe".to_vec())]);
    }

    #[test]
    fn an_unsynced_write_may_be_there_missing_or_zeros() {
        let events = [write(b"x").as_slice(), &SYNC_FOLDER].concat();
        let expected = [b"".to_vec(), b"\0".to_vec(), b"x".to_vec()];
        assert_eq!(outcomes(&events, "file"), expected.map(Some));
    }

    #[test]
    fn bytes_beside_an_unsynced_write_stay() {
        let more = Event::Write {
            fd: 3,
            offset: 4,
            data: b"y",
        };
        let events = [write(b"safe").as_slice(), &SYNC, &SYNC_FOLDER, &[more]].concat();
        let found = outcomes(&events, "file");
        assert!(
            found
                .iter()
                .flatten()
                .all(|contents| contents.starts_with(b"safe")),
            "{found:?}"
        );
        assert!(found.contains(&Some(b"safey".to_vec())));
    }

    #[test]
    fn a_write_after_a_sync_began_is_not_covered_by_it() {
        let more = Event::Write {
            fd: 3,
            offset: 0,
            data: b"B",
        };
        let events = [
            write(b"A").as_slice(),
            &SYNC[..1],
            &[more],
            &SYNC[1..],
            &SYNC_FOLDER,
        ]
        .concat();
        let found = outcomes(&events, "file");
        assert!(
            found.contains(&Some(b"A".to_vec())) && found.contains(&Some(b"B".to_vec())),
            "{found:?}"
        );
    }

    #[test]
    fn pages_are_lost_one_by_one() {
        let data = [1; 3 * PAGE];
        let events = [write(&data).as_slice(), &SYNC_FOLDER].concat();
        let found = outcomes(&events, "file");
        let holes = |contents: &Vec<u8>| {
            let is_hole = |page: usize| {
                contents
                    .get(page * PAGE..(page + 1) * PAGE)
                    .is_some_and(|p| p == [0; PAGE])
            };
            (0..3).map(is_hole).collect::<Vec<_>>()
        };
        let seen: std::collections::BTreeSet<_> = found.iter().flatten().map(holes).collect();
        assert_eq!(seen.len(), 8, "every subset of three pages");
    }

    #[test]
    fn a_rename_is_there_or_not() {
        let rename = Event::Rename {
            from: "/d/file",
            to: "/d/other",
        };
        let events = [write(b"safe").as_slice(), &SYNC, &SYNC_FOLDER, &[rename]].concat();
        for file in ["file", "other"] {
            assert_eq!(outcomes(&events, file), [None, Some(b"safe".to_vec())]);
        }
    }
}
