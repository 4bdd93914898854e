//! The transformers change: a new pipeline is filled from the beginning while the sources go on changing, searches are
//! switched over, and nothing is missing. Once by each design, so that they can be compared.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::CATALOGUE;
use crate::model::RunDesign;
use crate::source::{SOURCES, Source};
use crate::{Catalogue, MissingRecord, RecordFacts, Result, Running, Status};

const SAMPLE: &str = include_str!("../sample.json");
/// Records written at once.
const WRITES_AT_ONCE: usize = 32;
/// How often to look whether everything is done. Real time: workers take it.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks have to agree.
const LOOKS: usize = 6;

type Shown<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
struct Sample {
    #[serde(default)]
    facts: RecordFacts,
    payload: Value,
}

/// Sample records without end.
#[derive(Deserialize)]
pub struct Samples(BTreeMap<Source, Vec<Sample>>);

impl Samples {
    /// Those that come with the application.
    pub fn read() -> Result<Self> {
        serde_json::from_str(SAMPLE).map_err(crate::Error::invalid)
    }

    /// Writes the sample of this number as a new version of its record. Numbers beyond the samples give copies.
    pub async fn write(
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
}

/// The id of a sample, in the shape that its source gives ids.
#[must_use]
pub fn id(source: Source, number: usize) -> String {
    match source {
        Source::Sierra => format!("{:07}", 1_000_001 + number),
        Source::Miro => format!("V{:07}", 100 + number),
        Source::Mets => format!("b{:08}", 10_000_001 + number),
        Source::Calm => format!("{number:08x}-3d2a-4c1b-9f00-5a6b7c8d9e0f"),
        Source::Tei => format!("MS_MSL_{number}"),
    }
}

/// Everything from the first record to the last count. Fails if anything is missing.
pub async fn run(running: &Running, copies: usize, out: &mut impl Write) -> Shown<()> {
    let (app, to) = (&running.app, BTreeSet::from([CATALOGUE.to_owned()]));
    let samples = Samples::read()?;
    app.add_pipeline("first", 1, to.clone()).await?;
    let copies_of = |source| (0..samples.0[&source].len() * copies).map(move |number| (source, number));
    let all: Vec<_> = SOURCES.into_iter().flat_map(copies_of).collect();
    let mut records = all.len();
    let writes = stream::iter(all).map(|(source, number)| samples.write(app, source, number, ""));
    let mut writes = writes.buffer_unordered(WRITES_AT_ONCE);
    while writes.try_next().await?.is_some() {}
    settle(running).await?;
    app.serve_from(CATALOGUE, "first").await?;
    writeln!(
        out,
        "1. {records} records of five sources were written.\n   Version 1 of the transformers made a work of each."
    )?;
    let mut missing = print(running, "first", records, out).await?;
    for (round, name) in [(2, "second"), (3, "third")] {
        let design = [RunDesign::Segments, RunDesign::Shards][round - 2];
        let begun = format!("{round}. The transformers have changed: version 2.");
        let empty = format!("Pipeline {name} begins with an empty index.");
        let filled = format!("It is filled by {design} while the sources change.");
        writeln!(out, "\n{begun}\n   {empty}\n   {filled}")?;
        app.add_pipeline(name, 2, to.clone()).await?;
        let is_over = Cell::new(false);
        let reindexed = async {
            let reindexed = reindex(running, design, out).await;
            is_over.set(true);
            reindexed
        };
        let traffic = traffic(app, &samples, round * 1_000_000, &is_over);
        let (reindexed, changes) = tokio::join!(reindexed, traffic);
        reindexed?;
        let [changed, inserted, withdrawn] = changes?;
        settle(running).await?;
        records += inserted;
        let counts = format!("{changed} records changed, {inserted} were inserted, {withdrawn} withdrawn");
        writeln!(out, "   Meanwhile {counts}.")?;
        missing += print(running, name, records, out).await?;
        app.serve_from(CATALOGUE, name).await?;
        let serving = app.serving(CATALOGUE).await?;
        let found = serving.index.search("epidemiology", None, 1, 0)?.total;
        let known = "a subject that only version 2 knows.";
        writeln!(
            out,
            "   Searches are switched over: {found} works on epidemiology,\n   {known}"
        )?;
    }
    match missing {
        0 => Ok(writeln!(out, "\nNothing is missing.")?),
        missing => Err(format!("{missing} records are missing").into()),
    }
}

/// Reindexes everything by one of the designs, and says what it cost.
async fn reindex(running: &Running, design: RunDesign, out: &mut impl Write) -> Shown<()> {
    let (begun, app) = (Instant::now(), &running.app);
    let asked = json!({ "source": "all", "destination": CATALOGUE, "design": design });
    let started = app.start_reindex(&serde_json::from_value(asked)?).await?;
    while !running.is_sent().await? {
        tokio::time::sleep(LOOK).await;
    }
    let (took, mut sent, mut raised) = (begun.elapsed(), 0, 0);
    for run in &started.runs {
        let run = app.run(run).await?;
        sent += run.sending.map_or(0, |sending| sending.counts.done);
        raised += run.at_version.map_or(0, |(_, there)| there);
    }
    let rows = format!("{raised} rows have a new version,\n   {sent} rows were sent as they are.");
    Ok(writeln!(out, "   It took {took:.1?}: {rows}")?)
}

/// Changes records, inserts new ones and withdraws some, until the reindex is over. Says how many of each.
async fn traffic(app: &Catalogue, samples: &Samples, new: usize, is_over: &Cell<bool>) -> Result<[usize; 3]> {
    let mut counts = [0; 3];
    for number in 0.. {
        let source = SOURCES[(number + number / 10) % SOURCES.len()];
        let there = number % samples.0[&source].len();
        let what = usize::from(number % 10 == 9) + 2 * usize::from(number % 25 == 2);
        match what {
            0 => drop(samples.write(app, source, there, " (changed)").await?),
            1 => drop(samples.write(app, source, new + number, " (new)").await?),
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

/// Waits until nothing is under way. Routes count what they have not read a moment after it was written, so several looks
/// in a row have to agree.
pub async fn settle(running: &Running) -> Result<()> {
    let mut agreed = 0;
    while agreed < LOOKS {
        tokio::time::sleep(LOOK).await;
        agreed = if running.is_idle().await? { agreed + 1 } else { 0 };
    }
    Ok(())
}

/// Prints the counts and what is missing; says how many records are.
async fn print(running: &Running, pipeline: &str, records: usize, out: &mut impl Write) -> Shown<usize> {
    let (status, missing) = running.status(pipeline).await?;
    write!(out, "{}", table(&status, &missing))?;
    let rows: usize = status.sources.iter().map(|stages| stages.rows).sum();
    Ok(missing.len() + records.abs_diff(rows))
}

/// A status for people.
#[must_use]
pub fn table(status: &Status, missing: &[MissingRecord]) -> String {
    let mut text = String::new();
    for stages in &status.sources {
        let [rows, transformed] = [stages.rows, stages.transformed];
        let counts = format!(
            "{rows:>7} rows, {transformed:>7} transformed, {:>7} indexed",
            stages.indexed
        );
        text += &format!("   {:8}{counts}\n", stages.source.to_string());
    }
    let is_dead = |name: &str| name.ends_with("-dead");
    let [waiting, dead] = [false, true].map(|dead| {
        let queues = status.queues.iter().filter(|queue| is_dead(queue.0) == dead);
        queues.map(|queue| queue.1.total()).sum::<usize>()
    });
    text += &format!("   {waiting} messages wait, {dead} dead letters\n");
    for record in missing {
        let (id, stage, version) = (&record.id, record.missing_at, record.version);
        text += &format!(
            "   missing: {} {id}, version {version}, at the {stage}\n",
            record.source
        );
    }
    text
}
