//! Models of other tools, converted to a proposed model file. One module for each format.

mod nosql_workbench;
mod path;

use crate::propose::{Proposal, propose};

pub use path::ImportError;

/// A supported format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A data model exported by NoSQL Workbench: JSON with tables, indexes, facets and sample rows.
    NosqlWorkbench,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 1] = [Format::NosqlWorkbench];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::NosqlWorkbench => "nosql-workbench",
        }
    }

    /// The format of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Proposes a model from a file of another tool.
pub fn import(format: Format, text: &str) -> Result<Proposal, ImportError> {
    let read = match format {
        Format::NosqlWorkbench => nosql_workbench::read(text)?,
    };
    Ok(propose(&read.model, &read.tables))
}

/// The content of a file of another tool.
struct Read {
    model: String,
    tables: Vec<crate::propose::Observed>,
}
