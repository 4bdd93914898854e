//! The transformers change: a new pipeline is filled from the beginning while the sources continue to change,
//! searches are switched over, and nothing is missing. Once with each design, so that they can be compared.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use reindexer::api::{self, CATALOGUE};
use reindexer::model::RunDesign;
use reindexer::{Catalogue, MissingRecord, RecordFacts, Result, Setup, Source, Stages, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use trestle::app::{self, Objects};
use trestle::{Embedded, Options};

const SAMPLE: &str = include_str!("../sample.json");
/// Records written at once.
const WRITES_AT_ONCE: usize = 32;

type Shown<T> = std::result::Result<T, Box<dyn Error>>;

/// Fill a catalogue with sample records, change the transformers, reindex into new indexes while the sources change, switch over
/// and count; then serve it. Fails if anything is missing. Nothing is kept.
#[derive(Parser)]
struct Cli {
    /// Copies of each sample record
    #[arg(long, default_value_t = 50)]
    copies: usize,
    /// End when everything is counted, without serving it
    #[arg(long)]
    once: bool,
    /// The port on this machine; 0 takes a free one
    #[arg(long, default_value_t = 8070)]
    port: u16,
}

fn main() -> ExitCode {
    app::run("warn", show(Cli::parse()))
}

async fn show(cli: Cli) -> Shown<()> {
    let folder = tempfile::tempdir()?;
    let database = Embedded::open(folder.path().join("table"), Options::default())?.into();
    let objects = Objects::directory(&folder.path().join("objects"))?;
    let indexes = folder.path().join("indexes");
    let app = Catalogue::start(Setup::new(&database, objects, indexes)).await?;
    run(&app, cli.copies, &mut std::io::stdout()).await?;
    match cli.once {
        true => app.stop().await,
        false => api::serve(app, cli.port).await?,
    }
    Ok(())
}

#[derive(Deserialize)]
struct Sample {
    #[serde(default)]
    facts: RecordFacts,
    payload: Value,
}

/// An endless sequence of sample records.
#[derive(Deserialize)]
pub(crate) struct Samples(BTreeMap<Source, Vec<Sample>>);

impl Samples {
    /// The bundled samples.
    pub(crate) fn read() -> Result<Self> {
        Ok(serde_json::from_str(SAMPLE)?)
    }

    /// Writes the sample of this number as a new version of its record. Numbers beyond the samples give
    /// copies.
    pub(crate) async fn write(
        &self,
        app: &Catalogue,
        source: Source,
        number: usize,
        edition: &str,
    ) -> Result<String> {
        let samples = &self.0[&source];
        let Sample { facts, payload } = &samples[number % samples.len()];
        let payload = payload
            .as_str()
            .map_or_else(|| payload.to_string(), str::to_owned);
        let payload = payload.replace("{number}", &format!("{number}{edition}"));
        let id = id(source, number);
        app.put_record(source, &id, facts.clone(), payload.into_bytes())
            .await?;
        Ok(id)
    }

    /// Writes so many copies of each, and returns the number of records.
    async fn fill(&self, app: &Catalogue, copies: usize) -> Result<usize> {
        let numbers = |(source, samples): (&Source, &Vec<Sample>)| {
            let source = *source;
            (0..samples.len() * copies).map(move |number| (source, number))
        };
        let writes = stream::iter(self.0.iter().flat_map(numbers));
        let writes = writes.map(|(source, number)| self.write(app, source, number, ""));
        let written: Vec<_> = writes.buffer_unordered(WRITES_AT_ONCE).try_collect().await?;
        Ok(written.len())
    }

    /// Changes records, inserts new ones and withdraws some, until the reindex is over. Returns the number of
    /// each.
    async fn traffic(&self, app: &Catalogue, new: usize, is_over: &Cell<bool>) -> Result<[usize; 3]> {
        let mut counts = [0; 3];
        for number in 0.. {
            let source = Source::ALL[(number + number / 10) % Source::ALL.len()];
            let there = number % self.0[&source].len();
            let what = usize::from(number % 10 == 9) + 2 * usize::from(number % 25 == 2);
            match what {
                0 => drop(self.write(app, source, there, " (changed)").await?),
                1 => drop(self.write(app, source, new + number, " (new)").await?),
                _ => drop(app.withdraw(source, &id(source, there)).await?),
            }
            counts[what] += 1;
            // At any speed, each of these happens.
            if is_over.get() && number > 9 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(counts)
    }
}

/// The id of a sample, in the form of its source's ids.
pub(crate) fn id(source: Source, number: usize) -> String {
    match source {
        Source::Sierra => format!("{:07}", 1_000_001 + number),
        Source::Miro => format!("V{:07}", 100 + number),
        Source::Mets => format!("b{:08}", 10_000_001 + number),
        Source::Calm => format!("{number:08x}-3d2a-4c1b-9f00-5a6b7c8d9e0f"),
        Source::Tei => format!("MS_MSL_{number}"),
    }
}

/// Everything from the first record to the last count. Fails if anything is missing.
pub(crate) async fn run(app: &Arc<Catalogue>, copies: usize, out: &mut impl Write) -> Shown<()> {
    let samples = Samples::read()?;
    let to = BTreeSet::from([CATALOGUE.to_owned()]);
    app.add_pipeline("first", 1, to.clone()).await?;
    let mut records = samples.fill(app, copies).await?;
    app.settle().await?;
    app.serve_from(CATALOGUE, "first", true).await?;
    writeln!(out, "1. {records} records of five sources were written.")?;
    writeln!(out, "   Version 1 of the transformers made a work of each.")?;
    let mut missing = print(app, "first", records, out).await?;
    for (round, name, design) in [
        (2, "second", RunDesign::Segments),
        (3, "third", RunDesign::Shards),
    ] {
        writeln!(out, "\n{round}. The transformers have changed: version 2.")?;
        writeln!(out, "   Pipeline {name} begins with an empty index.")?;
        writeln!(out, "   It is filled by {design} while the sources change.")?;
        app.add_pipeline(name, 2, to.clone()).await?;
        let is_over = Cell::new(false);
        let reindexed = async {
            let reindexed = reindex(app, design).await;
            is_over.set(true);
            reindexed
        };
        let traffic = samples.traffic(app, round * 1_000_000, &is_over);
        let (reindexed, changes) = tokio::join!(reindexed, traffic);
        let [changed, inserted, withdrawn] = changes?;
        app.settle().await?;
        records += inserted;
        writeln!(out, "   {}", reindexed?)?;
        writeln!(
            out,
            "   Meanwhile {changed} records changed, {inserted} were inserted, {withdrawn} withdrawn."
        )?;
        missing += print(app, name, records, out).await?;
        app.serve_from(CATALOGUE, name, true).await?;
        let serving = app.serving(CATALOGUE).await?;
        let found = serving.index.search("epidemiology", None, 1, 0)?.0;
        writeln!(
            out,
            "   Searches are switched over: {found} works on epidemiology,"
        )?;
        writeln!(out, "   a subject that only version 2 knows.")?;
    }
    match missing {
        0 => Ok(writeln!(out, "\nNothing is missing.")?),
        missing => Err(format!("{missing} records are missing").into()),
    }
}

/// Reindexes everything with one of the designs, and prints the cost.
async fn reindex(app: &Arc<Catalogue>, design: RunDesign) -> Shown<String> {
    let begun = Instant::now();
    let asked = json!({ "source": "all", "destination": CATALOGUE, "design": design });
    let started = app.start_reindex(&serde_json::from_value(asked)?).await?;
    app.workers.until_idle().await?;
    let (took, mut sent, mut raised) = (begun.elapsed(), 0, 0);
    for run in &started.runs {
        let run = app.run(run).await?;
        sent += run.sending.map_or(0, |sending| sending.counts.done);
        raised += run.at_version.map_or(0, |(_, there)| there);
    }
    let rows = format!("{raised} rows have a new version,\n   {sent} rows were sent as they are.");
    Ok(format!("It took {took:.1?}: {rows}"))
}

/// Prints the counts and what is missing; returns the number of records.
async fn print(app: &Arc<Catalogue>, pipeline: &str, records: usize, out: &mut impl Write) -> Shown<usize> {
    let (status, missing) = app.status(pipeline).await?;
    write!(out, "{}", table(&status, &missing))?;
    let rows: usize = status.sources.values().map(|stages| stages.rows).sum();
    Ok(missing.len() + records.abs_diff(rows))
}

/// A status for people.
pub(crate) fn table(status: &Status, missing: &[MissingRecord]) -> String {
    let mut text = String::new();
    for (source, stages) in &status.sources {
        let Stages {
            rows,
            transformed,
            indexed,
            ..
        } = stages;
        let counts = format!("{rows:>7} rows, {transformed:>7} transformed, {indexed:>7} indexed");
        text += &format!("   {:8}{counts}\n", source.as_str());
    }
    let (dead, waiting): (Vec<_>, Vec<_>) =
        status.queues.iter().partition(|queue| queue.0.ends_with("-dead"));
    let [waiting, dead] = [waiting, dead].map(|of| of.iter().map(|queue| queue.1.total()).sum::<usize>());
    text += &format!("   {waiting} messages wait, {dead} dead letters\n");
    for record in missing {
        let MissingRecord {
            id,
            source,
            version,
            missing_at,
            ..
        } = record;
        text += &format!("   missing: {source} {id}, version {version}, at the {missing_at}\n");
    }
    text
}
