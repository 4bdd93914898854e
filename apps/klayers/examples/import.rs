//! Imports rows of the original, in either layout, as rows of this table.
//!
//! ```sh
//! cargo run -p trestle-app-klayers --example import -- Klayers.json --data trestle-data/klayers
//! ```
//!
//! A row's keys identify it. In the original's data, attributes that repeat them are missing or differ, so
//! the database derives them from the keys again.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use klayers::model::Klayers;
use klayers::{Db, Error};
use serde_json::Value;
use trestle::api::PutItem;
use trestle::typed::Timestamp;
use trestle::{AttributeValue, DatabaseExt as _, Embedded, ErrorKind, Item, Options, app, migrate};

/// Rows of the original, as rows of the present layout
#[derive(Parser)]
struct Cli {
    /// A data model of NoSQL Workbench, or the answer of a Scan
    file: PathBuf,
    /// Directory of the table; made if it is missing
    #[arg(long, default_value = "trestle-data/klayers")]
    data: PathBuf,
}

/// The only version of Python of the first layout.
const PYTHON: &str = "p3.8";

/// The table of the model.
const TABLE: &str = "kl.db-ver2";
/// What keys say.
const REPEATED: [&str; 9] = [
    "rgn",
    "pckg",
    "pyVrsn",
    "lyrVrsn",
    "bltVrsn",
    "kind",
    "scope",
    "rgn#PyVrsn",
    "pckg#PyVrsn",
];
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn main() -> ExitCode {
    app::run("info", work(Cli::parse()))
}

async fn work(Cli { file, data }: Cli) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let database = Embedded::open(data.join("table"), Options::default())?;
    let (db, _migration) = Klayers::migrate_to(&database, migrate::StartOptions::default())?;
    let done = import(&db.shared(), &text).await;
    let done = done.map_err(|error| format!("{}: {error}", file.display()))?;
    tracing::info!(
        rows = done.rows,
        known = done.known,
        heads = done.heads,
        "imported"
    );
    Ok(())
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    /// Rows that are new.
    pub(crate) rows: usize,
    /// Existing rows, which were not changed.
    pub(crate) known: usize,
    /// Heads, which follow from layers and builds.
    pub(crate) heads: usize,
}

/// Imports the rows of a file: a data model of NoSQL Workbench, or the answer of a Scan. Existing rows are
/// not replaced. A row that cannot be read is an error before anything is written.
pub(crate) async fn import(db: &Db, text: &str) -> Result<Imported, Error> {
    let mut done = Imported::default();
    let mut rows = Vec::new();
    for mut row in rows_of(text)? {
        match rekeyed(&mut row)? {
            Some(number) => rows.push((text_of(&row, "pk"), Reverse(number), row)),
            None => done.heads += 1,
        }
    }
    // The newest first: later ones do not replace it.
    rows.sort_by(|one, two| (&one.0, one.1).cmp(&(&two.0, two.1)));
    let mut latest = BTreeSet::new();
    for (pk, _, mut item) in rows {
        if pk.starts_with("lyr#") {
            with_status(&mut item, db.now(), || latest.insert(pk));
        }
        let put = PutItem {
            table_name: TABLE.to_owned(),
            item,
            condition_expression: Some("attribute_not_exists(pk)".to_owned()),
            ..PutItem::default()
        };
        match db.database().put_item(put).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => done.known += 1,
            put => done.rows += put.map(|_| 1).map_err(trestle::typed::Error::from)?,
        }
    }
    Ok(done)
}

fn rows_of(text: &str) -> Result<Vec<Item>, Error> {
    let file: Value = serde_json::from_str(text).map_err(|error| Error::List(error.to_string()))?;
    let tables = file["DataModel"].as_array().into_iter().flatten();
    let tables = tables.map(|table| &table["TableData"]);
    let rows = tables
        .chain([&file["Items"]])
        .filter_map(Value::as_array)
        .flatten();
    let rows = rows.map(|row| serde_json::from_value(row.clone()));
    let rows: Vec<Item> = rows
        .collect::<Result<_, _>>()
        .map_err(|error| Error::List(format!("a row is none of DynamoDB's: {error}")))?;
    if rows.is_empty() {
        let nothing = "there are no rows: neither `DataModel` with `TableData` nor `Items`";
        return Err(Error::List(nothing.to_owned()));
    }
    Ok(rows)
}

/// Gives a row the keys of the present layout, and returns its number; a head has none. The first layout had
/// one version of Python, and a dot between region and package.
fn rekeyed(row: &mut Item) -> Result<Option<i64>, Error> {
    let (pk, sk) = (text_of(row, "pk"), text_of(row, "sk"));
    let number_of = |text: &str| {
        text.strip_prefix('v')
            .and_then(|number| number.parse::<i64>().ok())
    };
    let found = match (pk.split_once('#'), sk.split_once('#')) {
        (Some(("lyr", _)), Some(("lyrVrsn0", _))) | (Some(("bldVrsn0", _)), Some(("pckg", _))) => {
            return Ok(None);
        }
        (Some(("lyr", place)), Some(("lyrVrsn", number))) => {
            let first = place.split_once('.').filter(|_| !place.contains(':'));
            let moved = first.map(|(region, package)| format!("lyr#{region}:{package}:{PYTHON}"));
            number_of(number).map(|number| (moved, number))
        }
        (Some(("bld", place)), Some(("pckg", _))) => {
            let moved = (!place.contains(':')).then(|| format!("{pk}:{PYTHON}"));
            let number = place.split(':').next().and_then(number_of);
            number.map(|number| (moved, number))
        }
        (Some(("cnfg", _)), None) => Some((None, 0)),
        _ => None,
    };
    let unknown = || Error::List(format!("the row with pk `{pk}` and sk `{sk}` is none of Klayers"));
    let (moved, number) = found.ok_or_else(unknown)?;
    REPEATED.iter().for_each(|name| drop(row.remove(name)));
    if let Some(pk) = moved {
        row.insert("pk", pk);
    }
    Ok(Some(number))
}

/// A layer without a status was deleted. The newest of the others becomes the latest; the rest expire at the
/// original's time, or in a year.
fn with_status(layer: &mut Item, now: Timestamp, is_newest: impl FnOnce() -> bool) {
    if layer.remove("dplySts").is_none() {
        layer.remove("exDt");
        if !layer.contains_key("dltdDt") {
            layer.insert("dltdDt", now.as_str());
        }
    } else if is_newest() {
        layer.remove("exDt");
    } else {
        layer.insert("dplySts", "deprecated");
        if !layer.contains_key("exDt") {
            layer.insert("exDt", now.moment().plus(YEAR).as_secs());
        }
    }
}

fn text_of(row: &Item, name: &str) -> String {
    let text = row.get(name).and_then(AttributeValue::as_s);
    text.unwrap_or_default().to_owned()
}
