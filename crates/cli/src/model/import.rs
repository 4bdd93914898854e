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
    from: Format,
    #[command(flatten)]
    output: OutputFlags,
}

fn format(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| format!("this format is not known; there is {}", known()))
}

fn known() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Reads the file and proposes.
pub(super) fn import(flags: &ImportFlags) -> Result<(), Failure> {
    flags.output.check()?;
    let file = flags.file.display();
    let text = std::fs::read_to_string(&flags.file)
        .map_err(|error| Failure::usage(format!("cannot read {file}: {error}")))?;
    let proposal = trestle_discover::import::import(flags.from, &text).map_err(|error| {
        let format = flags.from.name();
        let message = format!(
            "cannot import {file} as {format}: {error}; --from can be {}",
            known()
        );
        Failure::new(Code::BadModel, message)
    })?;
    flags.output.give(&proposal)
}
