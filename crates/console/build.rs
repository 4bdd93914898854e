//! Compresses the files of the page and the pages of the book, and writes the tables in which they are found.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?);
    table(Path::new("files"), &out.join("files"), |_| true)?;
    // The book is in the repository; the crate on its own is built without it.
    table(Path::new("../../docs"), &out.join("book"), |page| {
        page.extension().is_some_and(|extension| extension == "md")
    })
}

/// Compresses the files below `from` that are wanted into the folder `to`, with a table beside it: name, `ETag`, content.
fn table(from: &Path, to: &Path, is_wanted: impl Fn(&Path) -> bool) -> io::Result<()> {
    let mut files = Vec::new();
    if from.is_dir() {
        println!("cargo::rerun-if-changed={}", from.display());
        gather(from, &mut files)?;
    }
    files.retain(|file| is_wanted(file));
    files.sort();
    fs::create_dir_all(to)?;
    let mut table = String::from("&[\n");
    for (number, file) in files.iter().enumerate() {
        let content = fs::read(file)?;
        let stored = to.join(format!("{number}.gz"));
        let mut encoder = GzEncoder::new(fs::File::create(&stored)?, Compression::best());
        encoder.write_all(&content)?;
        encoder.finish()?;
        let name = file.strip_prefix(from).map_err(io::Error::other)?;
        let name = name.to_string_lossy().replace('\\', "/");
        let mut sum = flate2::Crc::new();
        sum.update(&content);
        let etag = format!("\"{:08x}-{:x}\"", sum.sum(), content.len());
        writeln!(table, "    ({name:?}, {etag:?}, include_bytes!({stored:?})),").map_err(io::Error::other)?;
    }
    table.push(']');
    fs::write(to.with_extension("rs"), table)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => gather(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
