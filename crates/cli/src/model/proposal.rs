//! The output of a proposed model, and the next steps.

use super::line;
use crate::exit::Failure;
use clap::Args;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trestle_discover::Proposal;

/// Flags that say where it goes.
#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// The model file to write; it must be new [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print a JSON object instead: the text of the model file, or where it was written, and the notes
    #[arg(long)]
    json: bool,
}

impl OutputFlags {
    /// Refuses an existing file, before anything is read.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.out {
            Some(file) if file.exists() => Err(Failure::usage(format!(
                "{} exists already; choose another name",
                file.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the proposal; notes about it go to standard error.
    pub(super) fn give(&self, proposal: &Proposal) -> Result<(), Failure> {
        if let Some(file) = &self.out {
            write(file, &proposal.text)?;
        }
        if self.json {
            self.give_json(proposal);
        } else {
            self.give_text(proposal);
        }
        Ok(())
    }

    fn give_json(&self, proposal: &Proposal) {
        let object = match &self.out {
            Some(file) => serde_json::json!({ "file": file, "notes": proposal.notes }),
            None => serde_json::json!({ "text": proposal.text, "notes": proposal.notes }),
        };
        line(&object.to_string());
    }

    fn give_text(&self, proposal: &Proposal) {
        for note in &proposal.notes {
            say(note);
        }
        let (read, file) = match &self.out {
            Some(file) => (format!("read {}", file.display()), file.display().to_string()),
            None => {
                line(proposal.text.trim_end());
                ("save it with --out FILE, read it".to_owned(), "FILE".to_owned())
            }
        };
        say(&format!(
            "next: {read}, then `trestle model check {file}`, `trestle model diff {file}` and `trestle model apply {file}`"
        ));
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    created
        .and_then(|mut out| out.write_all(text.as_bytes()))
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", file.display())))
}

/// A closed standard error is not reported.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
