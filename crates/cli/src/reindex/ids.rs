//! Ids from a file: one per line, or the output of `gaps --json`.

use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The ids of a file, read line by line; `-` is standard input.
pub(super) fn read(file: &Path) -> Result<Box<dyn Iterator<Item = Result<String, String>> + Send>, String> {
    let shown = file.display().to_string();
    let reader: Box<dyn BufRead + Send> = match file == Path::new("-") {
        true => Box::new(BufReader::new(io::stdin())),
        false => Box::new(BufReader::new(
            File::open(file).map_err(|error| format!("cannot read {shown}: {error}"))?,
        )),
    };
    let lines = reader.lines().map(move |line| match line {
        Ok(line) => Ok(line.trim().to_owned()),
        Err(error) => Err(format!("cannot read {shown}: {error}")),
    });
    Ok(Box::new(lines.filter(|line| {
        line.as_ref().map_or(true, |line| !line.is_empty())
    })))
}

/// All ids of a file.
pub(super) fn read_all(file: &Path) -> Result<Vec<String>, Failure> {
    let ids = read(file).map_err(Failure::usage)?;
    ids.collect::<Result<Vec<String>, String>>()
        .map_err(Failure::usage)
}
