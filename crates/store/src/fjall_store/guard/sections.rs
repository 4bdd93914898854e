//! The engine's files that consist of sections: version files and tables. All numbers are little-endian.
//!
//! ```text
//! sections…
//! contents  "TOC!"  count u32  { position u64  length u64  name length u16  name }…
//! trailer   "SFA!"  01  00  checksum of contents u128  position u64  length u64
//! ```
//!
//! Checksums are XXH3-128.

use super::fault::Fault;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

const TRAILER_LEN: u64 = 38;
const TRAILER_START: [u8; 6] = *b"SFA!\x01\x00";
const CONTENTS_START: [u8; 4] = *b"TOC!";
/// There are nine sections at most, with short names.
const CONTENTS_LEN_MAX: u64 = 4096;

/// A file whose contents match their checksum.
pub(super) struct SectionFile {
    path: PathBuf,
    file: File,
    sections: Vec<Section>,
}

/// One part of the file.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: Vec<u8>,
    pub(super) offset: u64,
    pub(super) len: u64,
}

impl SectionFile {
    /// Opens the file and reads where its sections are.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let file = File::open(path).map_err(|error| Fault::io(path, error))?;
        let mut opened = SectionFile {
            path: path.to_path_buf(),
            file,
            sections: Vec::new(),
        };
        opened.sections = opened.read_contents()?;
        Ok(opened)
    }

    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of this name, which every such file has.
    pub(super) fn section(&self, name: &str) -> Result<&Section, Fault> {
        let found = self
            .sections
            .iter()
            .find(|section| section.name == name.as_bytes());
        found.ok_or_else(|| self.fault(0, "a section is missing"))
    }

    /// Bytes at a place of the file.
    pub(super) fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.take(len).read_to_end(&mut bytes))
            .map_err(|error| Fault::io(&self.path, error))?;
        if bytes.len() as u64 != len {
            return Err(self.fault(offset + bytes.len() as u64, "the file ends too early"));
        }
        Ok(bytes)
    }

    pub(super) fn fault(&self, offset: u64, reason: &str) -> Fault {
        Fault::at(&self.path, offset, reason)
    }

    fn read_contents(&self) -> Result<Vec<Section>, Fault> {
        let len = self
            .file
            .metadata()
            .map_err(|error| Fault::io(&self.path, error))?
            .len();
        let start = len
            .checked_sub(TRAILER_LEN)
            .ok_or_else(|| self.fault(len, "the file ends too early"))?;
        let trailer = self.read(start, TRAILER_LEN)?;
        let wrong_trailer = || self.fault(start, "the end of the file is unreadable");
        let numbers = trailer.strip_prefix(&TRAILER_START).ok_or_else(wrong_trailer)?;
        let mut numbers = Numbers(numbers);
        let (checksum, offset, contents_len) =
            (|| Some((numbers.u128()?, numbers.u64()?, numbers.u64()?)))().ok_or_else(wrong_trailer)?;
        if contents_len > CONTENTS_LEN_MAX || offset.checked_add(contents_len) != Some(start) {
            return Err(wrong_trailer());
        }
        let contents = self.read(offset, contents_len)?;
        if xxh3_128(&contents) != checksum {
            return Err(self.fault(offset, "the list of sections does not match its checksum"));
        }
        parse_contents(&contents).ok_or_else(|| self.fault(offset, "the list of sections is unreadable"))
    }
}

fn parse_contents(bytes: &[u8]) -> Option<Vec<Section>> {
    let mut numbers = Numbers(bytes.strip_prefix(&CONTENTS_START)?);
    let count = numbers.u32()?;
    (0..count)
        .map(|_| {
            let (offset, len, name_len) = (numbers.u64()?, numbers.u64()?, numbers.u16()?);
            let name = numbers.bytes(usize::from(name_len))?.to_vec();
            Some(Section { name, offset, len })
        })
        .collect()
}

/// A sequence of numbers.
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl<'a> Numbers<'a> {
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
}
