//! Reads files exported by Cassandra's tools, record by record.

mod csv;
mod lines;
mod records;

pub use csv::{CsvFields, CsvReader, CsvSettings, Encoding};
pub(crate) use records::{Cells, FilePosition, Header, RecordFault, Records};
