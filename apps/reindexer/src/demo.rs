//! The transformers change: a new pipeline is filled from the beginning while the sources go on changing, searches are
//! switched over, and nothing is missing. Once by each design, so that they can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::Value;

use crate::api::CATALOGUE;
use crate::model::RunDesign;
use crate::source::{SOURCES, Source};
use crate::{Catalogue, Gap, Mode, NewReindex, RecordFacts, Result, Running, Status};

const SAMPLE: &str = include_str!("../sample.json");
/// Records written at once.
const WRITES_AT_ONCE: usize = 32;
/// How often to look whether everything is done. Real time: workers take it.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks have to agree.
const LOOKS: usize = 6;

#[derive(Clone, Deserialize)]
struct Sample {
    #[serde(default)]
    facts: RecordFacts,
    payload: Value,
}

/// Sample records without end.
#[derive(Clone)]
pub struct Samples(BTreeMap<String, Vec<Sample>>);

impl Samples {
    /// Those that come with the application.
    pub fn read() -> Result<Self> {
        serde_json::from_str(SAMPLE)
            .map(Self)
            .map_err(crate::Error::invalid)
    }

    /// How many different ones a source has.
    #[must_use]
    pub fn count(&self, source: Source) -> usize {
        self.0.get(&source.to_string()).map_or(0, Vec::len)
    }

    /// Writes the sample of this number as a new version of its record. Numbers beyond the samples give copies.
    pub async fn write(
        &self,
        app: &Catalogue,
        source: Source,
        number: usize,
        edition: &str,
    ) -> Result<String> {
        let samples = self.0.get(&source.to_string()).map_or(&[][..], Vec::as_slice);
        let missing = || crate::Error::NotFound(format!("sample of {source}"));
        let sample = samples.get(number % samples.len().max(1)).ok_or_else(missing)?;
        let payload = match &sample.payload {
            Value::String(xml) => xml.clone(),
            json => json.to_string(),
        };
        let payload = payload.replace("{number}", &format!("{number}{edition}"));
        let id = id(source, number);
        app.put_record(source, &id, sample.facts.clone(), payload.into_bytes())
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

/// Writes so many copies of each sample, of every source.
pub async fn load(app: &Arc<Catalogue>, copies: usize) -> Result<usize> {
    let samples = Samples::read()?;
    let numbers = |source| (0..samples.count(source) * copies).map(move |number| (source, number));
    let all: Vec<_> = SOURCES.into_iter().flat_map(numbers).collect();
    let written = all.len();
    let writes = stream::iter(all).map(|(source, number)| samples.write(app, source, number, ""));
    writes
        .buffer_unordered(WRITES_AT_ONCE)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(written)
}

/// Everything from the first record to the last count. Fails if anything is missing.
pub async fn run(
    running: &Running,
    copies: usize,
    out: &mut impl Write,
) -> std::result::Result<(), Box<dyn Error>> {
    let app = &running.app;
    app.add_pipeline("first", 1, BTreeSet::from([CATALOGUE.to_owned()]))
        .await?;
    let mut records = load(app, copies).await?;
    settle(running).await?;
    app.serve_from(CATALOGUE, "first").await?;
    writeln!(
        out,
        "{records} records of five sources, transformed by version 1 and indexed by pipeline first:"
    )?;
    let mut missing = print(running, "first", records, out).await?;
    let plans = [("second", RunDesign::Segments), ("third", RunDesign::Shards)];
    for (pipeline, design) in plans {
        writeln!(
            out,
            "\nVersion 2 of the transformers: pipeline {pipeline} is filled by {design} while sources change."
        )?;
        let traffic = refill(running, pipeline, design, records, copies, out).await?;
        records += traffic.inserted;
        app.serve_from(CATALOGUE, pipeline).await?;
        let (changed, inserted, withdrawn) = (traffic.changed, traffic.inserted, traffic.withdrawn);
        writeln!(
            out,
            "Meanwhile {changed} records were changed, {inserted} inserted and {withdrawn} withdrawn."
        )?;
        missing += print(running, pipeline, records, out).await?;
        let found = app
            .serving(CATALOGUE)
            .await?
            .index
            .search("epidemiology", None, 1, 0)?
            .total;
        writeln!(
            out,
            "Searches are answered by pipeline {pipeline}: {found} works about epidemiology."
        )?;
    }
    match missing {
        0 => Ok(writeln!(out, "\nNothing is missing.")?),
        missing => Err(format!("{missing} records are missing").into()),
    }
}

/// Fills a new pipeline by one of the designs, and says what it cost.
async fn refill(
    running: &Running,
    pipeline: &str,
    design: RunDesign,
    records: usize,
    copies: usize,
    out: &mut impl Write,
) -> std::result::Result<Traffic, Box<dyn Error>> {
    let app = &running.app;
    app.add_pipeline(pipeline, 2, BTreeSet::from([CATALOGUE.to_owned()]))
        .await?;
    let (begun, stop) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let traffic = tokio::spawn(traffic(Arc::clone(app), records, copies, Arc::clone(&stop)));
    let asked = NewReindex {
        source: "all".to_owned(),
        destination: CATALOGUE.to_owned(),
        mode: Mode::Complete,
        design,
        desired_version: None,
        force: false,
    };
    let started = app.start_reindex(&asked).await?;
    while !running.is_sent().await? {
        tokio::time::sleep(LOOK).await;
    }
    stop.store(true, Ordering::Relaxed);
    let traffic = traffic.await??;
    settle(running).await?;
    let (mut messages, mut raised) = (0, 0);
    for run in &started.runs {
        let run = app.run(run).await?;
        messages += run.run.parts + run.sent;
        raised += run.at_version.map_or(0, |(_, there)| there);
    }
    let took = begun.elapsed();
    writeln!(
        out,
        "{design}: {raised} rows written, {messages} messages of the reindexer, {took:.1?}."
    )?;
    Ok(traffic)
}

/// What the sources did during a reindex.
#[derive(Default)]
struct Traffic {
    changed: usize,
    inserted: usize,
    withdrawn: usize,
}

/// Changes records, inserts new ones and withdraws some, until it is stopped.
async fn traffic(
    app: Arc<Catalogue>,
    records: usize,
    copies: usize,
    stop: Arc<AtomicBool>,
) -> Result<Traffic> {
    let samples = Samples::read()?;
    let mut done = Traffic::default();
    for number in 0.. {
        let source = SOURCES[number % SOURCES.len()];
        let there = samples.count(source) * copies;
        if number % 10 == 9 {
            samples
                .write(&app, source, there + records + number, " (new)")
                .await?;
            done.inserted += 1;
        } else if number % 25 == 2 {
            app.withdraw(source, &id(source, number % there)).await?;
            done.withdrawn += 1;
        } else {
            samples.write(&app, source, number % there, " (changed)").await?;
            done.changed += 1;
        }
        if stop.load(Ordering::Relaxed) && done.inserted > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(done)
}

/// Waits until nothing is under way. The route counts what it has not read a moment after it was written, so several looks
/// in a row have to agree.
pub async fn settle(running: &Running) -> Result<()> {
    let mut agreed = 0;
    while agreed < LOOKS {
        tokio::time::sleep(LOOK).await;
        agreed = if running.is_idle().await? { agreed + 1 } else { 0 };
    }
    Ok(())
}

/// Prints the counts and the gaps; says how many records are missing.
async fn print(
    running: &Running,
    pipeline: &str,
    records: usize,
    out: &mut impl Write,
) -> std::result::Result<usize, Box<dyn Error>> {
    let (status, gaps) = running.status(pipeline).await?;
    write!(out, "{}", table(&status, &gaps))?;
    let rows: usize = status.sources.iter().map(|stages| stages.rows).sum();
    Ok(gaps.len() + records.abs_diff(rows))
}

/// A status for people.
#[must_use]
pub fn table(status: &Status, gaps: &[Gap]) -> String {
    let mut text = format!(
        "  {:8} {:>7} {:>12} {:>8} {:>6} {:>7}\n",
        "source", "rows", "transformed", "indexed", "gaps", "%"
    );
    for stages in &status.sources {
        text += &format!(
            "  {:8} {:>7} {:>12} {:>8} {:>6} {:>7.2}\n",
            stages.source.to_string(),
            stages.rows,
            stages.transformed,
            stages.indexed,
            stages.gaps,
            stages.percent
        );
    }
    let dead: usize = status.queues.iter().map(|queue| queue.dead).sum();
    let waiting: usize = status
        .queues
        .iter()
        .map(|queue| queue.waiting + queue.in_flight)
        .sum();
    text += &format!("  {waiting} messages wait, {dead} dead letters\n");
    for gap in gaps {
        let (id, source, version, stage) = (&gap.id, gap.source, gap.version, gap.missing_at);
        text += &format!("  missing: {source} {id}, version {version}, at the {stage}\n");
    }
    text
}
