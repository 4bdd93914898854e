//! The records of a file with their columns, in any format.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use super::csv::{CsvFields, CsvReader, CsvSettings, Encoding};
use super::lines::read_line;
use crate::mapping::FileFormat;
use crate::schema::{CqlType, Native};
use crate::value::{BlobText, Literal, parse_cqlsh, parse_json, unescape};

/// The position in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct FilePosition {
    /// The bytes before the next record.
    pub(crate) offset: u64,
    /// The lines before it.
    pub(crate) lines: u64,
}

/// The names of the columns of a file, in order.
pub(crate) type ColumnNames = Vec<String>;

/// The source of the column names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// In the first record.
    FirstRecord,
    /// In the mapping.
    Given(ColumnNames),
}

/// An error of a record as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordFault {
    pub(crate) reason: String,
    pub(crate) help: String,
}

/// The records of a file.
pub(crate) struct Records {
    kind: Kind,
}

/// A record, and the line at which it begins.
pub(crate) type PlacedRecord<'r> = (u64, Result<Cells<'r>, RecordFault>);

enum Kind {
    Csv {
        reader: Box<CsvReader<BufReader<File>>>,
        fields: CsvFields,
        names: ColumnNames,
        null: String,
    },
    Json {
        input: Box<BufReader<File>>,
        text: Vec<u8>,
        position: FilePosition,
    },
}

/// A large buffer: files are read once, from the beginning to the end.
const BUFFER_BYTES: usize = 256 * 1024;

impl Records {
    /// Opens a file at a position. The names of its columns are read from its beginning in any case.
    pub(crate) fn open(path: &Path, format: &FileFormat, from: Option<FilePosition>) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
        let mut start = 0;
        if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
            start = 3;
        }
        let kind = match format {
            FileFormat::Csv {
                settings,
                header,
                null,
            } => {
                let mut reader = CsvReader::new(input, *settings);
                reader.offset = start;
                let mut fields = CsvFields::default();
                let names = match header {
                    Header::Given(names) => names.clone(),
                    Header::FirstRecord => first_record(&mut reader, &mut fields)?,
                };
                if let Some(from) = from {
                    reader.input().seek(SeekFrom::Start(from.offset))?;
                    (reader.offset, reader.lines) = (from.offset, from.lines);
                }
                Kind::Csv {
                    reader: Box::new(reader),
                    fields,
                    names,
                    null: null.clone(),
                }
            }
            FileFormat::Json => {
                let mut position = FilePosition {
                    offset: start,
                    lines: 0,
                };
                if let Some(from) = from {
                    input.seek(SeekFrom::Start(from.offset))?;
                    position = from;
                }
                Kind::Json {
                    input: Box::new(input),
                    text: Vec::new(),
                    position,
                }
            }
        };
        Ok(Records { kind })
    }

    /// The names of the columns; `None` for a JSON file, where each record has them.
    pub(crate) fn names(&self) -> Option<&ColumnNames> {
        match &self.kind {
            Kind::Csv { names, .. } => Some(names),
            Kind::Json { .. } => None,
        }
    }

    /// The position of the next record.
    pub(crate) fn position(&self) -> FilePosition {
        match &self.kind {
            Kind::Csv { reader, .. } => FilePosition {
                offset: reader.offset,
                lines: reader.lines,
            },
            Kind::Json { position, .. } => *position,
        }
    }

    /// The next record; `None` at the end of the file. A record that cannot be parsed does not end the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<PlacedRecord<'_>>> {
        match &mut self.kind {
            Kind::Csv {
                reader,
                fields,
                names,
                null,
            } => {
                let is_read = reader.read(fields)?;
                let line = reader.record_line;
                Ok(is_read.then(|| (line, csv_cells(fields, names, null, reader.settings))))
            }
            Kind::Json {
                input,
                text,
                position,
            } => {
                loop {
                    text.clear();
                    if !read_line(input, text)? {
                        return Ok(None);
                    }
                    position.offset += text.len() as u64;
                    position.lines += 1;
                    // A document that is an array also has one record per line.
                    if !matches!(text.trim_ascii(), b"" | b"[" | b"]" | b",") {
                        break;
                    }
                }
                Ok(Some((position.lines, json_cells(text))))
            }
        }
    }
}

fn first_record(reader: &mut CsvReader<BufReader<File>>, fields: &mut CsvFields) -> io::Result<ColumnNames> {
    if !reader.read(fields)? {
        return Ok(Vec::new());
    }
    let name = |at| fields.get(at).map(|(name, _)| name.trim().to_owned());
    Ok((0..fields.len()).filter_map(name).collect())
}

fn csv_cells<'r>(
    fields: &'r CsvFields,
    names: &ColumnNames,
    null: &'r str,
    settings: CsvSettings,
) -> Result<Cells<'r>, RecordFault> {
    let fault = |reason: String, help: &str| {
        Err(RecordFault {
            reason,
            help: help.to_owned(),
        })
    };
    if fields.stray_escape {
        return fault(
            "has a backslash that the CSV writer of Python 3.10 and later would have escaped".to_owned(),
            "if an older Python ran cqlsh, say `escapes = \"once\"` in the mapping",
        );
    }
    if fields.behind_quote {
        return fault(
            "has text behind a closing quote, or a quote that is never closed".to_owned(),
            "`quote` and `escape` in the mapping must be those of the export",
        );
    }
    if fields.len() != names.len() {
        return fault(
            format!(
                "has {} fields, but the file has {} columns",
                fields.len(),
                names.len()
            ),
            "`delimiter`, `quote` and `escape` in the mapping must be those of the export",
        );
    }
    Ok(Cells::Csv {
        fields,
        null,
        encoding: settings.encoding,
    })
}

fn json_cells(text: &[u8]) -> Result<Cells<'_>, RecordFault> {
    let fault = |reason: String| RecordFault {
        reason,
        help:
            "export with one JSON object in each line, as dsbulk does unless `connector.json` says otherwise"
                .to_owned(),
    };
    let text = std::str::from_utf8(text).map_err(|_| fault("is no UTF-8".to_owned()))?;
    let text = text.trim();
    match parse_json(text.strip_suffix(',').unwrap_or(text)).map_err(fault)? {
        Literal::Pairs(pairs) => Ok(Cells::Json(pairs)),
        _ => Err(fault("is no JSON object".to_owned())),
    }
}

/// The cells of a record.
pub(crate) enum Cells<'r> {
    Csv {
        fields: &'r CsvFields,
        null: &'r str,
        encoding: Encoding,
    },
    Json(Vec<(Literal<'r>, Literal<'r>)>),
    /// Values of a live cluster, in the order in which they were selected.
    #[cfg(feature = "live")]
    Selected {
        values: Vec<Literal<'r>>,
        /// The time of the request, in seconds since 1970.
        asked_seconds: i64,
    },
}

impl<'r> Cells<'r> {
    /// How bytes are written.
    pub(crate) fn blobs(&self) -> BlobText {
        match self {
            Cells::Csv { encoding, .. } if *encoding != Encoding::Dsbulk => BlobText::Hexadecimal,
            Cells::Csv { .. } | Cells::Json(_) => BlobText::Base64,
            #[cfg(feature = "live")]
            Cells::Selected { .. } => BlobText::Hexadecimal,
        }
    }

    /// The time from which times to live count, if the record has it.
    pub(crate) fn asked_seconds(&self) -> Option<i64> {
        match self {
            #[cfg(feature = "live")]
            Cells::Selected { asked_seconds, .. } => Some(*asked_seconds),
            Cells::Csv { .. } | Cells::Json(_) => None,
        }
    }

    /// The names of the columns of a JSON record.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let pairs = match self {
            Cells::Json(pairs) => &pairs[..],
            _ => &[],
        };
        pairs.iter().filter_map(|(name, _)| match name {
            Literal::Text(name) => Some(&**name),
            _ => None,
        })
    }

    /// The cell of a column as in the file, for messages.
    pub(crate) fn shown(&self, at: usize, name: &str) -> String {
        match self {
            Cells::Csv { fields, .. } => fields
                .get(at)
                .map(|(text, _)| text.to_owned())
                .unwrap_or_default(),
            Cells::Json(_) => self.json(name).map(shown).unwrap_or_default(),
            #[cfg(feature = "live")]
            Cells::Selected { values, .. } => values.get(at).map(shown).unwrap_or_default(),
        }
    }

    fn json(&self, name: &str) -> Option<&Literal<'r>> {
        let Cells::Json(pairs) = self else { return None };
        let found = pairs
            .iter()
            .find(|(known, _)| matches!(known, Literal::Text(known) if known == name));
        found.map(|(_, value)| value)
    }

    /// The value of a column with this type.
    pub(crate) fn literal(
        &self,
        at: usize,
        name: &str,
        cql: &CqlType,
    ) -> Result<Cow<'_, Literal<'r>>, String> {
        let (fields, null, encoding) = match self {
            Cells::Csv {
                fields,
                null,
                encoding,
            } => (fields, null, encoding),
            Cells::Json(_) => {
                return Ok(self.json(name).map_or(Cow::Owned(Literal::Null), Cow::Borrowed));
            }
            #[cfg(feature = "live")]
            Cells::Selected { values, .. } => {
                return Ok(values.get(at).map_or(Cow::Owned(Literal::Null), Cow::Borrowed));
            }
        };
        let Some((text, quoted)) = fields.get(at) else {
            return Err("is no UTF-8".to_owned());
        };
        let from_dsbulk = *encoding == Encoding::Dsbulk;
        if text == *null && !(from_dsbulk && quoted) {
            return Ok(Cow::Owned(Literal::Null));
        }
        Ok(Cow::Owned(match cql {
            CqlType::Native(Native::Text) if from_dsbulk => Literal::Text(Cow::Borrowed(text)),
            CqlType::Native(Native::Text) => Literal::Text(unescape(text)?),
            // Cassandra has empty values of every type, which have no equivalent in the other types here.
            CqlType::Native(_) if text.is_empty() => Literal::Null,
            CqlType::Native(_) => Literal::Word(Cow::Borrowed(text)),
            _ if from_dsbulk => parse_json(text)?,
            _ => parse_cqlsh(text)?,
        }))
    }
}

/// A single value without its quotes.
fn shown(literal: &Literal<'_>) -> String {
    match literal {
        Literal::Text(text) | Literal::Word(text) => text.to_string(),
        other => other.to_string(),
    }
}
