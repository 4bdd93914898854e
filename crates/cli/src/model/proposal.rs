//! Where a proposed model goes, and what to do with it next.

use super::line;
use crate::exit::Failure;
use clap::Args;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use trestle_discover::Proposal;

/// Flags that say where it goes.
#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// The model file to write; it must be new [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputFlags {
    /// Refuses a file that is there already, before anything is read.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.output {
            Some(file) if file.exists() => Err(Failure::usage(format!(
                "{} exists already; choose another name",
                file.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the proposal; what there is to say about it goes to standard error.
    pub(super) fn give(&self, proposal: &Proposal) -> Result<(), Failure> {
        for note in &proposal.notes {
            say(note);
        }
        let Some(file) = &self.output else {
            line(proposal.text.trim_end());
            say(
                "next: save it to a file, read it, then `trestle model check FILE` and `trestle model apply FILE`",
            );
            return Ok(());
        };
        let shown = file.display();
        let mut options = OpenOptions::new();
        let written = options
            .write(true)
            .create_new(true)
            .open(file)
            .and_then(|mut out| out.write_all(proposal.text.as_bytes()));
        written.map_err(|error| Failure::failed(format!("cannot write {shown}: {error}")))?;
        say(&format!(
            "next: read {shown}, then `trestle model check {shown}` and `trestle model apply {shown}`"
        ));
        Ok(())
    }
}

/// With standard error closed there is nobody left to tell.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
