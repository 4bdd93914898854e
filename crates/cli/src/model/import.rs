//! `trestle model import`: a model proposed from a file of another tool.

use super::proposal::OutputFlags;
use crate::exit::{Code, Failure};
use clap::Args;
use std::path::PathBuf;
use trestle_discover::import::Format;

/// Flags of `trestle model import`.
#[derive(Debug, Args)]
pub(crate) struct ImportFlags {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What the file is: nosql-workbench
    #[arg(long, value_name = "FORMAT", default_value = "nosql-workbench", value_parser = format)]
    format: Format,
    #[command(flatten)]
    output: OutputFlags,
}

fn format(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
        format!("this format is not known; there is {}", known.join(", "))
    })
}

/// Reads the file and proposes.
pub(super) fn import(flags: &ImportFlags) -> Result<(), Failure> {
    flags.output.check()?;
    let file = flags.file.display();
    let text = std::fs::read_to_string(&flags.file)
        .map_err(|error| Failure::usage(format!("cannot read {file}: {error}")))?;
    let proposal = trestle_discover::import::import(flags.format, &text)
        .map_err(|error| Failure::new(Code::BadModel, format!("cannot import {file}: {error}")))?;
    flags.output.give(&proposal)
}
