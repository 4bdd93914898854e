//! A layer's bytes: a zip that is identical whenever its files are.

use std::io::{self, Cursor, Write as _};
use std::path::Path;

use axum::body::Bytes;
use walkdir::WalkDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The limit of Lambda, unpacked.
const UNPACKED_BYTES_MAX: u64 = 250 << 20;
const TOO_LARGE: &str = "it is larger than the 250 MB that Lambda takes, unpacked";

/// A file of a layer: its name with folders, `python/requests/__init__.py`, and its bytes.
pub(crate) type File = (String, Vec<u8>);

/// All files below a folder, as files of the layer's folder `python`, in the order of their names. Scripts
/// and their records are left out: they contain the path of the interpreter on the build machine.
pub(crate) fn installed(folder: &Path) -> io::Result<Vec<File>> {
    let (mut files, mut size) = (Vec::new(), 0);
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        let name = entry.path().strip_prefix(folder).map_err(io::Error::other)?;
        if !entry.file_type().is_file() || name.starts_with("bin") {
            continue;
        }
        let mut content = std::fs::read(entry.path())?;
        if name.ends_with("RECORD") {
            content = without_scripts(&content);
        }
        size += content.len() as u64;
        if size > UNPACKED_BYTES_MAX {
            return Err(io::Error::other(TOO_LARGE));
        }
        files.push((format!("python/{}", name.display()), content));
    }
    Ok(files)
}

fn without_scripts(record: &[u8]) -> Vec<u8> {
    let lines = record.split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| !line.starts_with(b"../../bin/"));
    kept.flatten().copied().collect()
}

/// The same files in the same order give the same bytes: all have the same date and the same permissions.
pub(crate) fn zip(files: &[File]) -> io::Result<Bytes> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o755);
    for (name, content) in files {
        zip.start_file(name, options)?;
        zip.write_all(content)?;
    }
    Ok(zip.finish()?.into_inner().into())
}
