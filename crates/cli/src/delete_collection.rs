//! `trestle delete-collection`: all rows of a partition, of a key prefix or of an access pattern, in bounded steps.

mod outcome;

use crate::administration::{PlaceFlags, collections, print_json};
use crate::bar::Bar;
use crate::database::Database;
use crate::exit::Failure;
use crate::model::load_sound;
use clap::Args;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trestle_api::{Error, ErrorKind, is_own_table, own_table_refusal};
use trestle_collection::{CollectionBookmark, CollectionRows, CollectionStep, StepBounds, parameters};
use trestle_model::Model;

/// There are two ways to name the rows.
pub(crate) const USAGE: &str =
    "trestle delete-collection [OPTIONS] <TABLE> --partition <VALUE> [--prefix <TEXT>]
       trestle delete-collection [OPTIONS] --model <FILE> --access <NAME> [--where <NAME=VALUE>]...";

/// Flags of `trestle delete-collection`.
#[derive(Debug, Args)]
pub(crate) struct DeleteCollectionFlags {
    /// The table
    #[arg(
        value_name = "TABLE",
        required_unless_present = "access",
        conflicts_with = "access"
    )]
    table: Option<String>,
    /// The value of its partition key; bytes in base64
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "VALUE",
        required_unless_present = "access",
        conflicts_with = "access"
    )]
    partition: Option<String>,
    /// Only rows whose sort key begins with this. End it with the separator: `wf` also begins `wf-2`, and `wf/` does not
    #[arg(long, value_name = "TEXT", requires = "partition", allow_hyphen_values = true)]
    prefix: Option<String>,
    /// Rows that this access pattern of --model finds, of the entities that it returns
    #[arg(long, value_name = "NAME", requires = "model")]
    access: Option<String>,
    /// The model file
    #[arg(long, value_name = "FILE", requires = "access")]
    model: Option<PathBuf>,
    /// A parameter of the access pattern; may be given more than once
    #[arg(long = "where", value_name = "NAME=VALUE", requires = "access", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// Count the rows and delete none; derived rows that the database would not delete are included
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before deleting
    #[arg(long)]
    yes: bool,
    /// Maximum of rows per second; no limit unless given
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Maximum of rows in a step
    #[arg(long, value_name = "ROWS", default_value_t = StepBounds::default().rows, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rows_per_step: u32,
    /// Stop after this many steps and print a bookmark
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
    /// Continue after this bookmark, which an earlier run printed
    #[arg(long, value_name = "BOOKMARK", value_parser = bookmark)]
    after: Option<CollectionBookmark>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn bookmark(text: &str) -> Result<CollectionBookmark, String> {
    let bookmark = CollectionBookmark::from(text.to_owned());
    let checked = bookmark.check().map_err(|error| error.message().to_owned());
    checked.map(|()| bookmark)
}

pub(crate) fn delete_collection(flags: &DeleteCollectionFlags) -> Result<(), Failure> {
    let model = match &flags.model {
        Some(file) => Some(load_sound(file)?),
        None => None,
    };
    let database = flags.place.database_to_write()?;
    let rows = rows(flags, model.as_ref(), &database)?;
    if !flags.dry_run && !flags.yes {
        ask(&format!(
            "Delete all rows of table {}{}?",
            rows.table_name(),
            told(flags)
        ))?;
    }
    let all = Run::new(flags).all(&database, &rows)?;
    let deleted = collections::deleted(all, flags.dry_run)?;
    if flags.json {
        print_json(&deleted)?;
    } else {
        outcome::print(&deleted);
    }
    match deleted.left.len() {
        0 => Ok(()),
        left => Err(Failure::failed(outcome::stay(left))),
    }
}

fn rows<'m>(
    flags: &DeleteCollectionFlags,
    model: Option<&'m Model>,
    database: &Database,
) -> Result<CollectionRows<'m>, Failure> {
    let refused = |error: Error| Failure::usage(error.message());
    if let (Some(model), Some(access)) = (model, &flags.access) {
        let given = parameters(model, access, flags.parameters.clone()).map_err(refused)?;
        return CollectionRows::of_access(model, access, &given).map_err(refused);
    }
    let table = flags.table.as_deref().unwrap_or_default();
    if is_own_table(table) {
        return Err(refused(own_table_refusal(table)));
    }
    let partition = flags.partition.as_deref().unwrap_or_default();
    let rows = CollectionRows::of_described(&database.describe(table)?, partition.into()).map_err(refused)?;
    match &flags.prefix {
        Some(prefix) => rows.beginning_with(prefix.as_str().into()).map_err(refused),
        None => Ok(rows),
    }
}

/// A description of the rows, for the question.
fn told(flags: &DeleteCollectionFlags) -> String {
    let mut told = String::new();
    if let Some(partition) = &flags.partition {
        told += &format!(", partition {partition:?}");
    }
    if let Some(prefix) = &flags.prefix {
        told += &format!(", whose sort key begins with {prefix:?}");
    }
    if let Some(access) = &flags.access {
        told += &format!(" that {access} finds");
        for (name, value) in &flags.parameters {
            told += &format!(", {name} = {value:?}");
        }
    }
    told
}

/// Asks on a terminal. Without one, a flag is required.
fn ask(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "this deletes rows: say --yes, or --dry-run to count them first",
        ));
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => Err(Failure::failed("nothing was deleted")),
    }
}

/// A deletion in steps.
struct Run<'f> {
    flags: &'f DeleteCollectionFlags,
    bar: Bar,
}

impl<'f> Run<'f> {
    fn new(flags: &'f DeleteCollectionFlags) -> Self {
        Run {
            flags,
            bar: Bar::new(),
        }
    }

    /// Makes steps until it is done, or as many as requested.
    fn all(&mut self, database: &Database, rows: &CollectionRows<'_>) -> Result<CollectionStep, Failure> {
        let mut all = CollectionStep {
            next: self.flags.after.clone(),
            ..CollectionStep::default()
        };
        for made in 0..self.flags.steps.unwrap_or(u32::MAX) {
            let after = all.next.take();
            let begun = Instant::now();
            let step = self.step(database, rows, after.as_ref());
            let step = step.map_err(|error| stopped(&error, after.as_ref(), made))?;
            let in_step = step.rows;
            all.rows += step.rows;
            all.bytes += step.bytes;
            all.left.extend(step.left);
            all.next = step.next;
            if all.next.is_none() {
                break;
            }
            let deleted = if self.flags.dry_run { "found" } else { "deleted" };
            self.bar.show(deleted, || format!("{} rows {deleted}", all.rows));
            self.slow_down(begun, in_step);
        }
        self.bar.clear();
        Ok(all)
    }

    fn step(
        &self,
        database: &Database,
        rows: &CollectionRows<'_>,
        after: Option<&CollectionBookmark>,
    ) -> Result<CollectionStep, Error> {
        let bounds = StepBounds {
            // At most the rows of one second, so that the rate is also kept within a second.
            rows: self.flags.rows_per_step.min(self.flags.rate.unwrap_or(u32::MAX)),
            ..StepBounds::default()
        };
        match self.flags.dry_run {
            true => database.wait(|db| Box::pin(rows.count(db, after, bounds))),
            false => database.wait(|db| Box::pin(rows.delete(db, after, bounds))),
        }
    }

    fn slow_down(&self, begun: Instant, rows: u64) {
        if let Some(rate) = self.flags.rate {
            let due = Duration::from_secs_f64(rows as f64 / f64::from(rate));
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
    }
}

/// The error after this many steps. Deleted rows stay deleted.
fn stopped(error: &Error, after: Option<&CollectionBookmark>, steps: u32) -> Failure {
    let help = match after {
        Some(_) if steps == 0 && error.kind() == ErrorKind::Validation => {
            "; if --after is from a deletion of other rows, leave --after out".to_owned()
        }
        Some(after) => format!("; run the same command again to continue, or with --after {after}"),
        None => String::new(),
    };
    Failure::failed(format!("{error}{help}"))
}
