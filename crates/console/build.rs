//! Compresses the files of the page, and writes the table in which they are found.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=files");
    let from = Path::new("files");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?);
    let mut files = Vec::new();
    gather(from, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for (number, file) in files.iter().enumerate() {
        let content = fs::read(file)?;
        let stored = out.join(format!("{number}.gz"));
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
    fs::write(out.join("files.rs"), table)
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
