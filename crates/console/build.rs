//! Compresses the files of the page and the pages of the book, and writes the tables for finding them.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Documents that pages of the book link to and that a user needs without the repository.
const BESIDE_THE_BOOK: [&str; 2] = ["COMPAT.md", "CHANGELOG.md"];

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?);
    table(&below(Path::new("files"))?, &out.join("files"))?;
    table(&book(Path::new("../.."))?, &out.join("book"))
}

/// The pages and their drawings by their paths in the book. They are in the repository; the crate on its own is built without them.
fn book(repository: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut pages = below(&repository.join("docs"))?;
    // Screenshots are left out: they would make the binary much larger.
    pages.retain(|(name, _)| name.ends_with(".md") || name.ends_with(".svg"));
    if !pages.is_empty() {
        for name in BESIDE_THE_BOOK {
            let file = repository.join(name);
            println!("cargo::rerun-if-changed={}", file.display());
            pages.push((name.to_owned(), file));
        }
    }
    Ok(pages)
}

/// The files of a folder by their paths in it, in order; empty if there is no such folder.
fn below(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    if folder.is_dir() {
        println!("cargo::rerun-if-changed={}", folder.display());
        gather(folder, &mut files)?;
    }
    files.sort();
    let named = files.into_iter().map(|file| {
        let name = file.strip_prefix(folder).map_err(io::Error::other)?;
        Ok((name.to_string_lossy().replace('\\', "/"), file))
    });
    named.collect()
}

/// Compresses the files into the folder `to`, with a table beside it: name, `ETag`, content.
fn table(files: &[(String, PathBuf)], to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut table = String::from("&[\n");
    for (number, (name, file)) in files.iter().enumerate() {
        let content = fs::read(file)?;
        let stored = to.join(format!("{number}.gz"));
        let mut encoder = GzEncoder::new(fs::File::create(&stored)?, Compression::best());
        encoder.write_all(&content)?;
        encoder.finish()?;
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
