//! `trestle model infer`: a model proposed from the rows of a table.

use super::proposal::OutputFlags;
use crate::administration::PlaceFlags;
use crate::args::LogFormat;
use crate::database::Database;
use crate::exit::Failure;
use crate::logging;
use clap::Args;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use trestle_api::{
    DescribeTimeToLive, KeySchemaElement, KeyType, ProjectionType, Scan, StreamViewType, TableDescription,
};
use trestle_discover::{Proposal, TableFacts};
use trestle_model::{Index, KeyAttribute, KeySchema, Projection, StreamView};

/// The time between two updates of progress on a terminal.
const INTERVAL: Duration = Duration::from_millis(200);

/// Flags of `trestle model infer`.
#[derive(Debug, Args)]
pub(crate) struct InferFlags {
    /// The table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Read at most this many rows; a scan returns partitions in no order, so that the first ones are a fair sample
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Reads the table and proposes.
pub(super) fn infer(flags: &InferFlags) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    flags.output.check()?;
    let shows = io::stderr().is_terminal();
    let inferred = propose(&flags.place.database()?, &flags.table, flags.rows, shows)?;
    if !inferred.complete {
        let _ = writeln!(
            io::stderr(),
            "read {} of about {} rows; --rows sets another number",
            inferred.read,
            inferred.all
        );
    }
    flags.output.give(&inferred.proposal)
}

/// A proposal, and the rows from which it was made.
pub(crate) struct Inferred {
    pub(crate) proposal: Proposal,
    /// How many rows were read.
    pub(crate) read: usize,
    /// How many there are, according to DescribeTable.
    all: u64,
    /// Whether all rows were read.
    pub(crate) complete: bool,
}

/// Reads at most this many rows of a table and proposes a model, with or without progress on standard error.
pub(crate) fn propose(
    database: &Database,
    table: &str,
    most: u32,
    shows_progress: bool,
) -> Result<Inferred, Failure> {
    let described = database.describe(table)?;
    let ttl = database.run(DescribeTimeToLive {
        table_name: table.to_owned(),
    })?;
    let facts = facts(&described, ttl.time_to_live_description.attribute_name)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let all = described.item_count;
    let mut rows = SampleRows::of(database, table, all, most, shows_progress);
    let proposal = trestle_discover::infer(&facts, &mut rows);
    let (read, complete) = rows.end()?;
    Ok(Inferred {
        proposal,
        read,
        all,
        complete,
    })
}

/// The rows of a table, page by page. An error ends the iteration and is returned by `end`.
struct SampleRows<'d> {
    database: &'d Database,
    scan: Option<Scan>,
    page: trestle_item::IntoItems,
    left: usize,
    read: usize,
    /// According to DescribeTable.
    all: u64,
    failure: Option<Failure>,
    last_shown: Option<Instant>,
}

impl<'d> SampleRows<'d> {
    fn of(database: &'d Database, table: &str, all: u64, most: usize, shows_progress: bool) -> Self {
        SampleRows {
            database,
            scan: Some(Scan {
                table_name: table.to_owned(),
                ..Scan::default()
            }),
            page: trestle_item::IntoItems::default(),
            left: most,
            read: 0,
            all,
            failure: None,
            last_shown: shows_progress.then(Instant::now),
        }
    }

    /// Reads the next page, if there is one.
    fn turn(&mut self) -> bool {
        let Some(scan) = self.scan.take() else {
            return false;
        };
        let page = self.database.run(scan.clone()).and_then(|page| {
            let missing = || Failure::failed("the answer to a Scan has no items");
            Ok((page.items.ok_or_else(missing)?, page.last_evaluated_key))
        });
        match page {
            Ok((items, last)) => {
                self.scan = last.map(|key| Scan {
                    exclusive_start_key: Some(key),
                    ..scan
                });
                self.page = items.into_iter();
                true
            }
            Err(failure) => {
                self.failure = Some(failure);
                false
            }
        }
    }

    fn show(&mut self) {
        if let Some(last) = &mut self.last_shown
            && last.elapsed() >= INTERVAL
        {
            let _ = write!(io::stderr(), "\r\x1b[K{} of about {} rows", self.read, self.all);
            *last = Instant::now();
        }
    }

    /// How many rows were read, and whether they were all, or the error that ended the iteration.
    fn end(self) -> Result<(usize, bool), Failure> {
        if self.last_shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok((
                self.read,
                self.left > 0 || (self.scan.is_none() && self.page.len() == 0),
            )),
        }
    }
}

impl Iterator for SampleRows<'_> {
    type Item = trestle_item::Item;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.checked_sub(1)?;
        let row = loop {
            match self.page.next() {
                Some(row) => break row,
                None if self.turn() => {}
                None => return None,
            }
        };
        self.left -= 1;
        self.read += 1;
        self.show();
        Some(row)
    }
}

fn facts(table: &TableDescription, ttl: Option<String>) -> Result<TableFacts, Failure> {
    let global = table.global_secondary_indexes.iter().flatten();
    let local = table.local_secondary_indexes.iter().flatten();
    let global = global.map(|index| (&index.index_name, &index.key_schema, &index.projection, false));
    let local = local.map(|index| (&index.index_name, &index.key_schema, &index.projection, true));
    let indexes = local.chain(global).map(|(name, key, projection, local)| {
        Ok(Index {
            name: name.clone(),
            key: schema(table, key)?,
            projection: match projection.projection_type {
                Some(ProjectionType::KeysOnly) => Projection::Keys,
                Some(ProjectionType::Include) => {
                    Projection::Include(projection.non_key_attributes.clone().unwrap_or_default())
                }
                _ => Projection::All,
            },
            local,
        })
    });
    let stream = table
        .stream_specification
        .as_ref()
        .filter(|stream| stream.stream_enabled);
    Ok(TableFacts {
        name: table.table_name.clone(),
        key: schema(table, &table.key_schema)?,
        indexes: indexes.collect::<Result<_, Failure>>()?,
        ttl,
        stream: stream.and_then(|stream| stream.stream_view_type).map(view),
    })
}

fn schema(table: &TableDescription, key: &[KeySchemaElement]) -> Result<KeySchema, Failure> {
    let side = |kind: KeyType| {
        let elements = key.iter().filter(move |element| element.key_type == kind);
        let attributes = elements.map(|element| {
            let name = &element.attribute_name;
            let mut defined = table.attribute_definitions.iter();
            let found = defined.find(|defined| defined.attribute_name == *name);
            let found = found.ok_or_else(|| {
                let table = &table.table_name;
                Failure::failed(format!(
                    "the description of table {table} has no type for its key attribute {name}"
                ))
            })?;
            Ok(KeyAttribute {
                name: name.clone(),
                kind: found.attribute_type,
            })
        });
        attributes.collect::<Result<_, Failure>>()
    };
    Ok(KeySchema {
        hash: side(KeyType::Hash)?,
        range: side(KeyType::Range)?,
    })
}

fn view(stream: StreamViewType) -> StreamView {
    match stream {
        StreamViewType::NewImage => StreamView::NewImage,
        StreamViewType::OldImage => StreamView::OldImage,
        StreamViewType::NewAndOldImages => StreamView::NewAndOldImages,
        StreamViewType::KeysOnly => StreamView::KeysOnly,
    }
}
